"""Values of partition columns as Spark casts them; `tests/spark` compares them with Spark's own."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from fsspec_commit.engines.partition_writer.value_texts import (
    _SHORT_ZONES,
    check_partition_type,
    texts_of,
)
from fsspec_commit.errors import RequestError

NEW_YORK = pa.timestamp("us", "America/New_York")


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ("a b", pa.string(), "a b"),
        (None, pa.string(), None),
        (-5, pa.int8(), "-5"),
        (True, pa.bool_(), "true"),
        (b"abc", pa.binary(), "abc"),
        (Decimal("1E-10"), pa.decimal128(20, 10), "0.0000000001"),
        (1.0, pa.float64(), "1.0"),
        (0.1, pa.float64(), "0.1"),
        (1e7, pa.float64(), "1.0E7"),
        (9_999_999.0, pa.float64(), "9999999.0"),
        (123_456.789, pa.float64(), "123456.789"),
        (1e-3, pa.float64(), "0.001"),
        (1.25e-4, pa.float64(), "1.25E-4"),
        (-0.0, pa.float64(), "-0.0"),
        (float("nan"), pa.float64(), "NaN"),
        (float("-inf"), pa.float64(), "-Infinity"),
        (0.1, pa.float32(), "0.1"),
        (16_777_216.0, pa.float32(), "1.6777216E7"),
        (dt.date(2026, 11, 20), pa.date32(), "2026-11-20"),
        (3_671_052, pa.date32(), "+12020-12-31"),
        (-735_160, pa.date32(), "-0043-03-15"),
        (-719_528, pa.date32(), "0000-01-01"),
        (1_000_000, pa.timestamp("us"), "1970-01-01 00:00:01"),
        (120_000, pa.timestamp("us"), "1970-01-01 00:00:00.12"),
        (120_000, NEW_YORK, "1969-12-31 19:00:00.12"),
        (120_000, pa.timestamp("us", "+05:30"), "1970-01-01 05:30:00.12"),
        (0, pa.timestamp("us", "GMT-3"), "1969-12-31 21:00:00"),
        (0, pa.timestamp("us", "Z"), "1970-01-01 00:00:00"),
        (0, pa.timestamp("us", "UT"), "1970-01-01 00:00:00"),
        (0, pa.timestamp("us", "PST"), "1969-12-31 16:00:00"),
        (0, pa.timestamp("us", "EST"), "1969-12-31 19:00:00"),
        (317_200_000_000_000_000, pa.timestamp("us"), "+12021-09-01 07:06:40"),
    ],
)
def test_texts(value: Any, kind: pa.DataType, text: str | None) -> None:
    if pa.types.is_date32(kind) and isinstance(value, int):
        values = pa.array([value], pa.int32()).cast(kind)
    elif pa.types.is_timestamp(kind) and isinstance(value, int):
        values = pa.array([value], pa.int64()).cast(kind)
    else:
        values = pa.array([value], kind)
    assert texts_of(values) == [text]


def test_bytes_that_are_no_text_name_no_directory() -> None:
    with pytest.raises(RequestError, match="no UTF-8"):
        texts_of(pa.array([b"\xff"]))


def test_a_time_zone_that_is_not_known_here() -> None:
    with pytest.raises(RequestError, match="Mars/Phobos") as caught:
        texts_of(pa.array([0], pa.timestamp("us", "Mars/Phobos")))
    assert caught.value.kind == "missing_package"


@pytest.mark.parametrize("kind", [pa.list_(pa.int8()), pa.duration("us"), pa.null()])
def test_types_that_name_no_directory(kind: pa.DataType) -> None:
    with pytest.raises(RequestError, match="cannot partition by 'x'"):
        check_partition_type("x", kind)


def test_each_short_name_is_that_of_a_zone() -> None:
    for name in _SHORT_ZONES:
        assert texts_of(pa.array([0], pa.timestamp("us", name)))
