"""What `spark.read` gives back is what it gives back after Spark's own writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.spark.frames import WAYS, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

ZONE = "America/New_York"
MONTHS = {
    "months": "interval '-3' month",
    "years": "interval '7' year",
    "both": "interval '-1-2' year to month",
    "no_month": "cast(NULL AS interval month)",
}
COLUMNS = {
    "id": "1",
    "boolean": "true",
    "byte": "-1Y",
    "short": "2S",
    "long": "3L",
    "float": "1.5F",
    "double": "double('NaN')",
    "small_decimal": "cast(-1.5 AS decimal(5,2))",
    "large_decimal": "cast('12345678901234567890.5' AS decimal(38,10))",
    "text": "'ü'",
    "collated": "'x' COLLATE UNICODE_CI",
    "binary": "X'ff00'",
    "date": "date'2026-11-20'",
    "early_date": "date'0001-01-01'",
    "timestamp": "timestamp'2026-07-01 12:00:00.000001'",
    "early_timestamp": "timestamp'0001-01-01 00:00:00'",
    "local_timestamp": "timestamp_ntz'2026-11-20 12:00:00'",
    "days": "interval '1 02:03:04.5' day to second",
    "hours": "interval '5' hour",
    "variant": """parse_json('{"a": [1, "x", null]}')""",
    "no_variant": "cast(NULL AS variant)",
    "void": "NULL",
    "no_struct": "IF(true, NULL, named_struct('a', 1, 'b', named_struct('c', 'x')))",
    "no_structs": "map('a', NULL, 'b', array(named_struct('c', 1), NULL))",
    "nothing": "array()",
    "array": "array(timestamp'2026-07-01 12:00:00', NULL)",
    "map": "map('a', array(1, NULL), 'b', NULL)",
    "struct": "named_struct('a', NULL, 'b', interval '1' day, 'c', named_struct('d', 1.5BD))",
    "dots.and`ticks": "1",
}


@pytest.fixture(autouse=True)
def session(spark: SparkSession) -> Iterator[None]:
    """Of a time zone that has summers."""
    fc.spark.register(spark)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", ZONE)
    yield
    assert before is not None
    spark.conf.set("spark.sql.session.timeZone", before)


def selected(spark: SparkSession, columns: dict[str, str]) -> DataFrame:
    names = {name: f"`{name.replace('`', '``')}`" for name in columns}
    return spark.sql("SELECT " + ", ".join(f"{columns[name]} AS {names[name]}" for name in columns))


def read(spark: SparkSession, place: Path) -> tuple[str, list[str]]:
    """The schema with its metadata, and the rows as JSON."""
    found = spark.read.parquet(str(place))
    shown = (
        f"cast(`{one.replace('`', '``')}` AS string)"
        if kind.startswith("interval")
        else f"to_json(struct(`{one.replace('`', '``')}`))"
        for one, kind in found.dtypes
    )
    rows = found.selectExpr(*shown).collect()
    return found.schema.json(), sorted(str(tuple(row)) for row in rows)


@pytest.mark.parametrize("way", WAYS)
def test_every_type(spark: SparkSession, tmp_path: Path, way: str) -> None:
    # `write` alone can see to months: no option of a data source changes what Spark sends it.
    frame = selected(spark, COLUMNS if way == "data source" else {**COLUMNS, **MONTHS})
    frame = frame.withMetadata("id", {"comment": "a number"})
    write(way, frame, tmp_path / "ours")
    frame.write.parquet(str(tmp_path / "spark"))
    ours, theirs = (read(spark, tmp_path / one) for one in ("ours", "spark"))
    assert ours == theirs


def test_lengths_of_texts(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE lengths (a char(5), b varchar(7)) USING parquet")
    try:
        spark.sql("INSERT INTO lengths VALUES ('x', 'y')")
        fc.spark.write(spark.table("lengths"), str(tmp_path))
    finally:
        spark.sql("DROP TABLE lengths")
    schema, rows = read(spark, tmp_path)
    assert '"char(5)"' in schema
    assert rows == ["""('{"a":"x    "}', '{"b":"y"}')"""]


@pytest.mark.parametrize(
    ("way", "column", "message"),
    [
        ("write", "make_interval(1, 2)", "no file format of Spark holds"),
        ("write", "array(interval '1' month)", "cast it to a number of months"),
        ("write", "time'10:00:00'", "is not written from Python"),
        ("data source", "interval '1' month", "cast it to a number of months"),
    ],
)
def test_what_no_file_holds(
    spark: SparkSession, tmp_path: Path, way: str, column: str, message: str
) -> None:
    frame = selected(spark, {"id": "1", "x": column})
    with pytest.raises(Exception, match=message):
        write(way, frame, tmp_path / "out")
    assert not (tmp_path / "out").exists()


VALUES = {
    "text": ["'a b'", "''", "NULL", "'é:/x'", "'a=b'", "'%'", "'..'", "' '", "'x{y}[z]^'"],
    "odd text": [r"'\u0001\u007f\u0080'", r"'a\nb'", "'~|<>&;$'", "'#\"*?'", r"'\\\\'", "'\\''"],
    "number": ["1", "-5", "NULL"],
    "boolean": ["true", "false", "NULL"],
    "decimal": ["1.5BD", "cast(0 AS decimal(20,10))", "0.0000000001BD", "-0.5BD"],
    "double": [
        *("1.0D", "0.1D", "1e7D", "1.5e10D", "1e-3D", "1e-4D", "-0.0D", "0.0D", "123456.789D"),
        *("2e-3D", "1e21D", "double('NaN')", "double('-Infinity')", "4.9E-324D"),
    ],
    "float": ["0.1F", "float(1e7)", "float(1e-3)", "float(3.4028235e38)", "float(1.4E-45)"],
    "date": ["date'2026-01-01'", "date'0001-01-01'", "date'+12020-01-01'", "date'-0044-03-15'"],
    "timestamp": [
        *("timestamp'2026-07-01 10:00:00'", "timestamp'2026-01-01 10:00:00.120'"),
        *("timestamp'0001-01-01 00:00:00'", "timestamp'1850-06-01 00:00:00.000001'"),
        *("timestamp'9999-12-31 23:59:59.999999'", "timestamp'+12020-07-01 00:00:00'"),
        *("timestamp'-0044-03-15 00:00:00'", "NULL"),
    ],
    "local timestamp": [
        *("timestamp_ntz'2026-01-01 10:00:00'", "timestamp_ntz'2026-01-01 10:00:00.123456'"),
        "timestamp_ntz'+12020-01-01 00:00:00'",
    ],
    "binary": ["X'616263'", "NULL"],
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES.keys())
def test_directories_are_named_alike(
    spark: SparkSession, tmp_path: Path, values: list[str]
) -> None:
    frame = spark.sql(f"SELECT 1 AS id, explode(array({', '.join(values)})) AS `a value`")
    fc.spark.write(frame, str(tmp_path / "ours"), partition_by="a value")
    frame.write.partitionBy("a value").parquet(str(tmp_path / "spark"))
    ours, theirs = (
        {path.name for path in (tmp_path / one).iterdir() if path.name[0] not in "._"}
        for one in ("ours", "spark")
    )
    assert ours == theirs
