"""``fsspec-commit explain``, ``probe``, ``jobs``, ``show``: only look.

Only ``probe`` writes: small objects, which it removes.
"""

from collections.abc import Sequence
from typing import Annotated, Any, cast

import typer

import fsspec_commit as fc
from fsspec_commit.cli.ending import PROBING, Opening, Run, Status, ending
from fsspec_commit.cli.hadoop import (
    hadoop_document,
    hadoop_row,
    hadoop_rows,
    hadoop_summary,
    is_called,
)
from fsspec_commit.cli.options import (
    AsJson,
    Committer,
    Debug,
    Destination,
    NoProbe,
    SingleWriter,
    StorageOption,
    storage_options,
)
from fsspec_commit.cli.output import plain

_AnyJob = Annotated[
    str | None,
    typer.Argument(
        metavar="[JOB_ID]",
        help="As `jobs` shows it, or so much of its beginning or end that no other has; without it"
        " all are shown.",
        show_default=False,
    ),
]

# What a job's state means for whoever finds it, and the command that settles it.
_MEANING = {
    "open": ("not decided: its driver may still be at work; if that is gone, abort it", "abort"),
    "committing": (
        "about to decide: its driver may still do so; if that is gone, abort it",
        "abort",
    ),
    "decided": ("decided to commit, not all files are in place: it must be finished", "resume"),
    "published": ("every file is in place, the rest of the work remains: finish it", "resume"),
    "aborted": ("aborted: nothing of it becomes visible; what it left can be removed", "abort"),
    "damaged": (
        (
            "a record of it cannot be read: put that back; or this removes it, if it has not"
            " committed"
        ),
        "clean",
    ),
    "newer": (
        "a newer version of fsspec-commit wrote it: this one leaves it alone, settle it with that",
        "show",
    ),
    "unknown": (
        (
            "it cannot be looked at from here, and may be at work: look again when it can be"
            " reached, with credentials that may read it"
        ),
        "show",
    ),
}


def explain(
    destination: Destination,
    *,
    committer: Committer = "auto",
    storage_option: StorageOption = None,
    single_writer: SingleWriter = False,
    no_probe: NoProbe = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Say which committer a job would use at a destination, and why.

    The capabilities are those that the adapter declares, each with how it is known. Nothing is
    written, except at an unverified endpoint: there they are probed, as `probe` would. The exit
    status is 1 if no committer is safe.

    Examples:
      fsspec-commit explain s3://out/events
      fsspec-commit explain data/flights --committer manifest --json
    """
    run = Run(destination, as_json=as_json, debug=debug)
    with ending(run):
        opening = run.opening(storage_option, single_writer=single_writer, no_probe=no_probe)
        selection = fc.explain(
            destination,
            committer=cast("Any", committer),  # refused there, if it is none
            **opening,
        )
        known = _capabilities(selection.capabilities)
        rows: list[Sequence[object]] = [("committer", selection.committer or "none is safe", "")]
        rows += [("reason", reason, "") for reason in selection.reasons]
        rows += [(fact["name"], fact["value"], fact["evidence"]) for fact in known]
        document = {
            "destination": destination,
            "committer": selection.committer,
            "reasons": selection.reasons,
            "capabilities": known,
        }
        run.output.answer(document, ("what", "answer", "evidence"), rows)
        if selection.committer is None:
            raise typer.Exit(Status.NOT_COMMITTED)


def probe(
    destination: Destination,
    *,
    storage_option: StorageOption = None,
    single_writer: SingleWriter = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Try what a store can really do, with some thirty requests for small objects.

    These are written below the destination's _commit directory and removed again. Where files are
    uploaded in parts, so is one of three parts, of 10 to 16 MiB. The exit status is 1 if the store
    does not do what its adapter declares.

    Examples:
      fsspec-commit probe s3://out/events --storage-option endpoint_url=http://localhost:9000
      fsspec-commit probe data/flights --json
    """
    run = Run(destination, as_json=as_json, debug=debug)
    with ending(run):
        run.storage_options = run.hide(storage_options(storage_option))
        run.cut_short = PROBING
        report = fc.probe(
            destination, storage_options=run.storage_options, single_writer=single_writer
        )
        known = _capabilities(report.capabilities)
        rows: list[Sequence[object]] = [("difference", text, "") for text in report.differences]
        rows += [("remark", text, "") for text in report.remarks]
        rows += [(fact["name"], fact["value"], fact["evidence"]) for fact in known]
        document = {
            "destination": destination,
            "ok": report.ok,
            "differences": report.differences,
            "remarks": report.remarks,
            "capabilities": known,
        }
        run.output.answer(document, ("what", "observed", "evidence"), rows)
        if not report.ok:
            raise typer.Exit(Status.NOT_COMMITTED)


def jobs(
    destination: Destination,
    *,
    storage_option: StorageOption = None,
    single_writer: SingleWriter = False,
    no_probe: NoProbe = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """List the jobs that have begun at a destination and are not finished.

    A job that has decided or published is finished with `resume`; one that is open or committing
    may belong to a driver that is at work, and is ended with `abort` if that is gone. What jobs
    of Hadoop's own committers have left is listed as `hadoop`, and only looked at.

    Examples:
      fsspec-commit jobs s3://out/events
      fsspec-commit jobs s3://out/events | awk '$2 == "decided" {print $1}'
    """
    run = Run(destination, as_json=as_json, debug=debug)
    with ending(run):
        opening = run.opening(storage_option, single_writer=single_writer, no_probe=no_probe)
        found = fc.jobs(destination, **opening)
        others = fc.hadoop_jobs(destination, **opening)
        document = {
            "destination": destination,
            "jobs": [_known(job) for job in found],
            "hadoop_jobs": [hadoop_summary(job) for job in others],
        }
        rows = [list(_known(job).values()) for job in found]
        rows += [hadoop_row(job) for job in others]
        columns = ("job", "state", "mode", "started", "host", "tasks committed")
        none = f"no job is unfinished at {destination}"
        # What a narrow terminal has no room for: the id begins with the time.
        spare = ("started", "host", "mode")
        run.output.answer(document, columns, rows, none=none, spare=spare)


def show(
    destination: Destination,
    job_id: _AnyJob = None,
    *,
    storage_option: StorageOption = None,
    single_writer: SingleWriter = False,
    no_probe: NoProbe = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Show what is known of an unfinished job, or of all, and what can be done about it.

    Of a job of Hadoop's own committers: which of its tasks had committed, and what is still to be
    published. Nothing of Hadoop's is ever changed.

    Examples:
      fsspec-commit show s3://out/events 9c1e
      fsspec-commit show data/written-by-spark --json
    """
    run = Run(destination, as_json=as_json, debug=debug)
    with ending(run):
        opening = run.opening(storage_option, single_writer=single_writer, no_probe=no_probe)
        found = fc.jobs(destination, **opening)
        others: Sequence[fc.HadoopJob] = ()
        if job_id is None or not any(_abbreviates(job_id, job.job_id) for job in found):
            others = fc.hadoop_jobs(destination, **opening)
        if job_id is None:
            _show_all(run, found, others)
            return
        called = [job for job in others if is_called(job, job_id)]
        if len(called) == 1:
            document = {"destination": destination, **hadoop_document(called[0])}
            run.output.answer(document, ("what", "answer"), hadoop_rows(called[0]))
            return
        known = _shown(run, _matching(run, found, job_id))
        run.output.answer({"destination": destination, **known}, ("what", "answer"), _rows(known))


def _show_all(run: Run, found: Sequence[fc.JobInfo], others: Sequence[fc.HadoopJob]) -> None:
    known = [_shown(run, job) for job in found]
    document = {
        "destination": run.destination,
        "jobs": known,
        "hadoop_jobs": [hadoop_document(job) for job in others],
    }
    rows = [row for job in known for row in _rows(job)]
    rows += [row for job in others for row in hadoop_rows(job)]
    none = f"no job is unfinished at {run.destination}"
    run.output.answer(document, ("what", "answer"), rows, none=none)


def _shown(run: Run, job: fc.JobInfo) -> dict[str, object]:
    meaning, settled_by = _MEANING[job.state]
    return {
        **_known(job),
        "tasks": job.tasks,
        "tasks_missing": job.tasks_missing,
        "committer": job.committer,
        "damage": job.damage,
        "meaning": meaning,
        "settle_with": run.command(settled_by, *_named(settled_by, job.job_id)),
    }


def _named(command: str, job_id: str) -> list[str]:
    return ["--damaged", job_id, "--delete"] if command == "clean" else [job_id]


def _rows(known: dict[str, object]) -> list[tuple[str, object]]:
    """The rows for people: the tasks in one line, ``3 of 100, missing 17, 63``."""
    shown = dict(known)
    expected, missing = shown.pop("tasks"), shown.pop("tasks_missing")
    if expected is not None:
        tasks = f"{shown['tasks_committed']} of {expected}"
        shown["tasks_committed"] = f"{tasks}, missing {missing}" if missing else tasks
    return [(name.replace("_", " "), value) for name, value in shown.items()]


def found_job(run: Run, text: str, opening: Opening) -> str:
    """The whole id of the job that *text* abbreviates; a whole one is not looked up.

    Raises:
        fc.RequestError: No unfinished job has it, or several do.
    """
    if _is_whole(text):
        return text
    try:
        return _matching(run, fc.jobs(run.destination, **opening), text).job_id
    except fc.CommitError as error:
        # Nobody knows what became of the job that is meant: it may be decided, or finished.
        kind = getattr(error, "kind", "")
        if isinstance(error, fc.StoreError) or kind in {"unknown_job", "ambiguous_job"}:
            error.outcome = "unknown"
        raise


def _matching(run: Run, found: Sequence[fc.JobInfo], text: str) -> fc.JobInfo:
    """The job whose id, or the random part of it, begins with *text*, or whose id ends with it."""
    matching = [job for job in found if _abbreviates(text, job.job_id)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        ids = ", ".join(job.job_id for job in matching)
        raise fc.RequestError(
            f"{text!r} is short for {len(matching)} jobs at {run.destination!r}: {ids}",
            kind="ambiguous_job",
        )
    raise fc.RequestError(
        f"no unfinished job at {run.destination!r} is called {text!r}: it has finished, was"
        f" aborted or never was; list them with: {run.command('jobs')}",
        kind="unknown_job",
    )


def _abbreviates(text: str, job_id: str) -> bool:
    _, _, random = job_id.partition("-")
    begins = job_id.startswith(text) or random.startswith(text)
    return bool(text) and (begins or job_id.endswith(text))


def _is_whole(text: str) -> bool:
    time, dash, random = text.partition("-")
    return bool(dash) and len(time) == len("20261120T140355") and len(random) == len("9c1e") * 4


def _known(job: fc.JobInfo) -> dict[str, object]:
    return {
        "job_id": job.job_id,
        "state": job.state,
        "mode": job.mode,
        "started": job.started,
        "host": job.host or None,  # unknown for a damaged job
        "tasks_committed": job.tasks_committed,
    }


def _capabilities(capabilities: fc.Capabilities) -> list[dict[str, object]]:
    """Each fact and how it is known; ``None`` is unknown, which counts as absent."""
    facts = {name: value for name, value in plain(capabilities).items() if name != "evidence"}
    return [
        {
            "name": name,
            "value": value,
            "evidence": capabilities.evidence.get(name, "declared"),
        }
        for name, value in facts.items()
    ]
