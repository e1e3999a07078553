"""Each batch of a stream is committed once, whatever happens to its driver."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from tests.spark.frames import files, has_no_job
from tests.spark.streaming_driver import ROWS_PER_FILE, stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

ROOT = Path(__file__).parents[2]


def fill(place: Path, begin: int, end: int) -> None:
    """Files of the source, one a batch; the time of each is its number, in seconds."""
    (place / "source").mkdir(exist_ok=True)
    for number in range(begin, end):
        path = place / "source" / f"{number:03}.csv"
        first = number * ROWS_PER_FILE
        path.write_text("".join(f"{first + row}\n" for row in range(ROWS_PER_FILE)))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def run(spark: SparkSession, place: Path, write: Callable[[DataFrame, int], None]) -> None:
    query = stream(spark, place).writeStream.foreachBatch(write)
    query = query.option("checkpointLocation", str(place / "checkpoint")).trigger(availableNow=True)
    query.start().awaitTermination()


def ids(place: Path) -> list[int]:
    import pyarrow.dataset as ds

    return sorted(ds.dataset(place / "out", format="parquet").to_table()["id"].to_pylist())


def test_a_batch_that_comes_again_is_left_out(spark: SparkSession, tmp_path: Path) -> None:
    fill(tmp_path, 0, 2)
    write = fc.spark.foreach_batch(str(tmp_path / "out"), stream_id="numbers")
    run(spark, tmp_path, write)
    # So a driver leaves its checkpoint that dies after the commit.
    for name in ("1", ".1.crc"):
        (tmp_path / "checkpoint/commits" / name).unlink()
    fill(tmp_path, 2, 3)
    run(spark, tmp_path, write)
    assert ids(tmp_path) == [*range(3 * ROWS_PER_FILE)]
    assert len(files(tmp_path / "out")) == 3


def test_two_writes_of_one_batch(spark: SparkSession, tmp_path: Path) -> None:
    fill(tmp_path, 0, 1)
    out = str(tmp_path / "out")
    one, two = (fc.spark.foreach_batch(out, stream_id=name) for name in ("one", "two"))
    elsewhere = fc.spark.foreach_batch(str(tmp_path / "elsewhere"), stream_id="one")

    def write(df: DataFrame, batch_id: int) -> None:
        one(df, batch_id)
        two(df, batch_id)
        elsewhere(df, batch_id)

    run(spark, tmp_path, write)
    assert ids(tmp_path) == sorted([*range(ROWS_PER_FILE)] * 2)
    assert len(files(tmp_path / "elsewhere")) == 1


def test_two_writes_that_share_a_key_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    fill(tmp_path, 0, 1)
    one, same = (fc.spark.foreach_batch(str(tmp_path / "out"), stream_id="n") for _ in range(2))

    def write(df: DataFrame, batch_id: int) -> None:
        one(df, batch_id)
        same(df, batch_id)

    with pytest.raises(Exception, match="for the second time in one run"):
        run(spark, tmp_path, write)
    assert ids(tmp_path) == [*range(ROWS_PER_FILE)]


def test_two_queries_of_one_name_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    fill(tmp_path, 0, 1)
    write = fc.spark.foreach_batch(str(tmp_path / "out"), stream_id="n")
    run(spark, tmp_path, write)
    (tmp_path / "checkpoint").rename(tmp_path / "old checkpoint")
    with pytest.raises(Exception, match="two queries write to"):
        run(spark, tmp_path, write)


def test_batches_of_another_query_are_not_left_out(spark: SparkSession, tmp_path: Path) -> None:
    """In a process that knows of none: the last batch alone can be one that comes again."""
    write = fc.spark.foreach_batch(str(tmp_path / "out"), stream_id="n")
    for number in (0, 1, 1):
        write(spark.range(number, number + 1), number)
    with pytest.raises(fc.RequestError, match="no restart of its query") as caught:
        write(spark.range(7, 8), 0)
    assert caught.value.kind == "duplicate_stream"
    assert ids(tmp_path) == [0, 1]
    assert has_no_job(tmp_path / "out")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stream_id": ""}, "names no stream"),
        ({"idempotency_key": "k"}, "leave it out"),
        ({"mode": "error"}, "the first batch only"),
        ({"filesystem": object()}, "stays in this process"),
        ({"checkpointLocation": "c"}, "has no option"),
    ],
)
def test_refusals(tmp_path: Path, options: Any, message: str) -> None:
    with pytest.raises((fc.RequestError, TypeError), match=message):
        fc.spark.foreach_batch(str(tmp_path), **{"stream_id": "n", **options})


def drive(place: Path, when: str, batch: int) -> int:
    """Run the stream in a process group of its own; its exit status."""
    command = [sys.executable, "-m", "tests.spark.streaming_driver", str(place), when, str(batch)]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    path = os.pathsep.join([str(ROOT), str(ROOT / "stores"), *sys.path])
    environment["PYTHONPATH"] = path
    with (place / "log").open("ab") as log:
        return subprocess.run(
            [*command, "numbers"],
            check=False,
            cwd=ROOT,
            env=environment,
            start_new_session=True,
            stdout=log,
            stderr=log,
            timeout=250,
        ).returncode


def killed_and_restarted(place: Path, kills: list[str]) -> None:
    """A driver that is killed at each of *kills*, a batch later each time; then one that is not."""
    fill(place, 0, len(kills))
    for batch, when in enumerate(kills):
        assert drive(place, when, batch) == -signal.SIGKILL, (place / "log").read_text()[-3_000:]
    assert drive(place, "never", -1) == 0, (place / "log").read_text()[-3_000:]
    assert ids(place) == [*range(len(kills) * ROWS_PER_FILE)]
    assert has_no_job(place / "out")


@pytest.mark.slow
def test_the_driver_is_killed_between_commit_and_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    killed_and_restarted(tmp_path, ["committed"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(17))
def test_the_driver_is_killed_fifty_times(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Worth its ten minutes: one duplicate in fifty restarts is one too many."""
    chosen = random.Random(seed)
    killed_and_restarted(tmp_path, [chosen.choice(["committed", "decided"]) for _ in range(3)])
