"""`fc.spark.publisher`: the executors of a real Spark publish a decided job."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from fsspec.callbacks import Callback

import fsspec_commit as fc
from fsspec_commit.records.slices import DeleteSlice, PublishSlice, slice_of
from tests.protocol.invariants import raw_visible, snapshot_of
from tests.scenes.remotes import on
from tests.spark.frames import has_no_job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.scenes.remotes import Remote

TASKS = 5


@pytest.fixture(autouse=True)
def _slices_of_few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsspec_commit.sync.spreading.FILES_MIN", 3)


class Noting:
    """A publisher of Spark that notes its slices."""

    def __init__(self, spark: SparkSession) -> None:
        self.real = fc.spark.publisher(spark)
        self.width, self.runs_once = self.real.width, self.real.runs_once
        self.slices: list[PublishSlice | DeleteSlice] = []

    def map(self, function: Callable[[str], str], texts: Sequence[str], /) -> Iterator[str]:
        self.slices += map(slice_of, texts)
        return self.real.map(function, texts)


def write(destination: object, **options: Any) -> fc.CommitResult:
    with fc.Job(destination, **options) as job:  # type: ignore[arg-type]  # a path or a URL
        for task_id in range(TASKS):
            with job.task(task_id) as task:
                for number in range(3):
                    with task.open(f"p={number}/a.txt", "w") as file:
                        file.write(f"{job.mode} {task_id} {number}")
    return job.result


def expected(mode: str) -> list[str]:
    return sorted(f"{mode} {task_id} {number}" for task_id in range(TASKS) for number in range(3))


def contents(destination: Path) -> list[str]:
    found = raw_visible(snapshot_of(destination)).values()
    return sorted(data.decode() for data in found if data)


def test_p1_p9_executors_publish_and_delete(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    publisher, callback = Noting(spark), Callback()
    assert publisher.width == spark.sparkContext.defaultParallelism
    write(tmp_path, mode="append", publisher=publisher, callback=callback)
    assert len(publisher.slices) == TASKS
    assert not any(one.resuming for one in publisher.slices if isinstance(one, PublishSlice))
    assert callback.value == 3 * TASKS
    assert contents(tmp_path) == expected("append")
    write(tmp_path, mode="overwrite", publisher=publisher)
    assert {type(one) for one in publisher.slices} == {PublishSlice, DeleteSlice}
    assert contents(tmp_path) == expected("overwrite")
    assert has_no_job(tmp_path)
    assert not [one for one in caplog.records if one.levelno >= logging.WARNING]


def test_a_frame_is_written_and_published_by_the_same_executors(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.range(0, 100, numPartitions=6).selectExpr("id", "id % 3 AS p")
    publisher = Noting(spark)
    result = fc.spark.write(
        frame, str(tmp_path), partition_by="p", mode="append", publisher=publisher
    )
    assert result.file_count == 18
    assert publisher.slices
    assert spark.read.parquet(str(tmp_path)).count() == 100


def test_p8_a_task_that_fails_leaves_its_slice_to_the_driver(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    real = fc.spark.publisher(spark)

    class Failing:
        width = real.width

        def map(self, function: Callable[[str], str], texts: Sequence[str], /) -> Iterator[str]:
            def failing(text: str) -> str:
                if '"number":1' in text:
                    raise RuntimeError("no room")
                return function(text)

            return real.map(failing, texts)

    write(tmp_path, mode="append", publisher=Failing())
    assert contents(tmp_path) == expected("append")
    (said,) = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert "1 of 5 slices were lost elsewhere, and are done here: PythonException" in said


def test_what_is_no_session_is_refused() -> None:
    with pytest.raises(fc.RequestError, match="takes a SparkSession, not a builtins"):
        fc.spark.publisher("spark")  # type: ignore[arg-type]


def test_a_publisher_knows_its_session(spark: SparkSession) -> None:
    assert fc.spark.publisher(spark).runs_once
    assert repr(fc.spark.publisher(spark)) == "<SparkPublisher of 2 tasks at once>"


@on("ministack", by_night=("versitygw", "strict-gcs", "gen2"))
def test_p1_p9_executors_publish_on_stores(spark: SparkSession, remote: Remote) -> None:
    place = remote.place()
    publisher = Noting(spark)
    for mode in ("append", "overwrite"):
        write(place.url, mode=mode, publisher=publisher, share_secrets=True, **place.how)
        assert sorted(one.decode() for one in place.data().values() if one) == expected(mode)
    assert place.pending() == []
