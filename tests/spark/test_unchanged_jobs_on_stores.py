"""Unchanged Spark jobs with the jar, on every store that Spark and this library both write to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.scenes.remotes import on

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.places import SparkPlace

STORES = on("versitygw", "gen2", by_night=("ministack", "seaweedfs", "strict-gcs", "hdfs"))


def ids(spark: SparkSession, url: str) -> list[int]:
    return sorted(row.id for row in spark.read.parquet(url).collect())


def assert_settled(place: SparkPlace) -> None:
    """Neither a job nor an upload is left."""
    remote = place.remote
    assert fc.jobs(remote.url, storage_options=dict(remote.options)) == []
    assert fc.hadoop_jobs(remote.url, storage_options=dict(remote.options)) == []


@STORES
def test_append_overwrite_and_partitions(committing: SparkSession, spark_place: SparkPlace) -> None:
    url = spark_place.url
    frame = committing.range(6).repartition(2).selectExpr("id", "id % 3 AS g")
    frame.write.partitionBy("g").parquet(url)
    frame.selectExpr("id + 10 AS id", "g").write.partitionBy("g").mode("append").parquet(url)
    assert ids(committing, url) == [*range(6), *range(10, 16)]
    some = committing.range(20, 22).selectExpr("id", "1 AS g")
    writer = some.write.partitionBy("g").mode("overwrite")
    writer.option("partitionOverwriteMode", "dynamic").parquet(url)
    assert ids(committing, url) == [0, 2, 3, 5, 10, 12, 13, 15, 20, 21]
    some.write.partitionBy("g").mode("overwrite").parquet(url)
    assert ids(committing, url) == [20, 21]
    assert_settled(spark_place)


@STORES
def test_a_write_that_fails_changes_nothing(
    committing: SparkSession, spark_place: SparkPlace
) -> None:
    url = spark_place.url
    committing.range(4).write.parquet(url)
    failing = committing.range(4).repartition(2)
    failing = failing.selectExpr("IF(id = 3, raise_error('no such row'), id) AS id")
    with pytest.raises(Exception, match="no such row"):
        failing.write.mode("overwrite").parquet(url)
    assert ids(committing, url) == [0, 1, 2, 3]
    assert_settled(spark_place)
