"""``fsspec-commit resume``, ``abort`` and ``clean``: end what a job that died has left."""

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated

import typer

import fsspec_commit as fc
from fsspec_commit.cli.ending import ABORTED, COMMITTED, Run, Status, ending, unsettled
from fsspec_commit.cli.inspect import found_job
from fsspec_commit.cli.options import (
    AsJson,
    Debug,
    Destination,
    JobIdText,
    NoProbe,
    Quiet,
    SingleWriter,
    StorageOption,
    duration,
)
from fsspec_commit.cli.output import counted, human_bytes
from fsspec_commit.cli.progress import Publishing, bars

_AcceptLoss = Annotated[
    bool,
    typer.Option(
        "--accept-loss",
        help="Some of the job's files are gone for good: publish the others, delete no file that"
        " would have been replaced, write no _SUCCESS.",
    ),
]
_Processes = Annotated[
    int,
    typer.Option(
        "--processes",
        metavar="N",
        min=1,
        help="Publish by so many processes of this machine, where the job has very many files.",
    ),
]
_OlderThan = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION", help="Look at nothing younger: 7d, 12h, 90m.", show_default=False
    ),
]
_Damaged = Annotated[
    list[str] | None,
    typer.Option(
        "--damaged",
        metavar="JOB_ID",
        help="A job whose records cannot be read, to be removed however young it is; refused"
        " where it is committed. Can be given more than once.",
    ),
]
_AcceptDamage = Annotated[
    bool,
    typer.Option(
        "--accept-loss",
        help="Also a damaged job whose decision cannot be read, and which may have committed: a"
        " part of its files may be in place, and stays; the rest is lost.",
    ),
]
_Delete = Annotated[bool, typer.Option("--delete", help="Delete, instead of only naming it.")]


def resume(
    destination: Destination,
    job_id: JobIdText,
    *,
    accept_loss: _AcceptLoss = False,
    processes: _Processes = 1,
    storage_option: StorageOption = None,
    single_writer: SingleWriter = False,
    no_probe: NoProbe = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Finish a job that has decided to commit and did not come to its end.

    Anybody may do so, on any machine, as often as they like: what is in place stays, the rest
    follows. A job that has not decided is refused, because its driver may still be at work.

    Examples:
      fsspec-commit resume s3://out/events 20261120T140355-9c1e5d0a7b2f4e68
      fsspec-commit resume data/flights 9c1e --processes 4
    """
    run = Run(destination, as_json=as_json, quiet=quiet, debug=debug)
    with ending(run):
        opening = run.opening(storage_option, single_writer=single_writer, no_probe=no_probe)
        full = found_job(run, job_id, opening)
        run.cut_short = unsettled(run.command("resume", full))
        try:
            with (
                _publisher(processes) as publisher,
                bars(shown=run.output.shows_progress, reading=False) as seen,
            ):
                result = fc.resume(
                    destination,
                    full,
                    accept_loss=accept_loss,
                    callback=Publishing(seen),
                    publisher=publisher,
                    share_secrets=True,  # They go to processes of its own, and no further.
                    **opening,
                )
                run.cut_short = COMMITTED
        except fc.JobNotActiveError as over:
            if over.outcome != "committed":
                raise
            _finished_before(run, full)
            return
        run.output.result(result)


def _publisher(count: int) -> AbstractContextManager[fc.Publisher | None]:
    """A pool of *count* processes; none for one, which is this process.

    Raises:
        RequestError: This Python cannot be trusted to wait for them.
    """
    if count == 1:
        return nullcontext()
    from fsspec_commit.cli.processes import USABLE_SINCE, processes

    if sys.version_info < USABLE_SINCE:
        ours, least = (".".join(map(str, one[:3])) for one in (sys.version_info, USABLE_SINCE))
        raise fc.RequestError(
            f"--processes needs Python {least} or later, and this is {ours}, which waits for ever "
            "where a process dies; leave it out, and this process publishes all of it",
            kind="usage",
        )
    return processes(count)


def _finished_before(run: Run, job_id: str) -> None:
    """Say that the job has been finished before, perhaps by an earlier resume."""
    if run.output.for_people:
        run.output.say(f"job {job_id} is committed and finished already")
    elif run.output.as_json or not run.output.quiet:
        document = {"destination": run.destination, "job_id": job_id, "state": "committed"}
        row = (job_id, "committed", None, None, None, None, run.destination)
        run.output.answer(document, (), [row])


def abort(
    destination: Destination,
    job_id: JobIdText,
    *,
    storage_option: StorageOption = None,
    single_writer: SingleWriter = False,
    no_probe: NoProbe = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """End a job that has not decided to commit, and remove what it has left.

    Nothing of it is or ever becomes visible. A driver that is still at work is told that its job
    is no longer active. A job that has decided to commit is refused: resume it.

    Examples:
      fsspec-commit abort s3://out/events 20261120T140355-9c1e5d0a7b2f4e68
      fsspec-commit abort data/flights 9c1e
    """
    run = Run(destination, as_json=as_json, quiet=quiet, debug=debug)
    with ending(run):
        opening = run.opening(storage_option, single_writer=single_writer, no_probe=no_probe)
        full = found_job(run, job_id, opening)
        run.cut_short = unsettled(run.command("abort", full))
        fc.abort(
            destination,
            full,
            **opening,
        )
        run.cut_short = ABORTED
        if as_json:
            run.output.document({"destination": destination, "job_id": full, "state": "aborted"})
        run.output.say(f"aborted job {full}: nothing of it is or will be visible")


def clean(
    destination: Destination,
    *,
    older_than: _OlderThan = None,
    delete: _Delete = False,
    damaged: _Damaged = None,
    accept_loss: _AcceptDamage = False,
    storage_option: StorageOption = None,
    single_writer: SingleWriter = False,
    no_probe: NoProbe = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Name what abandoned jobs have left, and delete it when told to.

    Jobs that have not decided are aborted first; a job that has decided and is not finished is
    never touched: resume it. Choose an age that no living job reaches. The exit status is 3 where
    the store does not give up all that was to be deleted.

    Examples:
      fsspec-commit clean s3://out/events --older-than 7d --delete
      fsspec-commit clean data/flights --damaged 20261120T140355-9c1e5d0a7b2f4e68 --delete
    """
    run = Run(destination, as_json=as_json, quiet=quiet, debug=debug)
    with ending(run):
        opening = run.opening(storage_option, single_writer=single_writer, no_probe=no_probe)
        if older_than is None and not damaged:
            raise fc.RequestError("missing option '--older-than', or '--damaged'", kind="usage")
        age = None if older_than is None else duration(older_than, "--older-than")
        if delete:
            aged = [] if older_than is None else ["--older-than", older_than]
            named = [part for job_id in damaged or () for part in ("--damaged", job_id)]
            again = run.command("clean", *aged, *named, "--delete")
            run.cut_short = unsettled(again)
        report = fc.clean(
            destination,
            older_than=age,
            dry_run=not delete,
            damaged=damaged or (),
            accept_loss=accept_loss,
            **opening,
        )
        _report(run, report, deleted=delete)
        if report.not_removed:
            raise typer.Exit(Status.UNSETTLED)


def _report(run: Run, report: fc.CleanReport, *, deleted: bool) -> None:
    would = "" if deleted else "would be "
    parts: Sequence[tuple[str, Sequence[object]]] = (
        (f"{would}aborted", report.aborted),
        (f"{would}deleted", report.deleted),
        ("not removed", report.not_removed),
        ("left alone", report.shown),
    )
    document = {
        "destination": run.destination,
        "dry_run": not deleted,
        "aborted": report.aborted,
        "deleted": report.deleted,
        "shown": report.shown,
        "not_removed": report.not_removed,
        "bytes": report.bytes,
    }
    rows = [(what, item) for what, items in parts for item in items]
    if run.output.quiet and not run.output.as_json:
        return
    run.output.answer(document, ("what", "which"), rows, none="nothing is to be cleaned up")
    if report.aborted or report.deleted:
        gone = counted(len(report.aborted) + len(report.deleted), "item")
        removed = f"{would}removed: {gone}, {human_bytes(report.bytes)}"
        run.output.say(removed + ("" if deleted else "; do it with --delete"))
