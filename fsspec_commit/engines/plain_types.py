"""Text and bytes as every format of Arrow writes them: large ones in the place of views."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pyarrow as pa


def without_views(schema: pa.Schema) -> pa.Schema:
    """*schema* with large text and bytes in the place of views, at any depth; or itself.

    polars hands out views, which Arrow neither splits into partitions nor writes as CSV. It is not
    asked for other types through ``__arrow_c_stream__``, as it does not heed the request.
    """
    if not _casts_views():
        return schema
    plain = pa.schema(map(_plain_field, schema), schema.metadata)
    return schema if plain.equals(schema) else plain


@cache
def _casts_views() -> bool:
    """Whether this pyarrow casts views at all: 17 does not."""
    try:
        pa.nulls(1, pa.string_view()).cast(pa.large_string())
    except pa.ArrowNotImplementedError:
        return False
    return True


def _plain_field(field: pa.Field) -> pa.Field:
    return field.with_type(_plain(field.type))


def _plain(kind: pa.DataType) -> pa.DataType:
    for is_of_kind, plain in _PLAIN:
        if is_of_kind(kind):
            return plain(kind)
    return kind


def _plain_dictionary(kind: Any) -> pa.DataType:
    return pa.dictionary(kind.index_type, _plain(kind.value_type), kind.ordered)


def _plain_struct(kind: Any) -> pa.DataType:
    return pa.struct([_plain_field(kind.field(at)) for at in range(kind.num_fields)])


def _plain_map(kind: Any) -> pa.DataType:
    fields = _plain_field(kind.key_field), _plain_field(kind.item_field)
    return pa.map_(*fields, keys_sorted=kind.keys_sorted)


# Views in a list view, or of equal runs, stay: Arrow casts neither.
_PLAIN: tuple[tuple[Callable[[Any], bool], Callable[[Any], pa.DataType]], ...] = (
    (pa.types.is_string_view, lambda _: pa.large_string()),
    (pa.types.is_binary_view, lambda _: pa.large_binary()),
    (pa.types.is_dictionary, _plain_dictionary),
    (pa.types.is_list, lambda kind: pa.list_(_plain_field(kind.value_field))),
    (pa.types.is_large_list, lambda kind: pa.large_list(_plain_field(kind.value_field))),
    (
        pa.types.is_fixed_size_list,
        lambda kind: pa.list_(_plain_field(kind.value_field), kind.list_size),
    ),
    (pa.types.is_struct, _plain_struct),
    (pa.types.is_map, _plain_map),
)
