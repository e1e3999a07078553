"""``fsspec-commit write``: files in, one committed dataset out."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

import fsspec_commit as fc
from fsspec_commit.cli.ending import (
    COMMITTED,
    NOT_COMMITTED,
    Run,
    ending,
    unsettled,
)
from fsspec_commit.cli.options import (
    AsJson,
    Committer,
    Debug,
    Destination,
    NoProbe,
    Quiet,
    SingleWriter,
    StorageOption,
    duration,
    listed,
    storage_options,
)
from fsspec_commit.cli.progress import Publishing, bars
from fsspec_commit.cli.sources import SourceFile, find_sources, known_format

# What pyarrow writes of what it reads.
_WRITTEN = ("parquet", "csv", "arrow", "feather")


class Mode(StrEnum):
    """What becomes of data that stands at the destination."""

    ERROR = "error"
    IGNORE = "ignore"
    APPEND = "append"
    OVERWRITE = "overwrite"
    OVERWRITE_PARTITIONS = "overwrite_partitions"


class Names(StrEnum):
    """How files are named."""

    UNIQUE = "unique"
    EXACT = "exact"


class Success(StrEnum):
    """What ``_SUCCESS`` holds."""

    MARKER = "marker"
    JSON = "json"
    NONE = "none"


class Durability(StrEnum):
    """What is fsynced."""

    NONE = "none"
    MARKER = "marker"
    FULL = "full"


_DATA = "What is read and written"
_JOB = "How the job is done"
_Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE",
        help="Files, directories, globs or URLs: Parquet, CSV, JSON lines, ORC, Arrow or Feather;"
        " CSV and JSON also compressed.",
        show_default=False,
    ),
]
_SourceFormat = Annotated[
    str | None,
    typer.Option(
        metavar="FORMAT",
        help="Read every file as this format, whatever its name says.",
        rich_help_panel=_DATA,
    ),
]
_SourceStorageOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="What fsspec needs to open the sources; never printed.",
        rich_help_panel=_DATA,
    ),
]
_PartitionBy = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS",
        help="One directory per value, column=value, in this order: year,month.",
        rich_help_panel=_DATA,
    ),
]
_Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help=f"{', '.join(_WRITTEN[:-1])} or {_WRITTEN[-1]}.",
        rich_help_panel=_DATA,
    ),
]
_MaxRowsPerFile = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="ROWS",
        help="Begin another file after this many rows.",
        rich_help_panel=_DATA,
    ),
]
_Mode = Annotated[
    Mode,
    typer.Option(
        metavar="MODE",
        case_sensitive=False,
        help="What becomes of data that stands there: error refuses, ignore does nothing then,"
        " append adds, overwrite replaces all, overwrite_partitions the directories written.",
    ),
]
_Partitions = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DIRECTORY",
        help="A directory that overwrite_partitions clears even if nothing is written there,"
        " such as day=2026-11-20; repeat it for more.",
        rich_help_panel=_JOB,
    ),
]
_Names = Annotated[
    Names,
    typer.Option(
        metavar="NAMES",
        case_sensitive=False,
        help="unique: no two jobs ever write the same name; exact: names are kept as they are.",
        rich_help_panel=_JOB,
    ),
]
_IdempotencyKey = Annotated[
    str | None,
    typer.Option(
        metavar="KEY",
        help="At most one job with this key ever commits here.",
        rich_help_panel=_JOB,
    ),
]
_Success = Annotated[
    Success,
    typer.Option(
        metavar="KIND",
        case_sensitive=False,
        help="marker: an empty _SUCCESS; json: one with Hadoop's summary; or none.",
        rich_help_panel=_JOB,
    ),
]
_Wait = Annotated[
    str,
    typer.Option(
        metavar="DURATION",
        help="How long to wait for another job that came first: 90s, 5m.",
        rich_help_panel=_JOB,
    ),
]
_Durability = Annotated[
    Durability,
    typer.Option(
        metavar="WHAT",
        case_sensitive=False,
        help="What is fsynced on local disks: none, marker (_SUCCESS) or full.",
        rich_help_panel=_JOB,
    ),
]
_DeleteByName = Annotated[
    bool,
    typer.Option(
        "--delete-by-name",
        help="Promise that nobody else replaces old files while this job deletes them.",
    ),
]


def write(
    sources: _Sources,
    destination: Destination,
    *,
    mode: _Mode = Mode.ERROR,
    partition_by: _PartitionBy = None,
    partitions: _Partitions = None,
    written_format: _Format = "parquet",
    max_rows_per_file: _MaxRowsPerFile = None,
    source_format: _SourceFormat = None,
    source_storage_option: _SourceStorageOption = None,
    storage_option: StorageOption = None,
    committer: Committer = "auto",
    names: _Names = Names.UNIQUE,
    success: _Success = Success.MARKER,
    idempotency_key: _IdempotencyKey = None,
    wait: _Wait = "60s",
    durability: _Durability = Durability.NONE,
    single_writer: SingleWriter = False,
    delete_by_name: _DeleteByName = False,
    no_probe: NoProbe = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write files as one dataset that appears whole or not at all.

    All sources are read as one table, whatever their formats, and streamed to new files at the
    destination, which become visible when every one of them is complete. Directories named
    key=value, in the path of a source or below it, become columns. If the command is interrupted,
    nothing is written; if files are becoming visible already, it finishes that first.

    Examples:
      fsspec-commit write in.csv.gz data/flights --partition-by year,month
      fsspec-commit write 's3://in/*.parquet' s3://out/events --mode append --json
    """
    run = Run(destination, as_json=as_json, quiet=quiet, debug=debug, public=sources)
    with ending(run):
        read_with = run.hide(storage_options(source_storage_option, "--source-storage-option"))
        opening = run.opening(storage_option, single_writer=single_writer, no_probe=no_probe)
        job: dict[str, Any] = {
            "format": _written(written_format),
            "partition_by": listed(partition_by) or None,
            "max_rows_per_file": max_rows_per_file,
            "mode": mode.value,
            "partitions": partitions or (),
            "committer": committer,
            "names": names.value,
            "success": success.value,
            "idempotency_key": idempotency_key,
            "wait_s": duration(wait, "--wait", unit="s").total_seconds(),
            "durability": durability.value,
            "delete_by_name": delete_by_name,
            **opening,
        }
        as_format = None if source_format is None else known_format(source_format)
        files = find_sources(sources, as_format=as_format, options=read_with)
        result = _write(files, job, run)
        run.output.result(result)


def _write(files: Sequence[SourceFile], job: dict[str, Any], run: Run) -> fc.CommitResult:
    """Stream the files into one job and keep *run* up to date about what stands."""
    write_dataset = fc.write_dataset  # First: without Arrow this names what to install.
    from fsspec_commit.cli.reading import open_rows

    rows = open_rows(files)
    _check_columns(job["partition_by"] or (), rows.schema.names)
    run.cut_short = NOT_COMMITTED

    def decided() -> None:
        run.cut_short = unsettled(run.command("jobs"))

    with bars(shown=run.output.shows_progress) as seen:
        callback = Publishing(seen, decided)
        reader = rows.reader(seen.read)
        result: fc.CommitResult = write_dataset(reader, run.destination, callback=callback, **job)
        run.cut_short = COMMITTED
    return result


def _written(text: str) -> str:
    name = text.lower().lstrip(".")
    name = "arrow" if name == "ipc" else name
    if name not in _WRITTEN:
        raise fc.RequestError(
            f"--format {text!r} cannot be written, pyarrow writes {', '.join(_WRITTEN)} only",
            kind="unknown_format",
        )
    return name


def _check_columns(wanted: Sequence[str], known: Sequence[str]) -> None:
    for name in wanted:
        if name not in known:
            raise fc.RequestError(
                f"--partition-by {name!r} is no column of the sources; they have"
                f" {', '.join(map(repr, known))}",
                kind="unknown_column",
            )
    if len(set(wanted)) != len(wanted):
        raise fc.RequestError("--partition-by names a column twice", kind="invalid_option")
    if known and len(wanted) == len(known):
        raise fc.RequestError(
            "--partition-by takes every column, and leaves none for the files",
            kind="invalid_option",
        )
