"""What is left of a write that was interrupted, and that others write beside it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from tests.spark.frames import WAYS, files, has_no_job, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]


def ids(spark: SparkSession, place: Path) -> list[int]:
    return sorted(row.id for row in spark.read.parquet(str(place)).select("id").collect())


def late(_number: int, _frame: object) -> None:
    raise TimeoutError("it takes too long")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGUSR1])
def test_an_interrupt_aborts_both_jobs(
    spark: SparkSession, tmp_path: Path, number: signal.Signals
) -> None:
    """Ctrl-C; and what a scheduler raises in the midst of a call, which py4j may wrap."""
    flag = str(tmp_path / "flag")
    before = signal.signal(signal.SIGUSR1, late)

    def slow(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield batch
            os.close(os.open(flag, os.O_CREAT))
            time.sleep(120)

    def interrupt() -> None:
        while not os.path.exists(flag):  # noqa: PTH110
            time.sleep(0.05)
        os.kill(os.getpid(), number)

    frame = spark.range(0, 10, numPartitions=1).mapInArrow(slow, "id long")
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt if number == signal.SIGINT else Exception):
        fc.spark.write(frame, str(tmp_path / "out"), mode="append")
    signal.signal(signal.SIGUSR1, before)
    thread.join()
    assert files(tmp_path / "out") == []
    assert has_no_job(tmp_path / "out")
    for _ in range(300):  # Spark kills a task's Python after two seconds.
        if not spark.sparkContext.statusTracker().getActiveStageIds():
            break
        time.sleep(0.1)
    assert spark.sparkContext.statusTracker().getActiveStageIds() == []


def test_jobs_beside_each_other(spark: SparkSession, tmp_path: Path) -> None:

    def append(number: int) -> None:
        fc.spark.register(spark)  # In each thread: Spark looks where the session is active.
        frame = spark.range(number * 10, number * 10 + 10, numPartitions=2)
        write(WAYS[number % 2], frame, tmp_path, mode="append")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(4)))
    assert ids(spark, tmp_path) == [*range(40)]
    assert has_no_job(tmp_path)


@pytest.mark.parametrize("when", ["undecided", "decided"])
@pytest.mark.slow
def test_the_driver_is_killed(spark: SparkSession, tmp_path: Path, when: str) -> None:
    out = tmp_path / "out"
    fc.spark.write(spark.range(5), str(out))
    path = os.pathsep.join([str(ROOT), str(ROOT / "stores"), *sys.path])
    with (tmp_path / "log").open("wb") as log:
        done = subprocess.run(
            [sys.executable, "-m", "tests.spark.killed_driver", str(out), when],
            check=False,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, "SPARK_LOCAL_IP": "127.0.0.1"},
            start_new_session=True,
            stdout=log,
            stderr=log,
            timeout=250,
        )
    assert done.returncode == -signal.SIGKILL, (tmp_path / "log").read_text()[-3_000:]
    (left,) = fc.jobs(out)
    assert ids(spark, out) == [0, 1, 2, 3, 4]
    if when == "undecided":
        fc.abort(out, left.job_id)
        assert ids(spark, out) == [0, 1, 2, 3, 4]
    else:
        fc.resume(out, left.job_id)
        assert ids(spark, out) == [*range(100, 110)]
    assert has_no_job(out)
