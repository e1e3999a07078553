"""Job commits on a server that is made slow, beside Hadoop's: the bound, and what is reported.

The server is a process on loopback that answers each call late; files have 100 bytes, 20 a task,
and are written while it is as fast as it can be. The bound is `T = k·L + max(N/R, N·L/C)`: N files,
L the time that each call takes, R the rate that the server takes, C calls in flight, and k the
number of steps that are taken one after the other, counted by the server in the commit of a job of
one file: how often a call came when no other was being answered. So that no step is excused by
being there, everything is set against a second bound as well, whose k is 4.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from fsspec_commit.protocol.sign_of_life import BEAT_S
from tests.benchmarks.driven_jobs import Files, commit, empty_interpreter
from tests.benchmarks.interleaved import Report, Sample, interleave
from tests.benchmarks.processes import waited_since, waits
from tests.servers.hadoop.jvm import StoreJobs
from tests.servers.http_service.control import Statistics
from tests.servers.installation import ServerUnavailableError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping
    from concurrent.futures import ProcessPoolExecutor
    from contextlib import ExitStack

    from tests.benchmarks.slow_servers import SlowServer
    from tests.servers.http_service.control import Controlled

FILES_PER_TASK = 20
# What any commit does one after the other: read what tasks left, decide, publish, mark.
LEAST_STEPS = 4
_DATA = bytes(100)
_NAME = "part-{number:05d}"


@dataclass(frozen=True)
class Limits:
    """How late a server answers, how many calls a second, and how many of them are in flight."""

    latency_s: float
    rate_per_s: float | None = None
    in_flight: int = 1

    def put_on(self, server: Controlled) -> Statistics:
        """Make it so; returns what the server has counted before."""
        server.set_load(latency_s=self.latency_s, rate_per_s=self.rate_per_s)
        return server.statistics()

    def bound_s(self, files: int, *, steps: int) -> float:
        """Seconds that nobody can beat who takes so many steps."""
        at_rate_s = files / self.rate_per_s if self.rate_per_s else 0.0
        return steps * self.latency_s + max(at_rate_s, files * self.latency_s / self.in_flight)


@dataclass
class Runs:
    """What one side's job commits took, run by run: the driver's figures, the server's.

    Attributes:
        waited_s: For how long the processes of both have waited for a core of this machine.
    """

    figures: list[dict[str, Any]] = field(default_factory=list)
    seen: list[Statistics] = field(default_factory=list)
    waited_s: list[float] = field(default_factory=list)


class Jobs:
    """Both sides' jobs on one slow server, each of our drivers in a process of its own."""

    def __init__(self, server: SlowServer, writers: ProcessPoolExecutor, limits: Limits) -> None:
        self._server = server
        self._writers = writers
        self.limits = limits
        # In the commit of a job of one file, beside its own: that of the marker, and the like.
        self._further_publications = 0

    def count(self, report: Report, name: str) -> int:
        """How many steps our commit of a job of one file takes, one after the other."""
        runs = Runs()
        self._commit(1, runs, self.limits)
        [seen] = runs.seen
        report.note(
            f"{name}: {seen.requests.total()} calls in {seen.steps} steps, "
            f"at most {seen.in_flight_max} at a time: {dict(seen.requests)}"
        )
        self._further_publications = seen.requests[self._server.publishes] - 1
        return seen.steps

    def ours(
        self, files: int, runs: Runs, *, limits: Limits | None = None, **options: Any
    ) -> float:
        """Seconds of our `job.commit()`, which publishes each file by one request."""
        seconds = self._commit(files, runs, limits or self.limits, **options)
        seen, publishes = runs.seen[-1], self._server.publishes
        published = seen.requests[publishes] - seen.throttled[publishes]
        further = published - files - self._further_publications
        # A job that decides late renews a record, to show that it lives.
        renewed = int(seconds / BEAT_S) if self._server.renames_records else 0
        assert 0 <= further <= renewed, dict(seen.requests)
        return seconds

    def theirs(self, jvm: StoreJobs, files: int, runs: Runs) -> float:
        """Seconds of Hadoop's `commitJob`."""
        control = self._server.control
        control.set_load()
        _, destination = self._server.new_destinations()
        jvm.write(destination, tasks=files // FILES_PER_TASK, files=FILES_PER_TASK)
        before, waited = self.limits.put_on(control), waits()
        figures = jvm.commit()
        runs.seen.append(control.statistics().since(before))
        runs.waited_s.append(waited_since(waited))
        assert figures["visible"] == files, figures
        control.forget()
        return float(figures["commit_job_ms"]) / 1000

    def describe_layers(self, report: Report, name: str, files: int, **options: Any) -> None:
        """Where our client's CPU time goes; watched, so the run itself counts for nothing."""
        runs = Runs()
        self.ours(files, runs, layers=self._server.layers, **options)
        [figures] = runs.figures
        for layer, share in figures["shares"].items():
            title = f"{name}: share of our CPU time: {layer}"
            report.add(title, Sample((share * 100,)), unit="%")

    def _commit(self, files: int, runs: Runs, limits: Limits, **options: Any) -> float:
        control, tasks = self._server.control, max(1, files // FILES_PER_TASK)
        control.set_load()
        destination, _ = self._server.new_destinations()
        before: list[Statistics] = []
        waited: dict[str, float] = {}

        def begin() -> None:
            waited.update(waits())
            before.append(limits.put_on(control))

        figures = commit(
            destination,
            tasks,
            Files(min(files, FILES_PER_TASK), _NAME, _DATA),
            writers=self._writers,
            when_written=begin,
            tasks=tasks,
            committer=self._server.committer,
            storage_options=self._server.storage_options,
            **options,
        )
        runs.seen.append(control.statistics().since(before[0]))
        runs.waited_s.append(waited_since(waited) + figures["waited_s"])
        control.forget()
        runs.figures.append(figures)
        return float(figures["seconds"])


def peers(
    stack: ExitStack,
    report: Report,
    server: SlowServer,
    options: argparse.Namespace,
    *,
    tuned_only: bool = False,
    jvm_options: tuple[str, ...] = (),
    within: tuple[str, ...] = (),
) -> dict[str, StoreJobs]:
    """Hadoop as it is shipped, and tuned; none where it is not wanted or cannot be had.

    Args:
        stack: Ends them.
        report: Where it is said that it cannot be had.
        server: Where it writes.
        options: Of the benchmark.
        tuned_only: Leave out the one as it is shipped.
        jvm_options: More of them, of each JVM.
        within: What is put before the commands, such as what holds them to a quota.
    """
    if options.no_hadoop or options.quick:
        return {}
    tuned, settings = server.tuned
    sides = [] if tuned_only else [(server.shipped, server.settings, server.options)]
    sides.append((tuned, {**server.settings, **settings}, (*server.options, *server.tuned_options)))
    try:
        return {
            name: stack.enter_context(
                StoreJobs(told, jars=server.jars, options=(*own, *jvm_options), within=within)
            )
            for name, told, own in sides
        }
    except ServerUnavailableError as error:
        report.note(f"Hadoop was not measured: {error} (make servers-nightly)")
        return {}


def measure(
    report: Report,
    jobs: Jobs,
    jvms: Mapping[str, StoreJobs],
    files: int,
    *,
    title: str,
    rounds: int,
    steps: int,
    ours: Mapping[str, Mapping[str, Any]],
    at_most: float | None,
    throttled_at_most: float | None = None,
    ahead_at_least: float | None = None,
) -> None:
    """Every side commits so many files; their times, and how far they are from the bounds.

    Args:
        report: Where the figures go.
        jobs: Of both sides.
        jvms: Hadoop's, by what each is called.
        files: How many.
        title: What the figures are of.
        rounds: How often each side commits.
        steps: Of our own bound.
        ours: The options of each of our sides, by what it is called.
        at_most: Our goal, in times of our own bound.
        throttled_at_most: Our goal, as a share of our calls.
        ahead_at_least: Our goal, in times of each of our sides, of what each of Hadoop's takes.
    """
    seen = {name: Runs() for name in (*ours, *jvms)}
    sides: dict[str, Callable[[], float]] = {
        **{name: partial(jobs.ours, files, seen[name], **how) for name, how in ours.items()},
        **{name: partial(jobs.theirs, jvm, files, seen[name]) for name, jvm in jvms.items()},
    }
    samples = interleave(sides, rounds=rounds, warmups=0)
    bounds = add_bounds(report, title, jobs.limits, files, rounds=rounds, steps=steps)
    for name, sample in samples.items():
        of_ours = name in ours
        report.add(f"{title}: {name}", sample, unit="s")
        goals = (at_most if of_ours else None, None)
        for (against, bound), goal in zip(bounds.items(), goals, strict=True):
            report.compare(f"{title}: {name} / {against}", sample, bound, at_most=goal)
        most = throttled_at_most if of_ours else None
        of = f"{title}: {name}"
        describe_calls(report, of, sample, seen[name], files, throttled_at_most=most)
    [first, *_] = ours
    for name, side in product(jvms, ours):
        of = f"{title}: {name} / {side}"
        report.compare(of, samples[name], samples[side], at_least=ahead_at_least)
    describe_client(report, f"{title}: {first}", seen[first], files)


def add_bounds(
    report: Report, title: str, limits: Limits, files: int, *, rounds: int, steps: int
) -> dict[str, Sample]:
    """The bound of our own steps, and the least one."""
    bounds = {
        f"{name} (k = {k})": Sample((limits.bound_s(files, steps=k),) * rounds)
        for name, k in (("the bound", steps), ("the least bound", LEAST_STEPS))
    }
    for name, bound in bounds.items():
        report.add(f"{title}: {name}", bound, unit="s")
    return bounds


def describe_calls(
    report: Report,
    name: str,
    sample: Sample,
    runs: Runs,
    files: int,
    *,
    throttled_at_most: float | None = None,
) -> None:
    """What the server saw of one side, and whether it had time enough for it."""
    throttled = Sample(tuple(one.throttled_share for one in runs.seen))
    report.add(f"{name}: calls refused", throttled, unit="of all", at_most=throttled_at_most)
    pairs = zip(runs.seen, sample.values, strict=True)
    share = Sample(tuple(one.cpu_s / seconds for one, seconds in pairs))
    report.add(f"{name}: the server's CPU", share, unit="of a core")
    calls = Sample(tuple(one.requests.total() / files for one in runs.seen))
    report.add(f"{name}: calls a file", calls, unit="calls")
    each = Sample(tuple(one.cpu_s / one.requests.total() * 1e6 for one in runs.seen))
    report.add(f"{name}: the server's CPU a call", each, unit="us")
    last = runs.seen[-1]
    most = last.in_flight_max
    report.note(f"{name}: {last.requests.total():,} calls, at most {most} at a time")


def describe_client(report: Report, name: str, runs: Runs, files: int) -> None:
    """What our driver took of its machine."""
    cpu = Sample(tuple(one["cpu_s"] / files * 1e6 for one in runs.figures))
    report.add(f"{name}: CPU a file", cpu, unit="us")
    empty = empty_interpreter()
    peak = Sample(tuple(one["peak_mb"] - empty for one in runs.figures))
    report.add(f"{name}: peak over an empty interpreter", peak, unit="MB")
