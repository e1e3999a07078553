"""JSON lines, read block by block so that no field is lost.

Arrow's JSON datasets take the first block's fields for the file's, whatever schema they are given,
and drop all others in silence (apache/arrow#33732). Here a file is read twice instead: once for
its fields, once for its rows.
"""

import io
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow.json

from fsspec_commit.cli.schemas import merged
from fsspec_commit.cli.sources import SourceFile

_BLOCK_BYTES = 8 << 20


def schema_of(file: SourceFile) -> Any:
    """The fields of all of a file's rows."""
    schemas = (_parsed(block, None).schema for block in _blocks(file))
    return merged(schemas, text=True)


def batches(file: SourceFile, fields: Any) -> Iterator[Any]:
    """The rows of a file, with all of *fields*.

    Raises:
        pa.ArrowInvalid: A row has others, because the file changed since its schema was read.
    """
    for block in _blocks(file):
        yield from _parsed(block, fields).to_batches()


def _parsed(block: bytes, fields: Any) -> Any:
    known = {} if fields is None else {"explicit_schema": fields}
    return pyarrow.json.read_json(
        io.BytesIO(block),
        # As one block, a line may be as long as it likes.
        read_options=pyarrow.json.ReadOptions(block_size=len(block)),
        parse_options=pyarrow.json.ParseOptions(
            unexpected_field_behavior="infer" if fields is None else "error", **known
        ),
    )


def _blocks(file: SourceFile) -> Iterator[bytes]:
    with file.filesystem.open(file.path, "rb", compression="infer") as lines:
        yield from whole_lines(iter(lambda: lines.read(_BLOCK_BYTES), b""))


def whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Split the bytes of *blocks* between lines; blocks of empty lines are left out."""
    begun: list[bytes] = []
    for block in blocks:
        whole, newline, rest = block.rpartition(b"\n")
        if newline:
            lines = b"".join([*begun, whole, newline])
            begun.clear()
            if lines.strip():
                yield lines
        begun.append(rest)
    last = b"".join(begun)
    if last.strip():
        yield last
