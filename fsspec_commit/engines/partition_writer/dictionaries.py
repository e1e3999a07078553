"""Which columns of a Parquet file get a dictionary: those that it makes smaller.

Arrow gives every column one, up to 1 MB, even if each value occurs once: of 50 small files, one
for each partition, the largest part was such dictionaries, and making them took half of the time.
"""

from collections.abc import Iterator
from math import ceil, log2

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

_SAMPLE_ROWS = 1 << 15
# At most this share of the plain values' size may be left: those compress, too.
_WORTH = 0.7


def dictionary_columns(rows: pa.RecordBatch) -> list[str]:
    """The paths of the columns in a Parquet file for which a dictionary pays, judged by *rows*."""
    sample = rows.slice(0, _SAMPLE_ROWS)
    return [
        path
        for field, column in zip(sample.schema, sample.columns, strict=True)
        for path, leaf in _leaves(field.name, column)
        if _pays(leaf)
    ]


def _leaves(path: str, values: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    kind = values.type
    if kinds.is_struct(kind):
        for number in range(kind.num_fields):
            field = kind.field(number)
            yield from _leaves(f"{path}.{field.name}", values.field(number))
    elif kinds.is_map(kind):
        yield from _leaves(f"{path}.key_value.key", values.keys)
        yield from _leaves(f"{path}.key_value.value", values.items)
    elif kinds.is_list(kind) or kinds.is_large_list(kind):
        yield from _leaves(f"{path}.list.element", values.flatten())
    else:
        yield path, values


def _pays(values: pa.Array) -> bool:
    if kinds.is_boolean(values.type) or kinds.is_null(values.type):
        return False  # Parquet has none for them.
    count = len(values) - values.null_count
    if not count:
        return False
    distinct: int = pc.count_distinct(values).as_py()
    plain = values.nbytes
    indices = count * max(1, ceil(log2(distinct + 1))) / 8
    return bool(indices + plain * distinct / count < plain * _WORTH)
