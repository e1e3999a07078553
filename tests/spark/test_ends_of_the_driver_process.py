"""The driver process of a JVM ends, at any of its calls to a store: another one carries on."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.spark.driver_faults import DriverFaults, End

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.spark.driver_faults import When

CALLS_MAX = 200


def rows(spark: SparkSession, out: Path) -> list[int]:
    return sorted(row.id for row in spark.read.parquet(str(out)).collect())


def overwrite(spark: SparkSession, out: Path) -> None:
    """Two tasks, one file each, over two old files."""
    spark.range(10, 14).repartition(2).write.mode("overwrite").parquet(str(out))


def assert_settled(out: Path) -> None:
    """Nothing is under way; a job whose start was not answered may stand, and does nothing."""
    jobs = fc.jobs(str(out))
    assert [job.state for job in jobs] in ([], ["open"])
    for job in jobs:
        fc.abort(str(out), job.job_id)
    # An area that its driver had begun to remove.
    fc.clean(str(out), older_than=timedelta(0), dry_run=False)
    assert not list(out.rglob("*.pending"))


@pytest.mark.parametrize(
    ("when", "calls"),
    [
        ("before", range(2, CALLS_MAX, 8)),
        ("after", range(6, CALLS_MAX, 8)),
        pytest.param("before", range(1, CALLS_MAX), marks=pytest.mark.slow),
        pytest.param("after", range(1, CALLS_MAX), marks=pytest.mark.slow),
    ],
)
def test_a_job_commits_whenever_the_process_is_killed(
    committing: SparkSession,
    driver_faults: DriverFaults,
    tmp_path: Path,
    when: When,
    calls: range,
) -> None:
    for nth in calls:
        out = tmp_path / str(nth)
        committing.range(4).repartition(2).write.parquet(str(out))
        driver_faults.set(End(nth, when))
        overwrite(committing, out)
        if driver_faults.withdraw():
            break
        assert rows(committing, out) == [10, 11, 12, 13], nth
        assert_settled(out)
    assert 15 < nth < CALLS_MAX - 10


@pytest.mark.slow
def test_a_job_is_aborted_whenever_the_process_is_killed(
    committing: SparkSession, driver_faults: DriverFaults, tmp_path: Path
) -> None:
    failing = "IF(id >= 0, raise_error('no such row'), id) AS id"
    for nth in range(1, CALLS_MAX):
        out = tmp_path / str(nth)
        committing.range(4).repartition(2).write.parquet(str(out))
        driver_faults.set(End(nth))
        with pytest.raises(Exception, match="no such row"):
            committing.range(2).selectExpr(failing).write.mode("overwrite").parquet(str(out))
        if driver_faults.withdraw():
            break
        assert rows(committing, out) == [0, 1, 2, 3], nth
        assert_settled(out)
    assert 3 < nth < CALLS_MAX - 1


def test_what_spark_fails_at_after_the_commit_takes_nothing_back(
    committing: SparkSession, tmp_path: Path
) -> None:
    """Spark then aborts the job, which says that it is committed."""
    out = tmp_path / "out"
    committing.range(4).write.parquet(str(out))
    jvm = committing.sparkContext._jvm
    assert jvm is not None
    protocol = jvm.io.github.fsspec_commit.spark.FsspecCommitProtocol("a", str(out))
    conf = committing.sparkContext._jsc.hadoopConfiguration()
    job = jvm.org.apache.hadoop.mapreduce.Job.getInstance(conf)
    protocol.setupJob(job)
    nothing = jvm.scala.jdk.javaapi.CollectionConverters.asScala(jvm.java.util.ArrayList())
    protocol.commitJob(job, nothing.toSeq())
    protocol.abortJob(job)
    assert rows(committing, out) == [0, 1, 2, 3]
    assert fc.jobs(str(out)) == []
