"""Hadoop's drivers, in Spark, reach the servers of the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.scenes.remotes import on

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.places import SparkPlace


@on("versitygw", "gen2", by_night=("ministack", "seaweedfs", "strict-gcs", "hdfs"))
def test_rows_come_back_from_each_store(spark: SparkSession, spark_place: SparkPlace) -> None:
    spark.range(10).write.parquet(spark_place.url)
    assert sorted(row.id for row in spark.read.parquet(spark_place.url).collect()) == [*range(10)]
