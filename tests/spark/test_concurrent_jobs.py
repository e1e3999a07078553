"""Many jobs of one session, at once and one after the other, through one driver process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import fsspec_commit as fc
from tests.spark.own_session import OwnSession

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.spark.driver_faults import DriverFaults


def rows(out: Path) -> list[int]:
    read: list[int] = pq.read_table(out)["id"].to_pylist()
    return sorted(read)


def raised_by(work: Callable[[int], None], count: int) -> list[BaseException | None]:
    """Do it in so many threads at once; what each has raised."""
    with ThreadPoolExecutor(count) as threads:
        return [one.exception() for one in [threads.submit(work, nth) for nth in range(count)]]


def test_twenty_jobs_at_once(
    committing: SparkSession, driver_faults: DriverFaults, tmp_path: Path
) -> None:
    committing.range(1).write.parquet(str(tmp_path / "first"))
    processes = driver_faults.pids()

    def write(nth: int) -> None:
        out = tmp_path / ("one" if nth % 2 else f"its own {nth}")
        committing.range(nth, nth + 1).write.mode("append").parquet(str(out))

    assert raised_by(write, 20) == [None] * 20
    assert rows(tmp_path / "one") == [*range(1, 20, 2)]
    for nth in range(0, 20, 2):
        assert rows(tmp_path / f"its own {nth}") == [nth]
    assert fc.jobs(str(tmp_path / "one")) == []
    assert driver_faults.pids() == processes


def test_one_of_many_creates_a_destination(committing: SparkSession, tmp_path: Path) -> None:
    """Each has seen that nothing is there, and only one of them is right."""
    out = tmp_path / "out"
    raised = raised_by(
        lambda nth: committing.range(nth, nth + 1).write.mode("error").parquet(str(out)), 6
    )
    assert raised.count(None) == 1
    assert rows(out) == [raised.index(None)]
    assert fc.jobs(str(out)) == []


def test_all_but_one_of_many_ignore_what_they_would_write(
    committing: SparkSession, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    raised = raised_by(
        lambda nth: committing.range(nth, nth + 1).write.mode("ignore").parquet(str(out)), 6
    )
    assert raised == [None] * 6
    assert len(rows(out)) == 1
    assert fc.jobs(str(out)) == []


FAIR = """
from concurrent.futures import ThreadPoolExecutor

def write(nth):
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", f"pool {nth % 3}")
    mode = "overwrite" if nth % 5 == 0 else "append"
    place = f"{out}/{nth}" if nth % 2 else f"{out}/one"
    spark.range(nth, nth + 1).write.mode(mode).parquet(place)

with ThreadPoolExecutor(20) as threads:
    list(threads.map(write, range(20)))
"""


@pytest.mark.slow
def test_pools_of_a_fair_scheduler(tmp_path: Path) -> None:
    session = OwnSession(tmp_path, {"spark.scheduler.mode": "FAIR"})
    script = session.run(FAIR)
    assert script.status == 0, script.printed
    # Serial, in some order: what was written after the last overwrite.
    assert {0, 10} & set(rows(session.out / "one"))
    assert [rows(session.out / str(nth)) for nth in range(1, 20, 2)] == [
        [nth] for nth in range(1, 20, 2)
    ]
    assert fc.jobs(str(session.out / "one")) == []


@pytest.mark.slow
def test_a_driver_process_does_not_grow(
    committing: SparkSession, driver_faults: DriverFaults, tmp_path: Path
) -> None:
    out = str(tmp_path / "out")

    def write(count: int) -> tuple[int, int, int]:
        for _ in range(count):
            committing.range(3).write.mode("overwrite").parquet(out)
        place = Path(f"/proc/{driver_faults.pids()[-1]}")
        status = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines())
        memory_kb = int(status["VmRSS"].split()[0])
        return memory_kb, int(status["Threads"]), len(list((place / "fd").iterdir()))

    # The threads that adopt tasks are begun one by one, up to their number.
    memory_kb, threads, files = write(60)
    after = write(140)
    assert after[0] - memory_kb < 8_000
    assert after[1] <= threads + 4  # Those of the last job may be ending.
    assert after[2] <= files + 1
