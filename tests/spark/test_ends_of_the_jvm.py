"""The JVM of a session ends at any step of a job: its driver process goes on, or ends as well."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fsspec_commit as fc
from tests.spark.driver_faults import End
from tests.spark.own_session import OwnSession

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

OLD = [0, 1, 2, 3]
NEW = [10, 11, 12, 13]
OVERWRITE = """
spark.range(10, 14).repartition(2).write.mode("overwrite").parquet(out)
print("said: it is done")
"""
# A job of two tasks has some 35 calls: one of these is before the decision, one after it.
BY_DAY = (9, 28)
CALLS_MAX = 40


def by_night(calls: Iterable[int]) -> list[object]:
    return [pytest.param(nth, marks=pytest.mark.slow) for nth in calls]


def rows(out: Path) -> list[int]:
    """What readers see."""
    read: list[int] = pq.read_table(out)["id"].to_pylist()
    return sorted(read)


def written(session: OwnSession) -> Path:
    session.out.mkdir()
    pq.write_table(pa.table({"id": OLD}), session.out / "old.parquet")
    return session.out


def ended(session: OwnSession, end: End) -> bool:
    """Run the overwrite; whether the end has come."""
    session.faults.set(end)
    script = session.run(OVERWRITE)
    if session.faults.withdraw():
        assert script.lines() == ["it is done"], script.printed
        return False
    assert script.status != 0
    assert script.lines() == []
    return True


@pytest.mark.slow
@pytest.mark.parametrize("nth", range(1, CALLS_MAX))
def test_the_driver_process_goes_on_alone(tmp_path: Path, nth: int) -> None:
    """It finishes what is decided, or under way to it, and aborts the rest."""
    session = OwnSession(tmp_path)
    out = written(session)
    has_ended = ended(session, End(nth, jvm=True, child=False))
    assert fc.jobs(str(out)) == []
    seen = rows(out)
    assert seen in (OLD, NEW) if has_ended else seen == NEW
    assert has_ended or nth not in BY_DAY
    assert not list(out.rglob("*.pending"))


@pytest.mark.parametrize(
    "nth", [BY_DAY[1], *by_night(n for n in range(1, CALLS_MAX) if n != BY_DAY[1])]
)
@pytest.mark.parametrize("when", ["before", pytest.param("after", marks=pytest.mark.slow)])
def test_both_are_killed_and_somebody_settles_it(
    tmp_path: Path, nth: int, when: Literal["before", "after"]
) -> None:
    session = OwnSession(tmp_path)
    out = written(session)
    has_ended = ended(session, End(nth, when, jvm=True))
    for job in fc.jobs(str(out)):
        if job.state in {"decided", "published"}:
            fc.resume(str(out), job.job_id)
            assert rows(out) == NEW
        else:
            fc.abort(str(out), job.job_id)
            assert rows(out) == OLD
    assert fc.jobs(str(out)) == []
    seen = rows(out)
    assert seen in (OLD, NEW) if has_ended else seen == NEW
    assert has_ended or nth not in BY_DAY
    # An area that was being removed is no job's any more, and left to the next `clean`.
    report = fc.clean(str(out), older_than=timedelta(0), dry_run=False)
    assert report.shown == ()
    assert rows(out) == seen
    assert not list(out.rglob("*.pending"))
