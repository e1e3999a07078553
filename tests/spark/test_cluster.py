"""Executors on two hosts: late copies of tasks, and executors that are killed and stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import fsspec_commit as fc
from tests.spark.cluster import Cluster
from tests.spark.own_session import OwnSession

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = """
import os, signal, threading, time
from pathlib import Path
from pyspark import TaskContext

place = Path(out).parent
spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "2")

def executor():
    daemon = os.getppid()
    return int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])

def await_file(file):
    for _ in range(2400):
        if file.exists() and file.read_text().endswith("."):
            return file.read_text()[:-1]
        time.sleep(0.05)
    raise TimeoutError(str(file))

def slow(name, partition=0):
    # The first attempt at a partition waits after its first rows.
    begun, go, done = (place / f"{name}.{what}" for what in ("begun", "go", "done"))
    def give(batches):
        context = TaskContext.get()
        is_slow = context.partitionId() == partition and context.attemptNumber() == 0
        for nth, batch in enumerate(batches):
            yield batch
            if is_slow and nth == 0:
                begun.write_text(f"{executor()}.")
                await_file(go)
        done.write_text("yes.") if is_slow else None
    return give

def commit(frame, mode, place):
    frame.write.mode(mode).parquet(place)

def write(name, mode="append", frame=None):
    frame = spark.range(20, numPartitions=2) if frame is None else frame
    commit(frame.mapInArrow(slow(name), frame.schema), mode, f"{out}/{name}")

def in_background(name, *given):
    thread = threading.Thread(target=write, args=(name, *given))
    thread.start()
    return thread, int(await_file(place / f"{name}.begun"))

def seen(name):
    rows = sorted(row.id for row in spark.read.parquet(f"{out}/{name}").collect())
    print("said:", name, rows == list(range(20)), flush=True)
"""
SPECULATION = """
spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "2")
thread, first = in_background("late")
# A copy of the slow task has committed on the other host, and so has the job.
thread.join()
seen("late")
(place / "late.go").write_text("yes.")
for _ in range(20):
    time.sleep(0.1)
    assert sorted(row.id for row in spark.read.parquet(f"{out}/late").collect()) == list(range(20))
seen("late")
"""
STOPPED = """
thread, first = in_background("stopped")
os.kill(first, signal.SIGSTOP)
thread.join()
seen("stopped")
(place / "stopped.go").write_text("yes.")
os.kill(first, signal.SIGCONT)
for _ in range(40):
    time.sleep(0.1)
    rows = sorted(row.id for row in spark.read.parquet(f"{out}/stopped").collect())
    assert rows == list(range(20))
seen("stopped")
"""
KILLED = """
thread, first = in_background("killed")
os.kill(first, signal.SIGKILL)
thread.join()
seen("killed")
"""
KILLED_LATER = """
# Another task of the executor is committed already, on the same host or on the other one.
def note(batches):
    yield from batches
    Path(f"{out}.of-{TaskContext.get().partitionId()}").write_text(f"{executor()}.")

frame = spark.range(20, numPartitions=4)
frame = frame.mapInArrow(note, frame.schema)
thread, first = in_background("later", "append", frame)
pids = {int(await_file(Path(f"{out}.of-{n}"))) for n in (1, 2, 3)}
time.sleep(3)
for pid in pids:
    os.kill(pid, signal.SIGKILL)
(place / "later.go").write_text("yes.")
thread.join()
seen("later")
"""
PLAIN = """
commit(spark.range(20, numPartitions=4), "append", f"{out}/plain")
seen("plain")
"""
BY_WRITE = """
import fsspec_commit as fc

def commit(frame, mode, place):
    fc.spark.write(frame, place, mode=mode)
"""
BY_DATA_SOURCE = """
def commit(frame, mode, place):
    fc.spark.register(spark)
    frame.write.format("fsspec_commit").mode(mode).save(place)
"""


def run(tmp_path: Path, scenes: dict[str, str], **settings: str) -> None:
    (tmp_path / "cluster").mkdir()
    with Cluster(tmp_path / "cluster") as cluster:
        session = OwnSession(tmp_path, {**cluster.settings(), **settings})
        script = session.run(BEGIN + "".join(scenes.values()))
    assert script.status == 0, script.printed
    for name, scene in scenes.items():
        assert script.lines().count(f"{name} True") == scene.count("\nseen("), script.printed
        out = session.out / name
        assert sorted(pq.read_table(out)["id"].to_pylist()) == [*range(20)]
        # A late attempt may have left something, and nobody sees it.
        assert fc.jobs(str(out)) == []


# Speculation begins when half of the tasks are done, and any other takes longer than they did.
SPECULATIVE = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.0",
    "spark.speculation.minTaskRuntime": "100ms",
    # A loser that does not hear is left alone for so long.
    "spark.python.task.killTimeout": "60s",
}


@pytest.mark.slow
def test_a_copy_of_a_task_that_is_late_is_never_seen(tmp_path: Path) -> None:
    run(tmp_path, {"plain": PLAIN, "late": SPECULATION}, **SPECULATIVE)


@pytest.mark.slow
def test_an_executor_that_is_stopped_and_goes_on_is_never_seen(tmp_path: Path) -> None:
    # With one task each, the other task is not stopped as well.
    one_each = {"spark.executor.cores": "1", "spark.cores.max": "2"}
    run(tmp_path, {"stopped": STOPPED}, **SPECULATIVE, **one_each)


@pytest.mark.slow
def test_executors_are_killed(tmp_path: Path) -> None:
    run(tmp_path, {"killed": KILLED, "later": KILLED_LATER})


@pytest.mark.slow
def test_copies_that_are_late_without_the_jar(tmp_path: Path) -> None:
    source = BY_DATA_SOURCE + SPECULATION.replace("late", "source")
    scenes = {"plain": BY_WRITE + PLAIN, "late": SPECULATION, "source": source}
    run(tmp_path, scenes, **SPECULATIVE)


@pytest.mark.slow
def test_executors_are_killed_without_the_jar(tmp_path: Path) -> None:
    source = BY_DATA_SOURCE + KILLED.replace("killed", "source")
    run(tmp_path, {"killed": BY_WRITE + KILLED, "later": KILLED_LATER, "source": source})
