"""How many round trips and requests a job's commit takes among many others of its destination."""

from __future__ import annotations

import asyncio
from statistics import median
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.protocol.marks import epochs_among
from tests.protocol.in_virtual_time import wrote
from tests.protocol.trips import Trips

if TYPE_CHECKING:
    from collections import Counter

    from fsspec_commit.layout import DestinationLayout
    from fsspec_commit.protocol.driver import Driver
    from fsspec_commit.records.job import Mode, TaskCommit

CROWD, ABANDONED = 100, 1_000
MODES: tuple[Mode, ...] = ("append", "overwrite_partitions")
MORE = {"s3": 0, "s3-versioned": 4, "gcs": 2, "gen2": 3}
"""The round trips that a commit takes more for the others, and for the marker that all leave."""
LISTS_LATER: dict[Mode, int] = {"append": 0, "overwrite_partitions": 1}
"""Old files are listed beside the areas where no other job is, and else after them."""
MORE_PASSING = {"s3": (4, 4), "s3-versioned": (6, 8), "gcs": (4, 6)}
"""The same at the median, and at most, where others come and go meanwhile: no early look counts."""
TRIP_S = 0.05
"""As on the way to a bucket: whoever waits for a moment loses less than a round trip."""
APART = 0.3
"""Round trips between the beginnings of two commits, so that some end as others begin."""


async def ready(trips: Trips, number: int, mode: Mode) -> tuple[Driver, TaskCommit]:
    """A job that has written, to one directory like all others, or to one of its own."""
    driver = await trips.begun(mode=mode)
    name = f"day={number}/a.txt" if mode == "overwrite_partitions" else "a.txt"
    return driver, await wrote(driver, name)


class Crowd:
    """Jobs that commit beside each other, after another one has left its marker and its epoch.

    Attributes:
        took: The round trips of each commit.
        calls: How often each verb was called in all of them.
        epochs: How many epochs were left.
    """

    def __init__(self, patch: pytest.MonkeyPatch, family: str, mode: Mode, *, of: int) -> None:
        self.took: list[int] = []
        self._mode, self._count = mode, of
        self._trips = Trips(patch, family, trip_s=TRIP_S)
        self.calls: Counter[str]
        self.epochs = 0

    def commit(self, *, apart: float = 0) -> Crowd:
        """Commit them all, each begun so many round trips after the one before."""
        self._trips.run(self._commit(apart))
        return self

    async def _commit(self, apart: float) -> None:
        trips = self._trips
        first, message = await ready(trips, -1, "append")
        await first.commit([message], wait_s=0)
        jobs = [await ready(trips, number, self._mode) for number in range(self._count)]
        trips.forget()

        async def commit(number: int) -> None:
            driver, message = jobs[number]
            await trips.sleep(number * apart)
            begin = trips.taken
            await driver.commit([message], wait_s=0)
            self.took.append(trips.taken - begin)

        await asyncio.gather(*(commit(number) for number in range(self._count)))
        self.calls = trips.calls()
        job = first.started()
        layout: DestinationLayout = job.layout.destination
        self.epochs = len(epochs_among(await job.store.list_area(layout.areas), layout))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("family", MORE)
def test_a_hundred_that_commit_at_once(
    monkeypatch: pytest.MonkeyPatch, family: str, mode: Mode
) -> None:
    """None waits for another, and none repeats its look, whatever the others do meanwhile."""
    [alone] = Crowd(monkeypatch, family, mode, of=1).commit().took
    crowd = Crowd(monkeypatch, family, mode, of=CROWD).commit()
    assert len(crowd.took) == CROWD
    assert max(crowd.took) <= alone + MORE[family] + LISTS_LATER[mode]


@pytest.mark.parametrize("mode", MODES)
def test_they_cost_few_requests_each(monkeypatch: pytest.MonkeyPatch, mode: Mode) -> None:
    """Where names are listed in order: those of a job alone, and one for each 64 others."""
    for family in ("s3", "gcs"):
        alone = Crowd(monkeypatch, family, mode, of=1).commit().calls.total()
        crowd = Crowd(monkeypatch, family, mode, of=CROWD).commit().calls.total()
        # Who finds the old marker gone looks, and so does who finds a new one; and there is one
        # more that was prepared to be removed.
        marker = 3 if family == "gcs" else 0
        assert crowd / CROWD <= alone + 2 + marker


@pytest.mark.parametrize("family", MORE_PASSING)
def test_a_hundred_that_come_and_go(monkeypatch: pytest.MonkeyPatch, family: str) -> None:
    """Each sees others that have claimed, decided, published, or are just over.

    A marker of another job may stand in the way of a job's own, and be gone when it is looked at.
    """
    [alone] = Crowd(monkeypatch, family, "append", of=1).commit().took
    crowd = Crowd(monkeypatch, family, "append", of=CROWD).commit(apart=APART)
    assert len(crowd.took) == CROWD
    of_most, at_most = MORE_PASSING[family]
    assert median(crowd.took) <= alone + of_most
    assert max(crowd.took) <= alone + at_most
    assert crowd.calls["delete"] / CROWD <= 12, "not every epoch of all the others"
    assert crowd.epochs <= CROWD / APART / 5


@pytest.mark.parametrize(("family", "more"), [("s3", 2), ("gcs", 2), ("gen2", 17), ("hdfs", 16)])
def test_a_thousand_abandoned_jobs(monkeypatch: pytest.MonkeyPatch, family: str, more: int) -> None:
    """One page more of the areas, and one round trip for all of them, where that can be.

    The look, which proves nothing beside a listing of more than one moment, is beside the latter.
    """

    async def taken(trips: Trips, abandoned: int) -> int:
        for number in range(abandoned):
            if number % 2:
                await trips.begun()
            else:
                await ready(trips, number, "append")
        driver, message = await ready(trips, -1, "append")
        begin = trips.taken
        await driver.commit([message], wait_s=0)
        return trips.taken - begin

    alone, beside = (
        (trips := Trips(monkeypatch, family)).run(taken(trips, count)) for count in (0, ABANDONED)
    )
    assert beside - alone <= more
