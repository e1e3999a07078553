"""The table of docs/spark.md: the same job by Spark's default, by Hadoop's committers and by ours.

Spark's default is `FileOutputCommitter` v1. Hadoop's manifest committer runs on disks here as it
does on abfs: and gs:, and its magic committer on an S3 server.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

import fsspec_commit as fc
from fsspec_commit.engines.spark.session import PROTOCOL_CLASS
from tests.scenes.remotes import on
from tests.servers.faults import AnswerInstead, Rule
from tests.servers.hadoop import on_s3
from tests.servers.kinds import KINDS
from tests.servers.plugin import S3Bucket, get_or_skip
from tests.spark.commits import count_of, data_files, failing_rows, rows, settings
from tests.spark.conftest import COMMIT_PROTOCOL
from tests.spark.places import close_filesystem, hadoop_settings, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from tests.scenes.remotes import Remote
    from tests.servers.proxy import FaultProxy

DYNAMIC = "partitionOverwriteMode"
OURS = {COMMIT_PROTOCOL: PROTOCOL_CLASS}
MANIFEST = {
    **fc.spark.committer_conf("gs://bound-on-disks-as-well"),
    "mapreduce.outputcommitter.factory.scheme.file": (
        "org.apache.hadoop.mapreduce.lib.output.committer.manifest.ManifestCommitterFactory"
    ),
}
_WAITED_S = 60


@dataclass(frozen=True)
class Way:
    """How a write is committed, and where to."""

    name: str
    spark: SparkSession
    url: str

    @property
    def count(self) -> int:
        return count_of(self.spark, self.url, "parquet")


@pytest.fixture(
    params=[
        "v1",
        "manifest",
        pytest.param("magic", marks=[pytest.mark.server, pytest.mark.slow]),
        "ours",
    ],
)
def way(
    request: pytest.FixtureRequest, spark: SparkSession, spark_jars: str, tmp_path: Path
) -> Iterator[Way]:
    if request.param == "magic":
        yield from _by_magic(request, spark)
        return
    if request.param == "ours":
        fc.spark.jar()
    bound = {"v1": {}, "manifest": MANIFEST, "ours": OURS}[request.param]
    with settings(spark, bound):
        yield Way(request.param, spark, f"file://{tmp_path}/out")


def _by_magic(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[Way]:
    request.getfixturevalue("s3_environment")
    server = get_or_skip(request.getfixturevalue("servers"), KINDS["versitygw"])
    bucket = S3Bucket(server, server.new_bucket())
    url = f"s3a://{bucket.name}/out"
    with (
        hadoop_settings(spark, on_s3.connection_of(bucket.storage_options)),
        settings(spark, fc.spark.committer_conf(url)),
    ):
        yield Way(request.param, spark, url)
        close_filesystem(spark, url)


def test_a_failed_append_leaves_nothing(way: Way) -> None:
    rows(way.spark, 10).write.parquet(way.url)
    with pytest.raises(Exception, match="the task fails"):
        failing_rows(way.spark).write.mode("append").parquet(way.url)
    assert way.count == 10


def test_a_failed_overwrite(way: Way) -> None:
    """Only ours keeps the old rows: the others delete them before the job runs."""
    rows(way.spark, 10).write.parquet(way.url)
    with pytest.raises(Exception, match="the task fails"):
        failing_rows(way.spark).write.mode("overwrite").parquet(way.url)
    left = way.count if data_files(way.spark, way.url) else 0
    assert left == (10 if way.name == "ours" else 0)


def test_a_task_that_fails_after_some_rows_and_is_run_again(way: Way) -> None:
    def fails_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        for number, batch in enumerate(batches):
            if number == 1 and task.attemptNumber() == 0:
                raise RuntimeError("the first attempt")
            yield batch

    with settings(way.spark, {"spark.sql.execution.arrow.maxRecordsPerBatch": "5"}):
        frame = rows(way.spark, 20)
        frame.mapInArrow(fails_once, frame.schema).write.parquet(way.url)
    assert way.count == 20


def test_single_partitions_are_overwritten(way: Way) -> None:
    """SPARK-56588 stands for Hadoop's manifest committer: old rows stay beside the new ones."""
    rows(way.spark, 30, 3).write.partitionBy("part").parquet(way.url)
    new = rows(way.spark, 4, 2).write.mode("overwrite").option(DYNAMIC, "dynamic")
    if way.name == "magic":
        with pytest.raises(Exception, match="does not support dynamicPartitionOverwrite"):
            new.partitionBy("part").parquet(way.url)
        expected = 30
    else:
        new.partitionBy("part").parquet(way.url)
        expected = 30 + 4 if way.name == "manifest" else 10 + 4
    assert way.count == expected


def test_two_jobs_append_to_one_destination_at_once(way: Way, tmp_path: Path) -> None:
    """One has committed a task when the other begins and commits; then it goes on.

    By v1 the other publishes that task, before its job commits. By manifest it removes the task:
    the job ends well, and rows are missing. By magic it aborts the task's uploads.
    """
    gate, began = tmp_path / "gate", tmp_path / "began"
    with ThreadPoolExecutor(1) as other:
        held = _held(way.spark, str(began), str(gate)).write.mode("append")
        first = other.submit(held.parquet, way.url)
        _wait_for(began)
        _wait_for_a_committed_task(way)
        try:
            rows(way.spark, 10, tasks=1).write.mode("append").parquet(way.url)
            between = way.count
        finally:
            gate.touch()
        error = first.exception(_WAITED_S)
    # Between, the rows of the other job, and those of the committed task of the one that goes on.
    assert (error is None, between, way.count) == {
        "v1": (True, 15, 20),
        "manifest": (True, 10, 15),
        "magic": (False, 10, 10),
        "ours": (True, 10, 20),
    }[way.name]


def _held(spark: SparkSession, began: str, gate: str) -> DataFrame:
    """Ten rows of two tasks, the second of which holds on until the gate is there."""

    def held(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pathlib import Path

        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        deadline = time.monotonic() + _WAITED_S
        for batch in batches:
            if task.partitionId() == 1:
                Path(began).touch()
                while not Path(gate).exists() and time.monotonic() < deadline:
                    time.sleep(0.01)
            yield batch

    frame = rows(spark, 10)
    return frame.mapInArrow(held, frame.schema)


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + _WAITED_S
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _wait_for_a_committed_task(way: Way) -> None:
    """Of the one stage that runs, which has two tasks."""
    tracker = way.spark.sparkContext.statusTracker()
    deadline = time.monotonic() + _WAITED_S
    while True:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        if any(stage is not None and stage.numCompletedTasks == 1 for stage in stages):
            return
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("committer", ["manifest", "ours"])
@on("gen2")
def test_a_commit_that_breaks_off_on_azure(
    spark: SparkSession, spark_jars: str, remote: Remote, proxy: FaultProxy, committer: str
) -> None:
    """The second file of the job cannot be renamed into place: ours is finished later."""
    place = place_of(remote, endpoint_url=proxy.endpoint_url)
    refused = Rule(AnswerInstead(403), operation="path.rename", path="/out/part-00001", times=None)
    bound = OURS if committer == "ours" else fc.spark.committer_conf(place.url)
    with hadoop_settings(spark, place.settings), settings(spark, bound):
        proxy.add(refused)
        with pytest.raises(Exception, match=r"403|fsspec-commit resume"):
            rows(spark, 10).write.parquet(place.url)
        proxy.clear()
        left = count_of(spark, place.url, "parquet")
        if committer == "ours":
            options = dict(remote.options)
            [job] = fc.jobs(remote.url, storage_options=options)
            fc.resume(remote.url, job.job_id, storage_options=options)
        settled = count_of(spark, place.url, "parquet")
        close_filesystem(spark, place.url)
    assert refused.met
    # Hadoop's threads stop at the first refusal, before or after the other file.
    assert left in ({5} if committer == "ours" else {0, 5})
    assert settled == (10 if committer == "ours" else left)


@pytest.mark.parametrize(
    ("failing", "kept"),
    [("the write", False), ("a shuffle", False), ("a shuffle of an adaptive plan", True)],
)
@pytest.mark.parametrize("committer", ["v1", "ours"])
def test_a_failed_insert_overwrite_of_a_table(
    spark: SparkSession, tmp_path: Path, committer: str, failing: str, kept: bool
) -> None:
    """SPARK-56919: Spark deletes a table's path before it runs the job that replaces its rows.

    Spark 4.3 runs the shuffles of an adaptive plan before that, and the rest after it.
    """
    place, name = tmp_path / "table", f"clicks_{committer}"
    hint = "/*+ REPARTITION(2) */" if "shuffle" in failing else ""
    query = f"SELECT {hint} IF(id = 25, raise_error('the task fails'), id) AS id FROM range(30)"
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING parquet LOCATION 'file://{place}'")
    bound = {"spark.sql.adaptive.enabled": "false" if failing == "a shuffle" else "true"}
    if committer == "ours":
        fc.spark.jar()
        bound |= OURS
    try:
        spark.sql(f"INSERT INTO {name} SELECT id FROM range(10)")
        with settings(spark, bound), pytest.raises(Exception, match="the task fails"):
            spark.sql(f"INSERT OVERWRITE {name} {query}")
        spark.catalog.refreshTable(name)
        assert spark.table(name).count() == (10 if committer == "ours" or kept else 0)
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {name}")
