"""Tasks that fail and come again, and jobs that are cancelled, in a session that goes on."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import fsspec_commit as fc
from tests.spark.own_session import WAIT_S, await_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.spark.driver_faults import DriverFaults


def rows(out: Path) -> list[int]:
    read: list[int] = pq.read_table(out)["id"].to_pylist()
    return sorted(read)


def assert_nothing_is_left(out: Path) -> None:
    assert fc.jobs(str(out)) == []
    assert not list(out.rglob("*.pending"))


@pytest.fixture
def small_batches(committing: SparkSession) -> Iterator[SparkSession]:
    """Rows come to Python two at a time."""
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = committing.conf.get(name)
    committing.conf.set(name, "2")
    yield committing
    committing.conf.set(name, before or "")


def failing_at(batch: int, attempts: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Gives on what it gets; so many attempts of each task fail at the given batch."""

    def give(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        for nth, given in enumerate(batches):
            if nth == batch and context.attemptNumber() < attempts:
                raise ValueError("this attempt fails")
            yield given

    return give


@pytest.mark.parametrize("batch", [0, 1, 4])
@pytest.mark.parametrize("partitioned", [False, True], ids=["plain", "partitioned"])
def test_a_task_that_fails_in_its_midst_comes_again(
    small_batches: SparkSession, tmp_path: Path, batch: int, *, partitioned: bool
) -> None:
    out = tmp_path / "out"
    frame = small_batches.range(20, numPartitions=2).selectExpr("id", "id % 3 AS g")
    writer = frame.mapInArrow(failing_at(batch, 1), frame.schema).write
    (writer.partitionBy("g") if partitioned else writer).parquet(str(out))
    assert rows(out) == [*range(20)]
    assert_nothing_is_left(out)


def test_what_fails_upstream_truncates_nothing(small_batches: SparkSession, tmp_path: Path) -> None:
    """Whatever was read before the failure is not taken for all there is."""
    out = tmp_path / "out"
    small_batches.range(4).write.parquet(str(out))
    frame = small_batches.range(20, numPartitions=2)
    broken = frame.selectExpr("IF(id = 17, raise_error('no such row'), id) AS id")
    passed_on = broken.mapInArrow(lambda batches: batches, broken.schema)
    for mode in ("append", "overwrite"):
        with pytest.raises(Exception, match="no such row"):
            passed_on.write.mode(mode).parquet(str(out))
        assert rows(out) == [0, 1, 2, 3]
    assert_nothing_is_left(out)


def test_after_a_failure_others_still_write(committing: SparkSession, tmp_path: Path) -> None:
    """A task that is still at work when its job is aborted leaves nothing to stumble over."""
    out, begun = tmp_path / "out", tmp_path / "begun"

    def give(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        if context.partitionId() == 0:
            await_file(begun)
            raise ValueError("this task fails")
        for given in batches:
            yield given
            begun.write_text("yes\n")
            time.sleep(3)
            yield given

    frame = committing.range(2, numPartitions=2)
    with pytest.raises(Exception, match="this task fails"):
        frame.mapInArrow(give, frame.schema).write.parquet(str(out))
    await_idle(committing)
    committing.range(3).write.parquet(str(out))
    assert rows(out) == [0, 1, 2]


def await_idle(spark: SparkSession) -> None:
    """Wait until no task is at work, be it of a job that is over."""
    tracker = spark.sparkContext._jsc.sc().statusTracker()
    deadline = time.monotonic() + WAIT_S
    while sum(one.numRunningTasks() for one in tracker.getExecutorInfos()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def held(file: Path) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Gives on what it gets, and then says so and waits, to be killed or until the file is gone."""

    def give(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches
        file.write_text(f"{os.getpid()}\n")
        while file.exists():
            time.sleep(0.02)

    return give


@contextmanager
def in_background(work: Callable[[], None]) -> Iterator[list[Exception]]:
    """Do it in a thread; what it raises is there at the end."""
    raised: list[Exception] = []

    def run() -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  # the test looks at it
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    yield raised
    thread.join(WAIT_S)
    assert not thread.is_alive()


def test_a_job_group_that_is_cancelled(committing: SparkSession, tmp_path: Path) -> None:
    out, file = tmp_path / "out", tmp_path / "held"
    committing.range(4).write.parquet(str(out))
    frame = committing.range(10, 14, numPartitions=1)
    context = committing.sparkContext

    def write() -> None:
        context.setJobGroup("cancelled", "a test", interruptOnCancel=True)
        frame.mapInArrow(held(file), frame.schema).write.mode("overwrite").parquet(str(out))

    with in_background(write) as raised:
        await_file(file)
        context.cancelJobGroup("cancelled")
    assert "cancelled" in str(raised[0])
    file.unlink()
    await_idle(committing)
    assert rows(out) == [0, 1, 2, 3]
    assert_nothing_is_left(out)


def test_a_driver_process_that_hangs_holds_up_its_jobs_alone(
    committing: SparkSession, driver_faults: DriverFaults, tmp_path: Path
) -> None:
    """Spark's scheduler tells it of tasks, and never waits for it."""
    out, file = tmp_path / "out", tmp_path / "held"
    committing.range(1).write.parquet(str(out))
    pid = driver_faults.pids()[-1]
    # Their names are more than a pipe holds.
    frame = committing.range(400, numPartitions=1).selectExpr(
        "id", "concat(id, repeat('x', 200)) AS g"
    )
    frame = frame.mapInArrow(held(file), frame.schema)

    def write() -> None:
        frame.write.partitionBy("g").mode("append").csv(str(out))

    answered: list[int] = []
    with in_background(write) as raised:
        await_file(file)
        os.kill(pid, signal.SIGSTOP)
        try:
            file.unlink()
            await_idle(committing)
            counting = threading.Thread(target=lambda: answered.append(committing.range(3).count()))
            counting.start()
            counting.join(30)
        finally:
            os.kill(pid, signal.SIGCONT)
    assert raised == []
    assert answered == [3]
    assert_nothing_is_left(out)
