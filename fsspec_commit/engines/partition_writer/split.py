"""Rows, split by the Hive directories they belong to."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fsspec_commit.engines.partition_writer.value_texts import texts_of
from fsspec_commit.names import hive_path


def split(rows: pa.RecordBatch, names: Sequence[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The directories of *rows*, each with its rows in their order, without the columns *names*.

    A directory may come twice: for ``NULL`` and for the empty string, which Spark names alike.
    Every part owns its memory, so that it can be freed by itself.
    """
    codes, keys = _codes(rows, names)
    data = rows.drop_columns(list(names))
    if len(keys) == 1:
        yield keys[0], data
        return
    order = pc.sort_indices(codes)  # which is stable
    runs = pc.run_end_encode(codes.take(order))
    ends = runs.run_ends.to_pylist()
    for code, begin, end in zip(runs.values.to_pylist(), [0, *ends], ends, strict=False):
        yield keys[code], data.take(order.slice(begin, end - begin))


def _codes(rows: pa.RecordBatch, names: Sequence[str]) -> tuple[pa.Array, list[str]]:
    """A number for each row, and the directory of each number."""
    columns = [
        rows.column(rows.schema.get_field_index(name)).dictionary_encode(null_encoding="encode")
        for name in names
    ]
    texts = [texts_of(column.dictionary) for column in columns]
    if len(columns) == 1:
        keys = [hive_path(**{names[0]: text}) for text in texts[0]]
        return columns[0].indices, keys
    sizes = [len(column.dictionary) for column in columns]
    # The last column counts fastest, as the digits of a number do.
    scales = [*accumulate(sizes[:0:-1], lambda scale, size: scale * size, initial=1)][::-1]
    numbers: Any = None
    for column, scale in zip(columns, scales, strict=True):
        part = pc.multiply(column.indices.cast(pa.int64()), scale)
        numbers = part if numbers is None else pc.add(numbers, part)
    found = numbers.dictionary_encode()
    keys = [
        hive_path(
            **{
                name: text[number // scale % size]
                for name, text, scale, size in zip(names, texts, scales, sizes, strict=True)
            }
        )
        for number in found.dictionary.to_pylist()
    ]
    return found.indices, keys
