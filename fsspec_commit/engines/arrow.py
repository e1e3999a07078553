"""``write_dataset``: pyarrow's own dataset writer, into one task of one job."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from inspect import signature
from itertools import chain
from typing import Any, Protocol, TypeAlias, Unpack, runtime_checkable

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow.fs import PyFileSystem

from fsspec_commit.engines.feed import Feed, write_fed
from fsspec_commit.engines.partitioned import ROOT, TaskFiles, check_declared, partitioning_of
from fsspec_commit.engines.plain_types import without_views
from fsspec_commit.engines.writing_options import check_writing
from fsspec_commit.errors import RequestError
from fsspec_commit.location import DestinationLike
from fsspec_commit.options import JobOptions
from fsspec_commit.protocol.result import CommitResult
from fsspec_commit.suggestions import option_hint
from fsspec_commit.sync.job import Job
from fsspec_commit.sync.task import Task, count_rows

# By the names of their classes, as Arrow can be built without some of them.
_FORMATS = {
    "parquet": "ParquetFileFormat",
    "csv": "CsvFileFormat",
    "feather": "FeatherFileFormat",
    "arrow": "IpcFileFormat",
    "ipc": "IpcFileFormat",
}
# Arrow's own limits: the rows of a slice of a table that is scanned, and those of a row group.
_TABLE_ROWS = 1 << 17
_BATCH_ROWS_MAX = 1 << 20

_MAKES_A_TABLE = (
    "pyarrow.table() makes a table of columns, pyarrow.Table.from_pylist() of rows, "
    "pyarrow.concat_tables() of tables"
)
# The methods that compute a lazy frame of polars or Dask; Dask's iterates over column names.
_COMPUTES = ("collect", "compute")


@runtime_checkable
class ArrowStreamExportable(Protocol):
    """Anything that exports an Arrow C stream: polars, DuckDB relations, pandas ≥ 3."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's PyCapsule protocol."""


ArrowData: TypeAlias = (
    "pa.Table | pa.RecordBatch | pa.RecordBatchReader | ds.Dataset | ds.Scanner "
    "| Iterable[pa.RecordBatch] | ArrowStreamExportable"
)


def write_dataset(
    data: ArrowData,
    destination: DestinationLike,
    *,
    format: str | ds.FileFormat | None = None,  # noqa: A002  # pyarrow's word
    partition_by: str | Sequence[str] | None = None,
    partitioning: ds.Partitioning | None = None,
    schema: pa.Schema | None = None,
    basename_template: str | None = None,
    file_options: ds.FileWriteOptions | None = None,
    use_threads: bool = True,
    preserve_order: bool = False,
    max_partitions: int | None = None,
    max_open_files: int | None = None,
    max_rows_per_file: int | None = None,
    min_rows_per_group: int | None = None,
    max_rows_per_group: int | None = None,
    file_visitor: Callable[[Any], object] | None = None,
    **job: Unpack[JobOptions],
) -> CommitResult:
    """Write *data* as one job of one task: all of its files become visible, or none does.

    The data is streamed. The arguments are those of :func:`pyarrow.dataset.write_dataset`, except
    ``existing_data_behavior`` (``mode`` decides), ``create_dir`` and ``base_dir``; the defaults
    are pyarrow's. Ctrl-C aborts the job within about a second.

    Args:
        data: A table, a batch, a reader, a dataset, a scanner, an iterable of batches, or
            anything with ``__arrow_c_stream__``. It is read on the calling thread.
        destination: A URL, a path or a ``UPath``.
        format: ``"parquet"``, ``"csv"``, ``"arrow"`` (``"ipc"``), ``"feather"`` or pyarrow's
            object; by default a dataset's own format, otherwise Parquet.
        partition_by: Columns that become Hive directories, ``day=…/``. Arrow percent-encodes
            more of their values than Spark does (a space is ``%20``); readers decode both.
        partitioning: Another way to split rows, as pyarrow's object.
        schema: The schema of an iterable of batches; needed for an iterable, and only for one.
        basename_template: File names, with ``{i}`` for a number: ``"part-{i}.parquet"``.
        file_options: The result of ``FileFormat.make_write_options``.
        use_threads: Whether Arrow writes with several threads.
        preserve_order: Whether rows keep their order.
        max_partitions: The most directories for one batch; 1024 by default.
        max_open_files: The most files open at once.
        max_rows_per_file: Begin another file after this many rows; 0 for no limit.
        min_rows_per_group: Gather at least this many rows into a row group.
        max_rows_per_group: The most rows in a row group.
        file_visitor: Called for each file: an object with ``path`` (final), ``metadata``, ``size``.
        **job: See :class:`JobOptions`, except ``tasks`` and ``collect``. ``allow_empty`` defaults
            to True: a table without rows makes a job without files.

    Raises:
        RequestError: The call makes no sense: ``kind="unknown_column"``, ``"unknown_format"``, …
        pyarrow.ArrowException: Arrow cannot write the data; the job is aborted.
        CommitError: The errors of :meth:`Job.commit <fsspec_commit.Job.commit>`.
    """
    source = _Source(data, schema, use_threads=use_threads)
    options = {
        "format": _format_of(data, format),
        "partitioning": partitioning_of(source.schema, partition_by, partitioning),
        "basename_template": basename_template,
        "file_options": file_options,
        "use_threads": use_threads,
        "preserve_order": preserve_order or None,  # pyarrow 17 does not know it
        "max_partitions": max_partitions,
        "max_open_files": max_open_files,
        "max_rows_per_file": max_rows_per_file,
        "min_rows_per_group": min_rows_per_group,
        "max_rows_per_group": max_rows_per_group,
    }
    return _commit(source, destination, job, options, file_visitor)


def _refuse_unknown(job: JobOptions) -> None:
    """Refuse unknown options, and suggest one among all that may be given here.

    Raises:
        TypeError: There is no such option.
    """
    unknown = next((name for name in job if name not in JobOptions.__annotations__), None)
    if unknown is not None:
        known = [*signature(write_dataset).parameters, *JobOptions.__annotations__]
        hint = option_hint(unknown, known)
        raise TypeError(f"write_dataset has no option {unknown!r}{hint}")


def _refuse_doubles(schema: pa.Schema) -> None:
    """Refuse duplicate names: Arrow would after a job has begun, in terms of its own columns."""
    for name in schema.names:
        count = schema.names.count(name)
        if count > 1:
            message = f"the data have {count} columns {name!r}, which no reader tells apart: rename"
            raise RequestError(f"{message} all but one, or drop them", kind="duplicate_column")


def _commit(
    source: "_Source",
    destination: DestinationLike,
    job: JobOptions,
    options: dict[str, Any],
    visit: Callable[[Any], object] | None,
) -> CommitResult:
    _refuse_unknown(job)
    _refuse_doubles(source.schema)
    check_writing(options, visit)
    for refused in ("tasks", "collect"):
        if refused in job:
            message = f"{refused}= makes no sense here: write_dataset is one job of one task"
            raise RequestError(message, kind="invalid_option")
    job.setdefault("allow_empty", True)
    given = {name: value for name, value in options.items() if value is not None}
    _fit_groups(given)
    planned = Job(destination, **job)
    check_declared(job.get("partitions", ()), options["partitioning"])
    with planned as running:
        if not running.skipped:
            with running.task() as task:
                _write(source, task, given, visit)
    return running.commit()


def _fit_groups(options: dict[str, Any]) -> None:
    """Make row groups fit their file: Arrow refuses its own default for smaller files."""
    file_rows = options.get("max_rows_per_file", 0)
    if 0 < file_rows < _BATCH_ROWS_MAX:
        options.setdefault("max_rows_per_group", file_rows)


def _write(
    source: "_Source",
    task: Task,
    options: dict[str, Any],
    visit: Callable[[Any], object] | None,
) -> None:
    batches = source.batches()
    first = next(batches, None)
    if first is not None:
        # Write one row to nowhere: what cannot be written at all is reported now, while nothing
        # can stall (see TaskFiles), and not halfway through.
        _run_arrow(iter([first.slice(0, 1)]), source.schema, TaskFiles(None), options)
        feed = Feed[Any]()
        files = TaskFiles(task, feed.refuse)
        if visit is not None:
            options = {**options, "file_visitor": files.visitor(visit)}
        try:
            write_fed(
                chain([first], batches),
                lambda fed: _run_arrow(fed, source.schema, files, options),
                feed,
            )
        except BaseException:
            files.discard()
            raise
    count_rows(task, source.rows)


def _run_arrow(
    batches: Iterator[Any], schema: pa.Schema, files: TaskFiles, options: dict[str, Any]
) -> None:
    try:
        ds.write_dataset(
            pa.RecordBatchReader.from_batches(schema, batches),
            ROOT,
            filesystem=PyFileSystem(files),
            existing_data_behavior="overwrite_or_ignore",
            create_dir=False,
            **options,
        )
    except pa.ArrowInvalid as error:
        if files.error is None and "exceeds the maximum of" in str(error):
            raise pa.ArrowInvalid(f"{error}; raise max_partitions= if that is meant") from error
        raise
    finally:
        if files.error is not None:
            # Arrow has only seen that it was stopped.
            raise files.error from None


def _format_of(data: ArrowData, asked: str | ds.FileFormat | None) -> ds.FileFormat:
    found = asked
    if asked is None:
        found = data.format if isinstance(data, ds.FileSystemDataset) else "parquet"
    if isinstance(found, str) and found in _FORMATS:
        return getattr(ds, _FORMATS[found])()
    if isinstance(found, ds.FileFormat):
        with suppress(NotImplementedError):
            found.make_write_options()
            return found
    known = ", ".join(map(repr, _FORMATS))
    message = f"{found!r} is no format that Arrow writes; give format=, one of {known}"
    raise RequestError(message, kind="unknown_format")


class _Source:
    """Data as batches of one schema, counted.

    Attributes:
        schema: The schema of the batches, as they are handed out.
        rows: How many rows were handed out so far.
    """

    def __init__(self, data: ArrowData, schema: pa.Schema | None, *, use_threads: bool) -> None:
        self.rows = 0
        self._batches: Iterable[Any]
        if isinstance(data, pa.RecordBatch):
            data = pa.Table.from_batches([data])
        if isinstance(data, ds.Dataset):
            data = data.scanner(use_threads=use_threads)
        if isinstance(data, pa.Table):
            own, self._batches = data.schema, data.to_batches(max_chunksize=_TABLE_ROWS)
        elif isinstance(data, ds.Scanner):
            own, self._batches = data.projected_schema, _batches_of(data)
        elif isinstance(data, pa.RecordBatchReader):
            own, self._batches = data.schema, data
        elif isinstance(data, ArrowStreamExportable):
            reader = _stream_of(data)
            own, self._batches = reader.schema, reader
        elif isinstance(data, Iterable) and not _is_no_data(data):
            own, self._batches = schema, data
        else:
            raise _no_data(data)
        _check_schema(own, schema, data)
        self._own: pa.Schema = own
        self.schema = without_views(self._own)

    def batches(self) -> Iterator[Any]:
        """Batches that have rows, none of them huge."""
        for batch in self._batches:
            if not isinstance(batch, pa.RecordBatch):
                message = (
                    f"an iterable gives batches, and this one has given an object of "
                    f"type {_kind(batch)}; "
                    f"{_MAKES_A_TABLE}"
                )
                raise RequestError(message, kind="not_arrow_data")
            if not batch.schema.equals(self._own):
                message = f"a batch does not have the schema that was given, but: {batch.schema}"
                raise RequestError(message, kind="schema_mismatch")
            self.rows += batch.num_rows
            for start in range(0, batch.num_rows, _BATCH_ROWS_MAX):
                part = batch.slice(start, _BATCH_ROWS_MAX)
                # A part after the other: polars may give a whole frame as one batch.
                yield part if self.schema is self._own else part.cast(self.schema)


def _batches_of(scanner: ds.Scanner) -> Iterator[Any]:
    """The batches of a scanner; it starts to read when the first one is requested."""
    yield from scanner.to_batches()


def _stream_of(data: ArrowStreamExportable) -> pa.RecordBatchReader:
    try:
        return pa.RecordBatchReader.from_stream(data)
    except pa.ArrowInvalid as error:
        message = (
            f"an object of type {_kind(data)} is no stream of batches ({error}); {_MAKES_A_TABLE}"
        )
        raise RequestError(message, kind="not_arrow_data") from error


def _check_schema(own: object, given: object, data: object) -> None:
    if given is not None and not isinstance(given, pa.Schema):
        message = f"schema= is a pyarrow.schema(…), not {type(given).__name__}"
        raise RequestError(message, kind="invalid_option")
    if own is None:
        message = (
            f"an object of type {_kind(data)} is taken for an iterable of batches, which needs "
            f"schema=: it is known before the first batch; {_MAKES_A_TABLE}"
        )
        raise RequestError(message, kind="missing_schema")
    if given is not None and given != own:
        message = f"the data has a schema of its own, not schema=; cast it first: {own}"
        raise RequestError(message, kind="schema_mismatch")


def _is_no_data(thing: object) -> bool:
    """Whether *thing* can be iterated, but does not yield batches."""
    return isinstance(thing, str | bytes | dict) or any(hasattr(thing, verb) for verb in _COMPUTES)


def _no_data(thing: object) -> RequestError:
    message = (
        f"cannot write an object of type {_kind(thing)}: give a pyarrow table, batch, reader, "
        "dataset or scanner, an iterable of batches, or anything with __arrow_c_stream__"
    )
    if isinstance(thing, str | os.PathLike):
        message += (
            "; the data comes first, then the destination; "
            "pyarrow.dataset.dataset(path) reads files"
        )
    elif isinstance(thing, dict):
        message += "; of columns pyarrow.table() makes a table"
    elif verb := next((name for name in _COMPUTES if hasattr(thing, name)), None):
        message += f"; what has still to be computed is given as .{verb}() returns it"
    return RequestError(message, kind="not_arrow_data")


def _kind(thing: object) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}".removeprefix("builtins.")
