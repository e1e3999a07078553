"""Values that nobody sees: those of fields that are never null, in structs that are null.

Engines leave these null as well. Arrow, which looks at such a field alone, then writes no file.
"""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds


def has_required(kind: pa.DataType) -> bool:
    """Whether a value of this type holds a struct with a field that is never null."""
    if kinds.is_struct(kind):
        fields = [kind.field(number) for number in range(kind.num_fields)]
        return any(not one.nullable or has_required(one.type) for one in fields)
    if kinds.is_map(kind):
        return has_required(kind.key_type) or has_required(kind.item_type)
    return kinds.is_list(kind) and has_required(kind.value_type)


def with_unseen(values: pa.Array) -> pa.Array:
    """*values* with some value in every field that is never null, where its struct is null.

    A null in such a field of a struct that is not null stays: Arrow refuses it, as it should.
    """
    if not has_required(values.type):
        return values
    if kinds.is_struct(values.type):
        is_null = values.is_null()
        return _of_fields(values, unseen=is_null, mask=is_null)
    return _of_lists(values, values.buffers()[0])


def _of_fields(values: pa.Array, *, unseen: pa.Array, mask: pa.Array | None) -> pa.Array:
    kind = values.type
    fields = [kind.field(number) for number in range(kind.num_fields)]
    parts = [_field(values.field(n), one, unseen) for n, one in enumerate(fields)]
    return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)


def _field(values: pa.Array, field: pa.Field, unseen: pa.Array) -> pa.Array:
    is_null = values.is_null()
    is_wrong = not field.nullable and pc.any(pc.and_not(is_null, unseen)).as_py()
    stays = field.nullable or is_wrong
    if kinds.is_struct(values.type):
        mask = is_null if stays else None
        return _of_fields(values, unseen=pc.or_(unseen, is_null), mask=mask)
    if stays or not values.null_count:
        return with_unseen(values)
    # Whatever the other buffers hold where a value is null will do.
    if kinds.is_list(values.type) or kinds.is_map(values.type):
        return _of_lists(values, None)
    buffers = [None, *values.buffers()[1:]]
    return pa.Array.from_buffers(values.type, len(values), buffers, 0, values.offset)


def _of_lists(values: pa.Array, valid: pa.Buffer | None) -> pa.Array:
    kind = values.type
    if kinds.is_map(kind):
        parts = [with_unseen(values.keys), with_unseen(values.items)]
        inner = pa.StructArray.from_arrays(parts, fields=[kind.key_field, kind.item_field])
    else:
        inner = with_unseen(values.values)
    buffers = [valid, values.buffers()[1]]
    nulls = 0 if valid is None else values.null_count
    return pa.Array.from_buffers(kind, len(values), buffers, nulls, values.offset, [inner])
