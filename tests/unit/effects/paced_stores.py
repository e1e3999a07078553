"""Stores with a limited rate, and jobs that share them, in virtual time: to measure a pace by.

Everything is seeded, so a scenario gives the same counts each time.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import NamedTuple

from fsspec_commit.effects.confirm import ask
from fsspec_commit.effects.pacing import Pace
from fsspec_commit.effects.parallel import for_each
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import SYSTEM_IDS, IdSource
from tests.unit.effects.virtual_time import run

IN_FLIGHT_MAX = 512
"""As many calls as the stores on the network take at once."""
LOST_S = 1.0
"""How long an answer is waited for that does not come."""


@dataclass(kw_only=True)
class Scenario:
    """A store and the jobs on it.

    Attributes:
        rate_per_s: How many calls the store takes a second.
        latency_s: How long a call takes.
        burst_s: For how many seconds the store keeps the calls it was not asked for.
        files: How many calls each job makes.
        starts_s: When each of the jobs begins.
        change_s: When the store takes another rate.
        rate_after_per_s: Which one.
        lost: The share of calls that are not answered.
        is_heavy_tailed: Whether one call in a hundred takes five times as long as half of them do;
            or else all take as long, to a twentieth.
    """

    rate_per_s: float
    latency_s: float
    burst_s: float = 0.1
    files: int = 10_000
    starts_s: tuple[float, ...] = (0.0,)
    change_s: float = float("inf")
    rate_after_per_s: float = 0.0
    lost: float = 0.0
    is_heavy_tailed: bool = False

    @property
    def bound_s(self) -> float:
        """How long all jobs take at least: the store's rate, and the calls that may be in flight.

        Jobs that come late are counted as if they had come at the beginning.
        """
        calls = self.files * len(self.starts_s)
        rate_per_s = min(self.rate_per_s, IN_FLIGHT_MAX * len(self.starts_s) / self.latency_s)
        before = rate_per_s * self.change_s
        if calls <= before:
            return calls / rate_per_s
        after = min(self.rate_after_per_s, IN_FLIGHT_MAX / self.latency_s)
        return self.change_s + (calls - before) / after


class Result(NamedTuple):
    """What became of a scenario.

    Attributes:
        over_bound: How long the jobs took, as a multiple of the bound.
        throttled: Of all calls that were sent, the share that was turned away.
        in_flight: The most calls that were in flight at once.
        unfairness: While all jobs ran, how many calls of the one that had most were done for each
            of the one that had least.
    """

    over_bound: float
    throttled: float
    in_flight: int
    unfairness: float


class PacedStore:
    """It turns away what exceeds its rate, as a bucket of tokens does."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._chance = random.Random(20261127)
        self._tokens = self._tokens_max(scenario.rate_per_s)
        self._filled_s = 0.0
        self.sent = 0
        self.throttled = 0
        self.in_flight = 0
        self.in_flight_most = 0
        self.ended_s: dict[int, list[float]] = {}

    async def call(self, job: int) -> None:
        """One call of *job*."""
        self.sent += 1
        self.in_flight += 1
        self.in_flight_most = max(self.in_flight_most, self.in_flight)
        try:
            is_throttled = not self._take()
            if not is_throttled and self._chance.random() < self._scenario.lost:
                await asyncio.sleep(LOST_S)
                raise StoreError("no answer", reply=Reply.UNKNOWN)
            await asyncio.sleep(self._latency_s())
            if is_throttled:
                self.throttled += 1
                raise StoreError("slow down", reply=Reply.NOT_DONE)
            self.ended_s.setdefault(job, []).append(asyncio.get_running_loop().time())
        finally:
            self.in_flight -= 1

    def _latency_s(self) -> float:
        if self._scenario.is_heavy_tailed:
            return self._scenario.latency_s * self._chance.lognormvariate(0, 0.7)
        # As on a network, calls may overtake each other.
        return self._scenario.latency_s * self._chance.uniform(0.95, 1.05)

    def _take(self) -> bool:
        now = asyncio.get_running_loop().time()
        is_after = now >= self._scenario.change_s
        rate_per_s = self._scenario.rate_after_per_s if is_after else self._scenario.rate_per_s
        filled = self._tokens + (now - self._filled_s) * rate_per_s
        self._tokens, self._filled_s = min(self._tokens_max(rate_per_s), filled), now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def _tokens_max(self, rate_per_s: float) -> float:
        return max(1.0, self._scenario.burst_s * rate_per_s)


def measured(scenario: Scenario, *, in_flight_max: int = IN_FLIGHT_MAX) -> Result:
    """Run the jobs of a scenario, each at a pace of its own with so many calls at most."""
    store = PacedStore(scenario)

    async def job(nth: int, starts_s: float) -> None:
        await asyncio.sleep(starts_s)
        ids = IdSource(random.Random(nth), SYSTEM_IDS.now)
        pace = Pace(ids, in_flight_max=in_flight_max)

        async def one(_: int) -> None:
            await ask(lambda: store.call(nth), pace)

        await for_each(range(scenario.files), one, in_flight_max=pace.in_flight_max)

    async def main() -> None:
        await asyncio.gather(*(job(nth, at) for nth, at in enumerate(scenario.starts_s)))

    _, took_s = run(main())
    return Result(
        took_s / scenario.bound_s,
        store.throttled / store.sent,
        store.in_flight_most,
        _unfairness([store.ended_s[nth] for nth in range(len(scenario.starts_s))], scenario),
    )


def _unfairness(ended_s: list[list[float]], scenario: Scenario) -> float:
    """Of the time when all ran, without the first quarter, in which they find out about it."""
    begin_s, end_s = max(scenario.starts_s), min(ends[-1] for ends in ended_s)
    begin_s += (end_s - begin_s) / 4
    done = [sum(begin_s < moment_s <= end_s for moment_s in ends) for ends in ended_s]
    return max(done) / max(1, min(done))
