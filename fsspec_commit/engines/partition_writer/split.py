"""Rows, split by the Hive directories they belong to."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from fsspec_commit.engines.partition_writer.value_texts import texts_of
from fsspec_commit.names import hive_path


def split(rows: pa.RecordBatch, names: Sequence[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The directories of *rows*, each with its rows in their order, without the columns *names*.

    A directory may come twice: for ``NULL`` and for the empty string, which Spark names alike.
    Each of several parts owns its memory, so that it can be freed by itself; a single part shares
    that of *rows*.
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
    first, *others = names
    codes, keys = _codes_of(rows, first)
    for name in others:
        inner, directories = _codes_of(rows, name)
        count = len(directories)
        # Numbered anew for each column: all combinations of many columns are more than 64 bits
        # can tell apart, and those that occur are no more than there are rows.
        both = pc.add(pc.multiply(codes.cast(pa.int64()), count), inner.cast(pa.int64()))
        found = both.dictionary_encode()
        keys = [
            f"{keys[number // count]}/{directories[number % count]}"
            for number in found.dictionary.to_pylist()
        ]
        codes = found.indices
    return codes, keys


def _codes_of(rows: pa.RecordBatch, name: str) -> tuple[pa.Array, list[str]]:
    """A number for each row, and the directory of each number, by one column alone."""
    column = rows.column(rows.schema.get_field_index(name)).dictionary_encode("encode")
    return column.indices, [hive_path(**{name: text}) for text in texts_of(column.dictionary)]
