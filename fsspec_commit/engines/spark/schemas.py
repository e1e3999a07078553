"""Spark's schemas: as Arrow's, as text in the footer of a file, and what cannot be written at all.

They are read as Spark's JSON, which is the same for a classic and a Connect session.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fsspec_commit.engines.spark.missing import pyarrow
from fsspec_commit.errors import RequestError
from fsspec_commit.suggestions import value_hint

if TYPE_CHECKING:
    import pyarrow as pa

_DECIMAL = re.compile(r"decimal\((\d+), ?(-?\d+)\)")
_DAY_TIME = re.compile(r"interval (?:day|hour|minute|second)(?: to (?:hour|minute|second))?")
_YEAR_MONTH = re.compile(r"interval (?:year|month)(?: to month)?")
_TEXT = re.compile(r"string(?: collate .+)?|(?:char|varchar)\(\d+\)")
_ONE: dict[str, tuple[Any, ...]] = {
    "boolean": ("bool_",),
    "byte": ("int8",),
    "short": ("int16",),
    "integer": ("int32",),
    "long": ("int64",),
    "float": ("float32",),
    "double": ("float64",),
    "decimal": ("decimal128", 10, 0),
    "binary": ("binary",),
    "date": ("date32",),
    "timestamp": ("timestamp", "us", "UTC"),
    "timestamp_ntz": ("timestamp", "us"),
    "void": ("null",),
}


def is_year_month(kind: object) -> bool:
    """Whether *kind*, a type in Spark's JSON, is an interval of months."""
    return isinstance(kind, str) and _YEAR_MONTH.fullmatch(kind) is not None


def refuse_months(schema: dict[str, Any], partition_by: Sequence[str]) -> None:
    """Refuse to make directories of intervals of months, which are numbers when they get here.

    Raises:
        RequestError: Such a column is one of *partition_by*.
    """
    for one in schema["fields"]:
        if one["name"] in partition_by and is_year_month(one["type"]):
            message = (
                f"cannot partition by {one['name']!r}: no directory is named by a value of type "
                f"{one['type']!r}; cast the column to a string"
            )
            raise RequestError(message, kind="invalid_option")


def arrow_schema(schema: dict[str, Any]) -> "pa.Schema":
    """The Arrow schema of the batches that Spark makes of rows of *schema*, Spark's JSON.

    Raises:
        RequestError: There is no column, or one has a type that Arrow or Parquet cannot carry, or
            the name of another.
    """
    if not schema["fields"]:
        message = "the frame has no columns, and files of none would hold no rows: select one"
        raise RequestError(message, kind="unsupported_type")
    _refuse_doubles(schema)
    pa = pyarrow()
    return pa.schema([_field(one, one["name"]) for one in schema["fields"]])


def footer(schema: dict[str, Any], partition_by: Sequence[str], version: str) -> dict[str, str]:
    """What Spark's own writer puts into the footer of a file, and its reader takes types from."""
    import json

    fields = [one for one in schema["fields"] if one["name"] not in partition_by]
    # As Spark writes it, without blanks.
    text = json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"))
    return {
        "org.apache.spark.version": version,
        "org.apache.spark.sql.parquet.row.metadata": text,
    }


def check_partition_by(schema: "pa.Schema", names: Sequence[str]) -> None:
    """Refuse columns that cannot become directories.

    Raises:
        RequestError: There is no such column, or none would be left, or no directory is named by
            its values.
    """
    from fsspec_commit.engines.partition_writer.value_texts import check_partition_type

    if len(set(names)) != len(names):
        raise RequestError(f"partition_by={names!r} names a column twice", kind="invalid_option")
    for name in names:
        if name not in schema.names:
            there = ", ".join(map(repr, schema.names)) or "none at all"
            hint = value_hint("partition_by", name, schema.names)
            message = f"cannot partition by {name!r}: the columns of the frame are {there}{hint}"
            raise RequestError(message, kind="unknown_column")
        check_partition_type(name, schema.field(name).type)
    if names and len(names) == len(schema.names):
        message = (
            "cannot partition by every column: files of no columns would hold no rows; leave one "
            "out, or add a column"
        )
        raise RequestError(message, kind="invalid_option")


def _refuse_doubles(schema: dict[str, Any]) -> None:
    names = [one["name"] for one in schema["fields"]]
    for name in names:
        if names.count(name) > 1:
            message = f"there are {names.count(name)} columns {name!r}: rename all but one"
            raise RequestError(message, kind="duplicate_column")


def _field(field: dict[str, Any], path: str) -> "pa.Field":
    return _nullable(field["name"], _type(field["type"], path), nullable=field["nullable"])


def _nullable(name: str, kind: "pa.DataType", *, nullable: bool) -> "pa.Field":
    pa = pyarrow()
    # Spark types `array()` as voids that are never null; Arrow's null type is always nullable.
    return pa.field(name, kind, nullable=nullable or pa.types.is_null(kind))


def _type(kind: Any, path: str) -> "pa.DataType":
    return _of_text(kind, path) if isinstance(kind, str) else _nested(kind, path)


def _of_text(kind: str, path: str) -> "pa.DataType":
    pa = pyarrow()
    if kind in _ONE:
        maker, *arguments = _ONE[kind]
        return getattr(pa, maker)(*arguments)
    if found := _DECIMAL.fullmatch(kind):
        return pa.decimal128(int(found[1]), int(found[2]))
    if _TEXT.fullmatch(kind):
        return pa.string()
    if _DAY_TIME.fullmatch(kind):
        return pa.duration("us")
    if kind == "variant":
        parts = ("value", "metadata")
        return pa.struct([pa.field(one, pa.binary(), nullable=False) for one in parts])
    raise _refused(kind, path)


def _nested(kind: dict[str, Any], path: str) -> "pa.DataType":
    pa = pyarrow()
    which = kind["type"]
    if which == "struct":
        if not kind["fields"]:
            raise _refused("struct<>", path)
        _refuse_doubles(kind)
        return pa.struct([_field(one, f"{path}.{one['name']}") for one in kind["fields"]])
    if which == "array":
        element = _type(kind["elementType"], f"{path}[]")
        return pa.list_(_nullable("element", element, nullable=kind["containsNull"]))
    if which == "map":
        key = _type(kind["keyType"], f"{path}.key")
        if pa.types.is_null(key):
            raise _refused("map of void", path)
        value = _type(kind["valueType"], f"{path}.value")
        return pa.map_(
            pa.field("key", key, nullable=False),
            _nullable("value", value, nullable=kind["valueContainsNull"]),
        )
    if which == "udt" and "sqlType" in kind:
        return _type(kind["sqlType"], path)
    raise _refused(str(which), path)


def _refused(kind: str, path: str) -> RequestError:
    message = f"cannot write column {path!r}: "
    if is_year_month(kind):
        message += (
            f"PySpark does not carry the type {kind!r} to Python; cast it to a number of months; "
            "fc.spark.write does so by itself for a column, though for no field of a nested one"
        )
    elif kind == "struct<>":
        message += "no Parquet file holds a struct without fields; drop it"
    elif kind == "interval":
        message += "no file format of Spark holds the type 'interval'; cast it to a string"
    else:
        message += (
            f"the type {kind!r} is not written from Python; cast it, or write the frame with "
            "Spark's own writer and fc.spark.configure"
        )
    return RequestError(message, kind="unsupported_type")
