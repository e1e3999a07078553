"""``fsspec-commit ls``, ``verify``: what is committed, and whether all of it is there."""

import typer

import fsspec_commit as fc
from fsspec_commit.cli.ending import Run, Status, ending
from fsspec_commit.cli.options import AsJson, Debug, Destination, StorageOption, storage_options
from fsspec_commit.cli.output import counted, human_bytes


def ls(
    destination: Destination,
    *,
    storage_option: StorageOption = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """List the files of whole jobs, even while jobs publish, overwrite, die and are resumed.

    The list is complete as of one moment. Where jobs come and go all the time, so that there is
    none, the exit status is 1: ask again.

    Examples:
      fsspec-commit ls data/flights
      fsspec-commit ls s3://out/events --json
    """
    run = Run(destination, as_json=as_json, debug=debug)
    with ending(run):
        options = run.hide(storage_options(storage_option))
        run.storage_options = options
        found = fc.committed_files(destination, storage_options=options)
        document = {"destination": destination, "files": list(found), "bytes": found.bytes}
        run.output.lines(document, found, none=f"no file is committed at {destination}")
        if found:
            run.output.say(f"{counted(len(found), 'file')}, {human_bytes(found.bytes)}")


def verify(
    destination: Destination,
    *,
    storage_option: StorageOption = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Look for files that are missing or changed since their job wrote them, and for leftovers.

    What a finished job wrote is known if it left its names, with `write --success json`; what an
    unfinished one wrote is known. Only names and sizes are looked at. The exit status is 1 if
    anything is found.

    Examples:
      fsspec-commit verify data/flights
      fsspec-commit verify s3://out/events --json
    """
    run = Run(destination, as_json=as_json, debug=debug)
    with ending(run):
        options = run.hide(storage_options(storage_option))
        run.storage_options = options
        report = fc.verify(destination, storage_options=options)
        found = {
            "missing": report.missing,
            "changed": report.changed,
            "leftovers": report.leftovers,
        }
        document = {
            "destination": destination,
            "ok": report.ok,
            **found,
            "checked_count": report.checked_count,
            "file_count": report.file_count,
        }
        rows = [(what.removesuffix("s"), one) for what, some in found.items() for one in some]
        is_known = report.checked_count or not report.file_count
        none = "nothing is missing, changed or left over" if is_known else "nothing is left over"
        run.output.answer(document, ("what", "which"), rows, none=none)
        run.output.say(_looked_for(report))
        if not report.ok:
            raise typer.Exit(Status.NOT_COMMITTED)


def _looked_for(report: fc.VerifyReport) -> str:
    there = counted(report.file_count, "file")
    if not report.checked_count:
        return (
            f"{there}; no job has written down which there were to be (write --success json does)"
        )
    return f"{there}; {report.checked_count:,} that jobs have written down were looked for"
