"""A PySpark script that is ended from outside in the midst of a write, and a stream's driver."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fsspec_commit as fc
from tests.spark.own_session import WAIT_S, OwnSession, await_file

if TYPE_CHECKING:
    from pathlib import Path

OLD = [0, 1, 2, 3]
HELD = """
import threading, time
from pathlib import Path
begun = Path(out + ".begun")

def held(batches):
    yield from batches
    begun.write_text("yes\\n")
    time.sleep(600)

def stop():
    while not begun.exists():
        time.sleep(0.05)
    spark.stop()

frame = spark.range(10, 14, numPartitions=1)
frame = frame.mapInArrow(held, frame.schema)
"""
WRITE = """
frame.write.mode("overwrite").parquet(out)
print("said: it is done")
"""
STOP = "threading.Thread(target=stop).start()\n"
STREAM = """
import os, signal
from pathlib import Path
place = Path(out).parent

def write(frame, batch):
    query = frame.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
    key = f"{query}/{batch}"
    frame.write.mode("append").option("fsspec_commit.idempotency_key", key).parquet(out)
    if (place / "killed").exists():
        return
    (place / "killed").touch()
    os.killpg(0, signal.SIGKILL)

stream = spark.readStream.schema("id long").csv(str(place / "source")).writeStream
stream = stream.foreachBatch(write).option("checkpointLocation", str(place / "checkpoint"))
stream.trigger(availableNow=True).start().awaitTermination()
print("said: it is done")
"""


def rows(out: Path) -> list[int]:
    read: list[int] = pq.read_table(out)["id"].to_pylist()
    return sorted(read)


@pytest.fixture
def session(tmp_path: Path) -> OwnSession:
    session = OwnSession(tmp_path)
    session.out.mkdir()
    pq.write_table(pa.table({"id": OLD}), session.out / "old.parquet")
    return session


def assert_nothing_has_happened(session: OwnSession) -> None:
    session.await_driver_processes()
    assert "said:" not in session.printed()
    assert rows(session.out) == OLD
    assert fc.jobs(str(session.out)) == []
    assert not list(session.out.rglob("*.pending"))


def test_ctrl_c(session: OwnSession) -> None:
    """The terminal sends it to the whole process group: the JVM and its child are in it."""
    with session.running(HELD + WRITE) as process:
        await_file(session.out.with_name("out.begun"))
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(WAIT_S) != 0
    assert "KeyboardInterrupt" in session.printed()
    assert_nothing_has_happened(session)


@pytest.mark.slow
def test_the_session_is_stopped_in_the_midst_of_a_write(session: OwnSession) -> None:
    with session.running(HELD + STOP + WRITE) as process:
        assert process.wait(WAIT_S) != 0
    assert_nothing_has_happened(session)


@pytest.mark.slow
def test_a_batch_that_comes_again_is_written_once(tmp_path: Path) -> None:
    """The driver is killed between the commit and the checkpoint."""
    session = OwnSession(tmp_path)
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "1.csv").write_text("1\n2\n")
    assert session.run(STREAM).status == -signal.SIGKILL
    assert rows(session.out) == [1, 2]
    script = session.run(STREAM)
    assert script.lines() == ["it is done"], script.printed
    assert rows(session.out) == [1, 2]
    assert fc.jobs(str(session.out)) == []
