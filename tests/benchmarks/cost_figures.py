"""What `bench_cost_law` has found, as it is kept in `cost_law.json`, and what follows from it.

Only what was counted and measured is kept; the law is fitted anew whenever it is asked for.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path

import msgspec

from tests.benchmarks.commit_jobs import FILES_PER_TASK, Limits
from tests.benchmarks.cost_law import Counted, Law, Requests, Slope, steps_by_slope

FILE = Path(__file__).with_name("cost_law.json")
_REST_MIN = 0.1


class CountedJob(msgspec.Struct, frozen=True, kw_only=True):
    """The requests of one job by operation: those of its start and its tasks, those of its commit.

    Attributes:
        tasks: How many.
        files: Of all tasks together.
    """

    tasks: int
    files: int
    writing: dict[str, int]
    commit: dict[str, int]


class Timed(msgspec.Struct, frozen=True, kw_only=True):
    """One job commit.

    Attributes:
        files: How many it published.
        latency_s: Of each call.
        rate_per_s: What the server took; None: whatever came.
        in_flight: How many calls the driver may have in flight; of Hadoop's as many as it has
            threads that publish.
        seconds: What it took, the quickest of some runs.
        cpu_s: Of our driver, and of no other.
        waited_s: For how long in that time the driver and the server had no core to run on, each
            counted by itself: the machine was so busy.
        requests: By operation.
    """

    files: int
    latency_s: float
    rate_per_s: float | None
    in_flight: int
    seconds: float
    cpu_s: float
    waited_s: float
    requests: dict[str, int]

    @property
    def place(self) -> Limits:
        return Limits(self.latency_s, self.rate_per_s, self.in_flight)

    @property
    def least_s(self) -> float:
        """What it would have taken if each wait for a core had held up the commit."""
        return max(0.0, self.seconds - self.waited_s)

    @property
    def tells(self) -> bool:
        """Whether that is more than a small rest."""
        return self.least_s > _REST_MIN * self.seconds


class StoreFigures(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """All that was found on one store.

    Attributes:
        committer: Ours.
        asks: What is counted: requests, or calls where nothing goes over a network.
        steps: k, as the server counted it in the commit of a job of one file.
        counted: Jobs of `FITTED_SHAPES`, then one of `CHECKED_SHAPE`.
        one_file: Commits of one file at several latencies.
        fitted: The commit that c is taken from.
        unseen: Commits of which nothing has gone into the law.
        hadoop: Commits of Hadoop's by what the committer is called, from small to large; all in one
            place, where its slope is measured.
    """

    committer: str
    asks: str
    steps: int
    counted: tuple[CountedJob, ...]
    one_file: tuple[Timed, ...]
    fitted: Timed
    unseen: tuple[Timed, ...]
    hadoop: dict[str, tuple[Timed, ...]]

    @cached_property
    def law(self) -> Law:
        """Fitted to no time at all: k and the requests are counted, and c is CPU time."""
        alone = min(self.one_file, key=lambda one: one.latency_s)
        files = self.fitted.files - alone.files
        return Law(
            self.steps,
            (self.fitted.cpu_s - alone.cpu_s) / files,
            self.requests_of("commit"),
            FILES_PER_TASK,
        )

    @property
    def steps_by_slope(self) -> float:
        return steps_by_slope([(one.latency_s, one.seconds) for one in self.one_file])

    def requests_of(self, part: str) -> Requests:
        """The lines of a job's ``writing`` or ``commit``, through all jobs but the last."""
        *fitted, _ = self.counted
        return Requests.through([Counted(j.tasks, j.files, getattr(j, part)) for j in fitted])

    @property
    def requests_of_all(self) -> Requests:
        return self.requests_of("writing") + self.requests_of("commit")


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """What must be read together with figures.

    Attributes:
        measured: The day.
        python: Its version.
        cores: Of the machine.
        load: The load average: how many wanted one of the cores, ours among them.
        niceness: How far we gave way to others.
    """

    measured: str
    python: str
    cores: int
    load: float
    niceness: int


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What was found last on each store, and when, by the names of `bench_cost_law.STORES`."""

    circumstances: dict[str, Circumstances]
    stores: dict[str, StoreFigures]


def slope_of(commits: tuple[Timed, ...]) -> Slope:
    """Of Hadoop's commits, from small to large, as they were measured."""
    return Slope.through([(one.files, one.seconds) for one in commits])


def least_hadoop_s(commits: tuple[Timed, ...], files: int, place: Limits) -> float:
    """What a commit of Hadoop's takes at least.

    What the store takes for the requests of its files, as many at a time as it has threads;
    nothing for what comes before and after, nor for its own work. Where nothing is asked over a
    network, its line less the waits for a core.
    """
    asked = sum(calls_per_file(commits).values())
    if not asked:
        times_s = [(one.files, one.least_s if one.tells else one.seconds) for one in commits]
        return Slope.through(times_s).seconds(files)
    in_flight = max(one.in_flight for one in commits)
    return replace(place, in_flight=in_flight).bound_s(round(files * asked), steps=0)


def calls_per_file(commits: tuple[Timed, ...]) -> dict[str, float]:
    """What a file more has asked of the store, by operation, from the smallest to the largest."""
    first, *_, last = commits
    files = last.files - first.files
    return {
        name: (count - first.requests.get(name, 0)) / files
        for name, count in sorted(last.requests.items())
        if count > first.requests.get(name, 0)
    }


def load() -> Figures:
    """What was stored last."""
    return msgspec.json.decode(FILE.read_bytes(), type=Figures)


def save(figures: Figures) -> None:
    """Store it in place of what was stored last."""
    kept = msgspec.to_builtins(figures)
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")
