"""One schema for many files: what any of them has, in a type that holds all of its values.

Values are widened and never rounded: a cast that would lose something fails when it is made. What
was guessed from text may be text again.
"""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa


def merged(schemas: Iterable[Any], *, text: bool) -> Any:
    """Bring schemas together, the first one's metadata kept.

    Args:
        schemas: What is brought together.
        text: All were guessed from text: a column whose first values look like times may go on
            with words.

    Raises:
        pa.ArrowException: Two have a column of one name and of kinds that do not go together.
    """
    together: Any = None
    for schema in schemas:
        if together is None:
            together = schema
        elif not together.equals(schema):
            both = _merged_type(pa.struct(list(together)), pa.struct(list(schema)), text=text)
            together = pa.schema(list(both), metadata=together.metadata)
    return pa.schema([]) if together is None else together


def _merged_type(one: Any, other: Any, *, text: bool) -> Any:
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        fields = {field.name: field for field in one}
        for field in other:
            known = fields.get(field.name)
            fields[field.name] = field if known is None else _merged_field(known, field, text=text)
        # A field that one of them lacks is null there, whatever the other says.
        return pa.struct([field.with_nullable(True) for field in fields.values()])
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(_merged_type(one.value_type, other.value_type, text=text))
    if text and {_kind(one), _kind(other)} == {"string", "timestamp"}:
        return pa.string()
    both = [pa.schema([("value", kind)]) for kind in (one, other)]
    return pa.unify_schemas(both, promote_options="permissive").field("value").type


def _merged_field(one: Any, other: Any, *, text: bool) -> Any:
    try:
        return pa.field(one.name, _merged_type(one.type, other.type, text=text))
    except pa.ArrowException as error:
        raise pa.ArrowTypeError(
            f"column {one.name!r} is {one.type} there and {other.type} here"
        ) from error


def _kind(kind: Any) -> str:
    return "timestamp" if pa.types.is_timestamp(kind) else str(kind)
