"""Sources as one stream of Arrow batches with one schema.

The schemas of all files are read first and brought together: taking the first file's, as Arrow
does by itself, drops what later files have in addition, without a word. Files are then read one
format after the other, bounded in memory.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.json

import fsspec_commit as fc
from fsspec_commit.cli.sources import SourceFile, partition_types

_THREADS = 32
# A JSON line may be as long as a block; Arrow's default of 1 MiB is soon too short for events.
_BLOCK_BYTES = 8 << 20
_TEXT_FORMATS = frozenset({"csv", "json"})


@dataclass(frozen=True)
class Rows:
    """What will be read.

    Attributes:
        schema: The schema of every batch.
        datasets: What is read, one after the other; all have that schema.
    """

    schema: Any
    datasets: Sequence[Any]

    def reader(self, count: Callable[[int], object]) -> Any:
        """Stream all rows once; *count* is told of every batch."""
        return pa.RecordBatchReader.from_batches(self.schema, self._batches(count))

    def _batches(self, count: Callable[[int], object]) -> Iterator[Any]:
        # Not as one UnionDataset: pyarrow 26 hangs in most scans of one that mixes formats.
        for dataset in self.datasets:
            for batch in dataset.scanner().to_batches():
                count(batch.num_rows)
                yield batch


def open_rows(files: Sequence[SourceFile]) -> Rows:
    """Read every file's schema and bring them together.

    Raises:
        fc.RequestError: A file is not what it is said to be, or two cannot be one table.
    """
    partitions = _partition_schema(files)
    with ThreadPoolExecutor(_THREADS) as threads:
        try:
            schemas = list(threads.map(_schema_of, files))
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise
    schema = _unified(files, schemas)
    both = sorted(set(schema.names) & set(partitions.names))
    if both:
        raise fc.RequestError(
            f"column {both[0]!r} is in the files and in the names of their directories; read them"
            " from inside of those directories, so that their names are not typed",
            kind="duplicate_column",
        )
    schema = pa.schema([*schema, *partitions], metadata=schema.metadata)
    groups: dict[tuple[int, str, str], list[SourceFile]] = {}
    for file in files:
        groups.setdefault((id(file.filesystem), file.base, file.format), []).append(file)
    return Rows(schema, [_dataset(group, schema, partitions) for group in groups.values()])


def _dataset(group: Sequence[SourceFile], schema: Any, partitions: Any) -> Any:
    first = group[0]
    return ds.dataset(
        [file.path for file in group],
        schema=schema,
        format=_format(first.format),
        filesystem=first.filesystem,
        partitioning=ds.HivePartitioning(partitions) if len(partitions) else None,
        partition_base_dir=first.base or None,
    )


def _format(name: str) -> Any:
    if name != "json":
        return name
    return ds.JsonFileFormat(read_options=pyarrow.json.ReadOptions(block_size=_BLOCK_BYTES))


def _partition_schema(files: Sequence[SourceFile]) -> Any:
    types = partition_types(files)
    return pa.schema(
        [(name, pa.int64() if whole else pa.string()) for name, whole in types.items()]
    )


def _schema_of(file: SourceFile) -> Any:
    try:
        if file.format == "json":
            return _json_schema(file)
        dataset = ds.dataset([file.path], format=file.format, filesystem=file.filesystem)
        return dataset.schema
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise fc.RequestError(
            f"cannot read source {file.path!r} as {file.format}: {error}", kind="unreadable_source"
        ) from error


def _json_schema(file: SourceFile) -> Any:
    """The schema of a whole file of JSON lines.

    Arrow's dataset takes the first block's, and drops every field that first appears later.
    """
    schema = pa.schema([])
    with file.filesystem.open(file.path, "rb", compression="infer") as lines:
        for block in _line_blocks(lines):
            options = pyarrow.json.ReadOptions(block_size=len(block))
            table = pyarrow.json.read_json(io.BytesIO(block), read_options=options)
            schema = _merged_schema(schema, table.schema, text=True)
    return schema


def _line_blocks(lines: Any) -> Iterator[bytes]:
    """Blocks of whole lines."""
    begun = b""
    while block := lines.read(_BLOCK_BYTES):
        whole, newline, rest = block.rpartition(b"\n")
        if not newline:
            begun += rest
            continue
        if (begun + whole).strip():
            yield begun + whole + newline
        begun = rest
    if begun.strip():
        yield begun


def _unified(files: Sequence[SourceFile], schemas: Sequence[Any]) -> Any:
    together = schemas[0]
    for file, schema in zip(files, schemas, strict=True):
        try:
            text = file.format in _TEXT_FORMATS and files[0].format in _TEXT_FORMATS
            together = _merged_schema(together, schema, text=text)
        except pa.ArrowException as error:
            raise fc.RequestError(
                f"source {file.path!r} does not fit the sources before it: {error}",
                kind="different_schemas",
            ) from error
    return together


def _merged_schema(one: Any, other: Any, *, text: bool) -> Any:
    if one.equals(other):
        return one
    merged = _merged_type(pa.struct(list(one)), pa.struct(list(other)), text=text)
    return pa.schema(list(merged), metadata=one.metadata)


def _merged_type(one: Any, other: Any, *, text: bool) -> Any:
    """A type that holds the values of both.

    *text* means that both were guessed from text, which can be read as text again: a column whose
    first values look like times may go on with words.
    """
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        fields = {field.name: field for field in one}
        for field in other:
            known = fields.get(field.name)
            kind = field.type if known is None else _merged(field.name, known, field, text=text)
            fields[field.name] = pa.field(field.name, kind)
        # A field that one of them lacks is null there, whatever the other says.
        return pa.struct([field.with_nullable(True) for field in fields.values()])
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(_merged_type(one.value_type, other.value_type, text=text))
    if text and pa.types.is_string(one) and pa.types.is_timestamp(other):
        return one
    if text and pa.types.is_timestamp(one) and pa.types.is_string(other):
        return other
    both = [pa.schema([("value", kind)]) for kind in (one, other)]
    return pa.unify_schemas(both, promote_options="permissive").field("value").type


def _merged(name: str, one: Any, other: Any, *, text: bool) -> Any:
    try:
        return _merged_type(one.type, other.type, text=text)
    except pa.ArrowException as error:
        raise pa.ArrowTypeError(
            f"column {name!r} is {one.type} there and {other.type} here"
        ) from error
