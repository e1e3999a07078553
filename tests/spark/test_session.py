"""The Spark that the tests start is the one that the package is made for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_session_runs_tasks_in_python(spark: SparkSession) -> None:
    assert spark.version.startswith("4.")
    frame = spark.range(10).repartition(2)
    rows = frame.mapInArrow(lambda batches: batches, frame.schema).collect()
    assert sorted(row.id for row in rows) == list(range(10))
