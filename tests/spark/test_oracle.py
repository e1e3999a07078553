"""Any rows, written in any order of modes, are read back as after Spark's own writer."""

from __future__ import annotations

import datetime as dt
import shutil
from decimal import Decimal
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fsspec_commit as fc
from tests.spark.frames import WAYS, write

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    Column = tuple[str, st.SearchStrategy[Any]]
    Steps = list[tuple[fc.Mode, list[tuple[Any, ...]]]]

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
EARLIEST = dt.datetime(1900, 1, 2)  # noqa: DTZ001  # a local time
LATEST = dt.datetime(2200, 1, 1)  # noqa: DTZ001
SIMPLE: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "tinyint": st.integers(-(2**7), 2**7 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32),
    "double": st.floats(),
    "string": TEXTS,
    "binary": st.binary(max_size=5),
    "date": st.dates(),
    "timestamp": st.datetimes(EARLIEST, LATEST),
    "timestamp_ntz": st.datetimes(),
    "decimal(7,2)": st.integers(-(10**7) + 1, 10**7 - 1).map(lambda n: Decimal(n).scaleb(-2)),
    "decimal(38,18)": st.integers(-(10**30), 10**30).map(lambda n: Decimal(n).scaleb(-18)),
    "interval day to second": st.timedeltas(dt.timedelta(-10_000), dt.timedelta(10_000)),
}
# What is folded alike, or spelled in two ways, is refused here, and a mixture with Spark's writer.
PARTITIONS: dict[str, st.SearchStrategy[Any]] = {
    "string": st.sampled_from(["a b", "ü", "x=y", "%41", "c:d", "e/f", "", " ", "1", "01"]),
    "int": st.integers(0, 3),
    "date": st.sampled_from([dt.date(2026, 1, 1), dt.date(1, 1, 1)]),
    "double": st.sampled_from([0.1, 1e7, 1e-4, -5.0]),
    "boolean": st.booleans(),
}


def columns() -> st.SearchStrategy[Column]:
    """A type, and its values, some of which are missing."""
    plain = st.sampled_from(sorted(SIMPLE)).map(lambda name: (name, SIMPLE[name]))
    nested = st.recursive(
        plain,
        lambda inner: st.one_of(
            inner.map(
                lambda of: (f"array<{of[0]}>", st.lists(st.none() | of[1], max_size=3)),
            ),
            inner.map(
                lambda of: (
                    f"map<string,{of[0]}>",
                    st.dictionaries(TEXTS, st.none() | of[1], max_size=2),
                ),
            ),
            st.tuples(inner, inner).map(
                lambda two: (
                    f"struct<a:{two[0][0]},b:{two[1][0]}>",
                    st.tuples(*(st.none() | of[1] for of in two)),
                ),
            ),
        ),
        max_leaves=3,
    )
    return nested.map(lambda of: (of[0], st.none() | of[1]))


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, list[str], Steps]:
    """A schema, the columns to partition by, and what is written in turn, in which mode."""
    data = draw(st.lists(columns(), min_size=1, max_size=3))
    kinds = draw(st.lists(st.sampled_from(sorted(PARTITIONS)), max_size=2))
    parts: list[Column] = [(kind, st.none() | PARTITIONS[kind]) for kind in kinds]
    named = {f"c{n}": column for n, column in enumerate(data)}
    partition_by = [f"p{n}" for n in range(len(parts))]
    named.update(zip(partition_by, parts, strict=True))
    schema = ", ".join(f"{name} {kind}" for name, (kind, _) in named.items())
    row = st.tuples(*(values for _, values in named.values()))
    modes: list[fc.Mode] = ["append", "overwrite"]
    if partition_by:
        modes.append("overwrite_partitions")
    step = st.tuples(st.sampled_from(modes), st.lists(row, min_size=1, max_size=8))
    return schema, partition_by, draw(st.lists(step, min_size=1, max_size=3))


def by_spark(df: DataFrame, place: Path, mode: str, partition_by: list[str]) -> None:
    writer = df.write.mode("append" if mode == "append" else "overwrite")
    dynamic = "dynamic" if mode == "overwrite_partitions" else "static"
    writer.option("partitionOverwriteMode", dynamic).partitionBy(*partition_by).parquet(str(place))


def found(spark: SparkSession, place: Path) -> tuple[list[str], list[str]]:
    """The directories that hold rows, and the rows."""
    files = (path.relative_to(place) for path in place.rglob("*.parquet"))
    directories = {str(path.parent) for path in files}
    frame = spark.read.parquet(str(place))
    return sorted(directories), sorted(str([frame.dtypes, *row]) for row in frame.collect())


NUMBERS = count()


def check(spark: SparkSession, place: Path, way: str, case: tuple[str, list[str], Steps]) -> None:
    schema, partition_by, steps = case
    place /= str(next(NUMBERS))
    for mode, rows in steps:
        frame = spark.createDataFrame(rows, schema)
        how: dict[str, Any] = {"partition_by": partition_by} if partition_by else {}
        write(way, frame, place / "ours", mode=mode, **how)
        by_spark(frame, place / "spark", mode, partition_by)
    assert found(spark, place / "ours") == found(spark, place / "spark")
    shutil.rmtree(place)


SESSION_ONLY = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=3, suppress_health_check=SESSION_ONLY)
@given(case=cases())
def test_rows_come_back(
    spark: SparkSession, tmp_path: Path, way: str, case: tuple[str, list[str], Steps]
) -> None:
    fc.spark.register(spark)
    check(spark, tmp_path, way, case)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=60, suppress_health_check=SESSION_ONLY)
@given(case=cases())
def test_many_rows_come_back(
    spark: SparkSession, tmp_path: Path, way: str, case: tuple[str, list[str], Steps]
) -> None:
    """Worth its minutes: no list of types and values is as odd as what is drawn here."""
    fc.spark.register(spark)
    check(spark, tmp_path, way, case)
