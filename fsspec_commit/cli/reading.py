"""Sources as one stream of Arrow batches with one schema.

The schemas of all files are read first and brought together: taking the first file's, as Arrow
does by itself, drops what later files have in addition, without a word. Files are then read one
format after the other, bounded in memory.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds

import fsspec_commit as fc
from fsspec_commit.cli import json_lines
from fsspec_commit.cli.schemas import merged
from fsspec_commit.cli.sources import SourceFile, partition_types

_THREADS = 32
_TEXT_FORMATS = frozenset({"csv", "json"})


@dataclass(frozen=True)
class Rows:
    """What will be read.

    Attributes:
        schema: The schema of every batch.
        partitions: The part of it that the names of directories tell.
        groups: The files of one format and place, in the order they are read.
        json_fields: All fields that the files of JSON lines have between them.
    """

    schema: Any
    partitions: Any
    groups: Sequence[Sequence[SourceFile]]
    json_fields: Any

    def reader(self, count: Callable[[int], object]) -> Any:
        """Stream all rows once; *count* is called with the number of rows of each batch."""
        return pa.RecordBatchReader.from_batches(self.schema, self._batches(count))

    def _batches(self, count: Callable[[int], object]) -> Iterator[Any]:
        # Not as one UnionDataset: pyarrow 26 hangs in most scans of one that mixes formats.
        for group in self.groups:
            for batch in self._json(group) if group[0].format == "json" else self._dataset(group):
                count(batch.num_rows)
                yield batch

    def _dataset(self, group: Sequence[SourceFile]) -> Iterator[Any]:
        first = group[0]
        dataset = ds.dataset(
            [file.path for file in group],
            schema=self.schema,
            format=_format(first.format),
            filesystem=first.filesystem,
            partitioning=ds.HivePartitioning(self.partitions) if len(self.partitions) else None,
            partition_base_dir=first.base or None,
        )
        yield from dataset.scanner().to_batches()

    def _json(self, group: Sequence[SourceFile]) -> Iterator[Any]:
        # What other files have as text is read as it stands, not by way of a time.
        fields = pa.schema(
            field.with_type(pa.string())
            if self.schema.field(field.name).type == "string"
            else field
            for field in self.json_fields
        )
        for file in group:
            for batch in json_lines.batches(file, fields):
                yield self._completed(batch, file.partition_keys)

    def _completed(self, batch: Any, keys: Mapping[str, str | None]) -> Any:
        """A batch with every column of the schema, in its order."""
        columns = []
        for field in self.schema:
            if field.name in batch.schema.names:
                columns.append(batch.column(field.name).cast(field.type))
            else:
                value = pa.scalar(keys.get(field.name), pa.string()).cast(field.type)
                columns.append(pa.repeat(value, batch.num_rows))
        return pa.record_batch(columns, schema=self.schema)


def open_rows(files: Sequence[SourceFile]) -> Rows:
    """Read every file's schema and bring them together.

    Raises:
        fc.RequestError: A file is not what it is said to be, or two cannot be one table.
    """
    partitions = pa.schema(
        (name, pa.int64() if whole else pa.string())
        for name, whole in partition_types(files).items()
    )
    with ThreadPoolExecutor(_THREADS) as threads:
        try:
            schemas = list(threads.map(_schema_of, files))
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise
    schema = _together(files, schemas)
    both = sorted(set(schema.names) & set(partitions.names))
    if both:
        raise fc.RequestError(
            f"column {both[0]!r} is in the files and in the names of their directories; read them"
            " from inside of those directories, so that their names are not typed",
            kind="duplicate_column",
        )
    groups: dict[tuple[int, str, str], list[SourceFile]] = {}
    for file in files:
        groups.setdefault((id(file.filesystem), file.base, file.format), []).append(file)
    json_schemas = (
        found for file, found in zip(files, schemas, strict=True) if file.format == "json"
    )
    return Rows(
        schema=pa.schema([*schema, *partitions], metadata=schema.metadata),
        partitions=partitions,
        groups=list(groups.values()),
        json_fields=merged(json_schemas, text=True),
    )


def _format(name: str) -> Any:
    # By default Arrow cuts a CSV file at line breaks wherever they are, inside of quotes as well.
    options = pyarrow.csv.ParseOptions(newlines_in_values=True)
    return ds.CsvFileFormat(parse_options=options) if name == "csv" else name


def _schema_of(file: SourceFile) -> Any:
    hint = "; of JSON, lines are read: one object on each" if file.format == "json" else ""
    try:
        if file.format == "json":
            return json_lines.schema_of(file)
        schema = ds.dataset(
            [file.path], format=_format(file.format), filesystem=file.filesystem
        ).schema
    except (pa.ArrowException, EOFError, OSError, UnicodeDecodeError) as error:
        raise fc.RequestError(
            f"cannot read source {file.path!r} as {file.format}: {error}{hint}",
            kind="unreadable_source",
        ) from error
    if file.format == "csv":
        _refuse_other_encodings(file, schema)
    return schema


def _refuse_other_encodings(file: SourceFile, schema: Any) -> None:
    """Refuse text that is not UTF-8 at the front of a file, as Arrow does further back.

    At the front it would be taken for bytes, and written as such.
    """
    for field in schema:
        if pa.types.is_binary(field.type):
            raise fc.RequestError(
                f"cannot read source {file.path!r} as csv: column {field.name!r} is not in UTF-8;"
                " convert the file first, as iconv does",
                kind="unreadable_source",
            )


def _together(files: Sequence[SourceFile], schemas: Sequence[Any]) -> Any:
    together, text = schemas[0], files[0].format in _TEXT_FORMATS
    for file, schema in zip(files, schemas, strict=True):
        text = text and file.format in _TEXT_FORMATS
        try:
            together = merged((together, schema), text=text)
        except pa.ArrowException as error:
            raise fc.RequestError(
                f"source {file.path!r} does not fit the sources before it: {error}",
                kind="different_schemas",
            ) from error
    return together
