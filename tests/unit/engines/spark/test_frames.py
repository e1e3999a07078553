"""What a write without the jar refuses before a session is asked, and what its tasks are told."""

from __future__ import annotations

from typing import Any

import pytest

import fsspec_commit as fc
from fsspec_commit.engines.spark.schemas import arrow_schema
from fsspec_commit.store.open_storage_options import open_part


def struct(**fields: object) -> dict[str, Any]:
    return {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in fields.items()
        ],
    }


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (struct(), "has no columns"),
        (struct(id="long", s=struct()), "column 's': no Parquet file holds a struct without"),
        (struct(a=struct(b=struct())), r"column 'a\.b'"),
    ],
)
def test_what_has_no_columns_would_lose_its_rows(schema: dict[str, Any], message: str) -> None:
    with pytest.raises(fc.RequestError, match=message) as caught:
        arrow_schema(schema)
    assert caught.value.kind == "unsupported_type"


def test_an_array_of_nothing_is_one_of_voids() -> None:
    array = {"type": "array", "elementType": "void", "containsNull": False}
    values = {"type": "map", "keyType": "string", "valueType": "void", "valueContainsNull": False}
    schema = arrow_schema(struct(a=array, b=values))
    assert schema.field("a").type.value_field.nullable
    assert schema.field("b").type.item_field.nullable
    with pytest.raises(fc.RequestError, match="column 'x': the type 'map of void'"):
        arrow_schema(struct(x={**values, "keyType": "void"}))


def test_tasks_are_told_where_a_store_is_and_no_secret() -> None:
    options = {
        "key": "hidden",
        "secret": "hidden",
        "endpoint_url": "https://store.example",
        "client_kwargs": {"region_name": "eu", "aws_session_token": "hidden"},
    }
    told = {"endpoint_url": "https://store.example", "client_kwargs": {"region_name": "eu"}}
    assert open_part(options) == told
