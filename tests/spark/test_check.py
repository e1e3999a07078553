"""What `check` warns of happens, and what it calls safe does not: on real jobs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.scenes.remotes import on
from tests.servers.faults import AnswerInstead, Rule
from tests.spark.commits import (
    count_of,
    data_files,
    failing_rows,
    names_at,
    rows,
    settings,
    success_of,
)
from tests.spark.places import close_filesystem, hadoop_settings, place_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.scenes.remotes import Remote
    from tests.servers.proxy import FaultProxy
    from tests.spark.places import SparkPlace

PROTOCOL = "spark.sql.sources.commitProtocolClass"
PATH_PROTOCOL = "org.apache.spark.internal.io.cloud.PathOutputCommitProtocol"
DYNAMIC = {"spark.sql.sources.partitionOverwriteMode": "dynamic"}
ALGORITHM = "mapreduce.fileoutputcommitter.algorithm.version"
FACTORY = "mapreduce.outputcommitter.factory.scheme."
MAGIC = "fs.s3a.committer.magic.enabled"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"file://{tmp_path}/out"


@pytest.fixture
def check(spark: SparkSession, spark_jars: str) -> Callable[..., fc.spark.CheckReport]:
    def checked(url: str, **named: str) -> fc.spark.CheckReport:
        with settings(spark, {name.replace("__", "."): value for name, value in named.items()}):
            return fc.spark.check(spark, url)

    return checked


def problem_of(report: fc.spark.CheckReport) -> str:
    """The only one."""
    assert not report.safe
    [problem] = report.problems
    assert problem in str(report)
    return problem


def test_a_disk_by_spark_s_default_is_safe(spark: SparkSession, url: str) -> None:
    report = fc.spark.check(spark, url)
    assert (report.committer, report.safe) == ("v1", True)
    assert any("deletes the old rows" in limit for limit in report.limits)
    assert "no problem found" in str(report)
    assert names_at(spark, url) == []  # nothing was written
    with pytest.raises(Exception, match="the task fails"):
        failing_rows(spark).write.json(url)
    assert names_at(spark, url) == []


def test_algorithm_2_leaves_the_files_of_a_job_that_failed(spark: SparkSession, url: str) -> None:
    with settings(spark, {ALGORITHM: "2"}):
        report = fc.spark.check(spark, url)
        with pytest.raises(Exception, match="the task fails"):
            failing_rows(spark).write.json(url)
    assert report.committer == "v2"
    assert f"set {ALGORITHM}=1" in problem_of(report)
    assert count_of(spark, url, "json") in {10, 20}


@on("gen2")
def test_by_default_abfs_is_written_straight_to_the_destination(
    spark: SparkSession, spark_place: SparkPlace
) -> None:
    """Not one setting about committers: they are Hadoop 3.4's defaults, which Spark 4 has."""
    url = spark_place.url
    report = fc.spark.check(spark, url)
    assert report.committer == "v1 for Parquet, none for other formats"
    # The same for who leaves to Hadoop where that is.
    with hadoop_settings(spark, {"fs.defaultFS": url.rpartition("/")[0]}):
        assert fc.spark.check(spark, "/out").problems == report.problems
    direct, renamed = report.problems
    assert "written straight to the destination" in direct
    assert "one after the other" in renamed
    for file_format in ("csv", "orc"):
        # What the first attempt left, the second one meets: it hides what had failed.
        with pytest.raises(Exception, match="FileAlreadyExistsException"):
            failing_rows(spark).write.format(file_format).save(f"{url}/{file_format}")
        # The rows of tasks that had committed, and what the one that failed had written.
        assert count_of(spark, f"{url}/{file_format}", file_format) >= 10
    # The marker tells of none of them.
    rows(spark, 10).write.json(f"{url}/good")
    success = success_of(spark, f"{url}/good")
    assert success is not None
    assert success["filenames"] == []
    assert data_files(spark, f"{url}/good")
    # By the protocol that it names nothing is left.
    with settings(spark, fc.spark.committer_conf(url)):
        assert fc.spark.check(spark, url).safe
        with pytest.raises(Exception, match="the task fails"):
            failing_rows(spark).write.json(f"{url}/bound")
    assert data_files(spark, f"{url}/bound") == []


@on("gen2")
def test_manifest_appends_where_single_partitions_are_overwritten(
    spark: SparkSession, spark_place: SparkPlace
) -> None:
    """SPARK-56588, whose mend serves `FileOutputCommitter` alone."""
    url = spark_place.url
    with settings(spark, fc.spark.committer_conf(url)):
        static = fc.spark.check(spark, url)
        assert static.safe
        assert any("keeps the old rows" in limit for limit in static.limits)
        rows(spark, 200, 4).write.partitionBy("part").parquet(url)
        with settings(spark, DYNAMIC):
            assert "keeps the old rows" in problem_of(fc.spark.check(spark, url))
            rows(spark, 50, 2).write.mode("overwrite").partitionBy("part").parquet(url)
    # 150 would be right: 100 rows of partitions 2 and 3, and the new 50.
    assert count_of(spark, url, "parquet") == 250


@on("versitygw")
def test_magic_refuses_to_overwrite_single_partitions(
    spark: SparkSession, spark_place: SparkPlace
) -> None:
    url = spark_place.url
    with settings(spark, {**fc.spark.committer_conf(url), **DYNAMIC}):
        assert "every overwrite of a partitioned dataset is refused" in problem_of(
            fc.spark.check(spark, url)
        )
        with pytest.raises(Exception, match="does not support dynamicPartitionOverwrite"):
            rows(spark, 10).write.mode("overwrite").partitionBy("part").parquet(url)


@on("versitygw")
def test_a_rename_on_s3_that_breaks_off_leaves_a_part(
    spark: SparkSession, spark_jars: str, remote: Remote, proxy: FaultProxy
) -> None:
    place = place_of(remote, endpoint_url=proxy.endpoint_url)
    # A refusal of the second file of the job's commit, as a policy or a lost permission makes it.
    copied = Rule(AnswerInstead(403), operation="CopyObject", path="/out/part-00001", times=None)
    with hadoop_settings(spark, place.settings):
        report = fc.spark.check(spark, place.url)
        proxy.add(copied)
        with pytest.raises(Exception, match=r"(?s)403|AccessDenied"):
            rows(spark, 10).write.parquet(place.url)
        left = count_of(spark, place.url, "parquet")
        close_filesystem(spark, place.url)
    assert copied.met
    assert report.committer == "v1"
    assert "leaves a part" in problem_of(report)
    assert left == 5


@on("versitygw")
def test_magic_that_is_off_refuses_every_write(
    spark: SparkSession, remote: Remote, spark_jars: str
) -> None:
    place = place_of(remote)
    bucket = {f"fs.s3a.bucket.{remote.bucket.name}.committer.magic.enabled": "false"}
    for off in ({MAGIC: "false"}, bucket):
        with (
            hadoop_settings(spark, place.settings),
            settings(spark, {**fc.spark.committer_conf(place.url), **off}),
        ):
            assert f"set {MAGIC}=true" in problem_of(fc.spark.check(spark, place.url))
            with pytest.raises(Exception, match="not have support for 'magic'"):
                rows(spark, 10).write.json(place.url)
            close_filesystem(spark, place.url)


@on("versitygw")
def test_a_committer_that_s3a_does_not_know(spark: SparkSession, spark_place: SparkPlace) -> None:
    conf = {**fc.spark.committer_conf(spark_place.url), "fs.s3a.committer.name": "magik"}
    with settings(spark, conf):
        report = fc.spark.check(spark, spark_place.url)
        with pytest.raises(Exception, match="Unknown committer"):
            rows(spark, 10).write.json(spark_place.url)
    assert report.committer == "unknown"
    assert any("set fs.s3a.committer.name=magic" in problem for problem in report.problems)


def test_a_name_that_only_the_start_reads_does_nothing(spark: SparkSession, url: str) -> None:
    spark.conf.set(f"spark.hadoop.{ALGORITHM}", "2")
    try:
        report = fc.spark.check(spark, url)
        with pytest.raises(Exception, match="the task fails"):
            failing_rows(spark).write.json(url)
    finally:
        spark.conf.unset(f"spark.hadoop.{ALGORITHM}")
    assert report.committer == "v1"
    assert f"set {ALGORITHM}, without spark.hadoop." in problem_of(report)
    assert names_at(spark, url) == []  # as version 1 leaves it


def test_abfss_has_no_committer_of_its_own(check: Callable[..., fc.spark.CheckReport]) -> None:
    url = "abfss://container@account.dfs.core.windows.net/out"
    report = check(url)
    assert report.committer == "v1"
    assert "committer_conf('abfss:')" in problem_of(report)
    assert check(url, **fc.spark.committer_conf(url)).committer == "manifest"


def test_a_scheme_that_nothing_serves(check: Callable[..., fc.spark.CheckReport]) -> None:
    assert "a file system for oss: is not on the class path" in problem_of(
        check("oss://bucket/out")
    )


def test_a_driver_that_is_missing(check: Callable[..., fc.spark.CheckReport]) -> None:
    report = check("s3a://bucket/out", fs__s3a__impl="org.example.NoSuchFileSystem")
    assert report.committer == "unknown"
    said = problem_of(report)
    assert "NoSuchFileSystem is not on the class path: add org.apache.hadoop:hadoop-aws" in said


@pytest.mark.parametrize(
    "name", ["spark.comet.parquet.write.enabled", "spark.gluten.sql.native.writer.enabled"]
)
def test_native_writers(check: Callable[..., fc.spark.CheckReport], url: str, name: str) -> None:
    assert check(url, **{name: "false"}).safe
    assert f"set {name}=false" in problem_of(check(url, **{name: "true"}))


def test_secrets_are_not_repeated(spark: SparkSession) -> None:
    with pytest.raises(fc.RequestError) as refused:
        fc.spark.check(spark, "s3a://AKIAEXAMPLE:hunter2@bucket/out")
    assert "hunter2" not in str(refused.value)


def test_on_a_disk_ours_is_chosen_and_has_no_limits(committing: SparkSession, url: str) -> None:
    report = fc.spark.check(committing, url)
    assert (report.committer, report.problems, report.limits) == ("fsspec-commit, v1", (), ())
    assert names_at(committing, url) == []
    with settings(committing, DYNAMIC):
        assert fc.spark.check(committing, url).safe
    # The options of a job are the session's.
    with settings(committing, {"spark.fsspec_commit.committer": "manifest"}):
        assert fc.spark.check(committing, url).committer == "fsspec-commit, manifest"
    with settings(committing, {"spark.fsspec_commit.probes": "false"}):
        assert "did you mean 'probe'" in problem_of(fc.spark.check(committing, url))


@on("versitygw", "gen2", by_night=("strict-gcs", "hdfs"))
def test_on_a_store_ours_is_what_explain_chooses(
    committing: SparkSession, spark_place: SparkPlace
) -> None:
    remote = spark_place.remote
    report = fc.spark.check(committing, spark_place.url)
    chosen = fc.explain(remote.url, storage_options=dict(remote.options), probe=False).committer
    assert report.problems == ()
    if chosen is None:
        # Nothing declares what a server of the tests does.
        [limit] = report.limits
        assert "a job tries it out" in limit
        assert report.committer == "fsspec-commit"
    else:
        assert (report.committer, report.limits) == (f"fsspec-commit, {chosen}", ())
    assert names_at(committing, spark_place.url) == []


@on("versitygw")
def test_what_ours_refuses_is_refused(committing: SparkSession, spark_place: SparkPlace) -> None:
    named = "fs.s3a.committer.magic.track.commits.in.memory.enabled"
    for setting in ({MAGIC: "false"}, {named: "true"}):
        [name] = setting
        with settings(committing, setting):
            said = problem_of(fc.spark.check(committing, spark_place.url))
            assert re.search(rf"every write there is refused: .*{name} is .*; set it to", said)
            with pytest.raises(Exception, match=r"(?i)magic"):
                rows(committing, 10).write.json(spark_place.url)
    assert data_files(committing, spark_place.url) == []
    assert not fc.spark.check(committing, "oss://bucket/out").safe
