"""The writes without the jar on every store, by the same steps on each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fsspec_commit as fc
from tests.scenes.remotes import on
from tests.spark.frames import rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.scenes.remotes import Remote


@on(
    *("ministack", "versitygw", "strict-gcs", "gen2", "hdfs"),
    by_night=("seaweedfs", "azurite", "webhdfs"),
)
def test_append_overwrite_and_partitions(spark: SparkSession, remote: Remote) -> None:
    place = remote.place()

    def write(df: DataFrame, mode: fc.Mode) -> fc.CommitResult:
        # With secrets: the executors of these tests have none of their own.
        return fc.spark.write(
            df,
            place.url,
            mode=mode,
            partition_by="p",
            storage_options=place.how["storage_options"],
            share_secrets=True,
        )

    def rows(begin: int, end: int) -> DataFrame:
        return spark.range(begin, end, numPartitions=2).selectExpr("id", "id % 2 AS p")

    write(rows(0, 4), "append")
    assert write(rows(4, 6), "append").committer == remote.committer
    assert rows_of(place.data()) == [(f"p={n % 2}", n) for n in (0, 2, 4, 1, 3, 5)]
    write(rows(10, 14), "overwrite")
    assert rows_of(place.data()) == [("p=0", 10), ("p=0", 12), ("p=1", 11), ("p=1", 13)]
    write(rows(20, 23).where("p = 0"), "overwrite_partitions")
    assert rows_of(place.data()) == [("p=0", 20), ("p=0", 22), ("p=1", 11), ("p=1", 13)]
    assert place.pending() == []
