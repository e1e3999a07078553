"""Real jobs by Hadoop's own committers, each bound by the settings that are given for its store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.scenes.remotes import on
from tests.spark.commits import (
    FORMATS,
    count_of,
    data_files,
    rows,
    settings,
    success_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.spark.places import SparkPlace

SLOW = ("parquet", "csv", "orc")
PATH_PROTOCOL = "org.apache.spark.internal.io.cloud.PathOutputCommitProtocol"
MANIFEST = "org.apache.hadoop.mapreduce.lib.output.committer.manifest.ManifestCommitter"
# By scheme: what is said before, and what `_SUCCESS` says of who wrote it; that of v1 is empty.
COMMITTERS = {
    "s3a": ("magic", "magic"),
    "abfs": ("manifest", MANIFEST),
    "gs": ("manifest", MANIFEST),
    "hdfs": ("v1", None),
}


@on("versitygw", "gen2", by_night=("ministack", "seaweedfs", "strict-gcs", "hdfs"))
def test_each_store_gets_its_committer_in_every_format(
    spark: SparkSession, spark_place: SparkPlace, tmp_path: Path
) -> None:
    expected, written_by = COMMITTERS[spark_place.url.partition(":")[0]]
    local = f"file://{tmp_path}/out"
    with settings(spark, fc.spark.committer_conf(spark_place.url, local)):
        for file_format in FORMATS:
            url = f"{spark_place.url}/{file_format}"
            report = fc.spark.check(spark, url)
            assert (report.committer, report.problems) == (expected, ())
            rows(spark, 20, 2).write.format(file_format).partitionBy("part").save(url)
            assert count_of(spark, url, file_format) == 20
            success = success_of(spark, url)
            assert (success and success["committer"]) == written_by
            if success is not None:
                assert len(success["filenames"]) == len(data_files(spark, url)) == 4
        # The same session, on disks: the protocol is for all stores, the committer is not.
        rows(spark).write.json(local)
        assert (fc.spark.check(spark, local).committer, success_of(spark, local)) == ("v1", None)


@pytest.mark.parametrize(
    "file_format", ["json", *(pytest.param(one, marks=pytest.mark.slow) for one in SLOW)]
)
def test_disks_have_spark_s_own_protocol_and_version_1(
    spark: SparkSession, tmp_path: Path, file_format: str
) -> None:
    url = f"file://{tmp_path}/out"
    v2 = {"mapreduce.fileoutputcommitter.algorithm.version": "2"}
    conf = fc.spark.committer_conf("file:/anywhere", "hdfs://cluster/path")
    with settings(spark, v2), settings(spark, conf):
        rows(spark, 30, 3).write.format(file_format).partitionBy("part").save(url)
        rows(spark, 10, 2).write.format(file_format).mode("overwrite").option(
            "partitionOverwriteMode", "dynamic"
        ).partitionBy("part").save(url)
        report = fc.spark.check(spark, url)
    assert count_of(spark, url, file_format) == 10 + 10
    assert (report.committer, report.safe, success_of(spark, url)) == ("v1", True, None)


def test_single_partitions_of_disks_are_overwritten_beside_other_stores(
    spark: SparkSession, spark_jars: str, tmp_path: Path
) -> None:
    """By the module of 4.1.2; SPARK-56588 says of earlier ones that they append."""
    url = f"file://{tmp_path}/out"
    with settings(spark, fc.spark.committer_conf("s3a://bucket", url)):
        assert spark.conf.get("spark.sql.sources.commitProtocolClass") == PATH_PROTOCOL
        for file_format in ("parquet", "json"):
            out = f"{url}/{file_format}"
            rows(spark, 30, 3).write.format(file_format).partitionBy("part").save(out)
            rows(spark, 10, 2).write.format(file_format).mode("overwrite").option(
                "partitionOverwriteMode", "dynamic"
            ).partitionBy("part").save(out)
            assert count_of(spark, out, file_format) == 10 + 10
