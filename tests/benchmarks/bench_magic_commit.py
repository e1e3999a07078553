"""Job commit on S3 against what no client could beat, beside Hadoop's magic committer.

The server is the project's own (`tests/servers/slow_s3`): a process on loopback that answers each
call after 50 ms and more than 3,500 calls a second with 503. The files have one part of 100 bytes,
20 a task; they are written while it is as fast as it can be.

The bound is `T = k·L + max(N/R, N·L/C)`: N files, L = 50 ms, R = 3,500/s, C = R·L = 175 calls in
flight, with which the server's rate is all that counts. k is the number of steps that our protocol
takes one after the other, counted by the server in the commit of a job of one file: how often a
call came when no other was being answered. So that no step is excused by being there, everything
is set against a second bound as well, whose k is 4, what any magic commit does one after the
other: read what tasks left, decide, complete, mark.

Goals, of the issue: at most 2.5 times the bound for 2,000 files, 3.5 times for 20,000: the more
files, the more it is the client's CPU that decides, of which botocore takes a millisecond a call.
Hadoop as it is shipped commits the 2,000 only: 8 threads take N·L/8, two minutes for the 20,000.

    python -m tests.benchmarks.bench_magic_commit [--quick] [--rounds N]
        [--no-hadoop]        our own figures only
        [--files N …]        other sizes
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec_commit as fc
from tests.benchmarks import hadoop
from tests.benchmarks.bench_memory import empty_interpreter
from tests.benchmarks.interleaved import Report, Sample, arguments, interleave
from tests.servers.slow_s3.process import SlowS3, Statistics

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

LATENCY_S = 0.05
RATE_PER_S = 3_500
LEAST_STEPS = 4
FILES_PER_TASK = 20
GOALS = {2_000: 2.5, 20_000: 3.5}
THROTTLED_GOAL = 0.01
# As many calls in flight as the server's rate and latency have room for.
IN_FLIGHT = int(RATE_PER_S * LATENCY_S)
ROUNDS = {2_000: 3, 20_000: 1}
WARMUP_FILES = 400
OURS_AT_RATE = f"ours, {IN_FLIGHT} in flight"
SHIPPED, TUNED = "Hadoop, 8 threads", "Hadoop, 64 threads, 200 connections"
SHIPPED_FILES_MAX = 2_000
DATA = bytes(100)
ROOT = Path(__file__).parents[2]


def bound_s(files: int, *, steps: int) -> float:
    """Seconds that nobody can beat who takes so many steps."""
    return steps * LATENCY_S + max(files / RATE_PER_S, files * LATENCY_S / IN_FLIGHT)


def write_task(spec: str, storage_options: dict[str, Any], task_id: int, files: int) -> str:
    """Write one task's files, in a process of its own, and return its message."""
    given = fc.JobSpec.from_json(spec)
    with fc.Task.from_spec(given, task_id, storage_options=storage_options) as task:
        for i in range(files):
            with task.open(f"part-{i:05d}") as file:
                file.write(DATA)
    assert task.message is not None
    return task.message.to_json()


@dataclass
class Runs:
    """What one side's job commits took, run by run: the driver's figures, the server's."""

    figures: list[dict[str, Any]] = field(default_factory=list)
    seen: list[Statistics] = field(default_factory=list)


class Jobs:
    """Both sides' jobs on one slow server."""

    def __init__(self, server: SlowS3, writers: ProcessPoolExecutor) -> None:
        self._server = server
        self._writers = writers

    def ours(
        self, files: int, runs: Runs, *, in_flight: int | None = None, profiled: bool = False
    ) -> float:
        """Seconds of our `job.commit()`, in a process of its own."""
        tasks = max(1, files // FILES_PER_TASK)
        self._server.set_load()
        destination = f"s3://{self._server.new_bucket()}/out"
        where = self._server.storage_options
        options = {"tasks": tasks, "concurrency": in_flight, "storage_options": where}
        request = {"destination": destination, "profiled": profiled, "options": options}
        with subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.magic_driver", json.dumps(request)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as driver:
            assert driver.stdout is not None
            spec = driver.stdout.readline()
            if not spec:
                raise RuntimeError(f"the driver ended with status {driver.wait()}")
            per_task = min(files, FILES_PER_TASK)
            messages = self._writers.map(
                write_task, repeat(spec), repeat(where), range(tasks), repeat(per_task), chunksize=5
            )
            told = "\n".join(messages)
            before = self._slow_down()
            answer, _ = driver.communicate(told)
        runs.seen.append(self._server.statistics().since(before))
        figures = json.loads(answer)
        assert figures["files"] == files, figures
        self._server.forget()
        runs.figures.append(figures)
        return float(figures["seconds"])

    def theirs(self, jvm: hadoop.WarmMagic, files: int, runs: Runs) -> float:
        """Seconds of Hadoop's `commitJob`."""
        self._server.set_load()
        destination = f"s3a://{self._server.new_bucket()}/out"
        jvm.write(destination, tasks=files // FILES_PER_TASK, files=FILES_PER_TASK)
        before = self._slow_down()
        seconds = jvm.commit()
        runs.seen.append(self._server.statistics().since(before))
        self._server.forget()
        return seconds

    def _slow_down(self) -> Statistics:
        self._server.set_load(latency_s=LATENCY_S, rate_per_s=RATE_PER_S)
        return self._server.statistics()


def our_steps(report: Report, jobs: Jobs) -> int:
    """How many steps our commit of a job of one file takes, one after the other."""
    runs = Runs()
    jobs.ours(1, runs)
    [seen] = runs.seen
    report.note(
        f"one file: {seen.requests.total()} calls in {seen.steps} steps, "
        f"at most {seen.in_flight_max} at a time: {dict(seen.requests)}"
    )
    return seen.steps


def measure(
    report: Report,
    jobs: Jobs,
    jvms: dict[str, hadoop.WarmMagic],
    files: int,
    *,
    rounds: int,
    steps: int,
) -> None:
    """Every side commits so many files; their times, and how far they are from the bounds."""
    seen = {"ours": Runs(), OURS_AT_RATE: Runs(), **{name: Runs() for name in jvms}}
    sides: dict[str, Callable[[], float]] = {
        "ours": lambda: jobs.ours(files, seen["ours"]),
        OURS_AT_RATE: lambda: jobs.ours(files, seen[OURS_AT_RATE], in_flight=IN_FLIGHT),
        **{name: partial(jobs.theirs, jvm, files, seen[name]) for name, jvm in jvms.items()},
    }
    samples = interleave(sides, rounds=rounds, warmups=0)
    bounds = {
        f"the bound (k = {steps})": Sample((bound_s(files, steps=steps),) * rounds),
        f"the least bound (k = {LEAST_STEPS})": Sample(
            (bound_s(files, steps=LEAST_STEPS),) * rounds
        ),
    }
    for name, bound in bounds.items():
        report.add(f"{files:,} files: {name}", bound, unit="s")
    for name, sample in samples.items():
        is_ours = name.startswith("ours")
        report.add(f"{files:,} files: {name}", sample, unit="s")
        goals = (GOALS.get(files) if is_ours else None, None)
        for (against, bound), goal in zip(bounds.items(), goals, strict=True):
            report.compare(f"{files:,} files: {name} / {against}", sample, bound, at_most=goal)
        describe_server(report, f"{files:,} files: {name}", sample, seen[name].seen, ours=is_ours)
    describe_client(report, seen["ours"], files)


def describe_server(
    report: Report, name: str, sample: Sample, seen: list[Statistics], *, ours: bool
) -> None:
    """What the server saw of one side, and whether it had time enough for it."""
    throttled = Sample(tuple(one.throttled_share for one in seen))
    goal = THROTTLED_GOAL if ours else None
    report.add(f"{name}: calls answered 503", throttled, unit="of all", at_most=goal)
    pairs = zip(seen, sample.values, strict=True)
    share = Sample(tuple(one.cpu_s / seconds for one, seconds in pairs))
    report.add(f"{name}: the server's CPU", share, unit="of a core")
    last = seen[-1]
    calls, most = last.requests.total(), last.in_flight_max
    report.note(f"{name}: {calls:,} calls, at most {most} at a time")


def describe_client(report: Report, runs: Runs, files: int) -> None:
    """What our driver took of its machine."""
    cpu = Sample(tuple(one["cpu_s"] / files * 1e6 for one in runs.figures))
    report.add(f"{files:,} files: ours, CPU a file", cpu, unit="us")
    empty = empty_interpreter()
    peak = Sample(tuple(one["peak_mb"] - empty for one in runs.figures))
    report.add(f"{files:,} files: ours, peak over an empty interpreter", peak, unit="MB")


def describe_shares(report: Report, jobs: Jobs, files: int) -> None:
    """Where our client's CPU time goes; watched, so the run itself counts for nothing."""
    runs = Runs()
    jobs.ours(files, runs, profiled=True)
    [figures] = runs.figures
    for name, share in figures["shares"].items():
        report.add(f"share of our CPU time: {name}", Sample((share * 100,)), unit="%")


def peers(stack: ExitStack, report: Report, server: SlowS3) -> dict[str, hadoop.WarmMagic]:
    """Hadoop as it is shipped, and tuned; none where it cannot be had."""
    try:
        found = {
            SHIPPED: stack.enter_context(hadoop.WarmMagic(server.endpoint_url)),
            TUNED: stack.enter_context(
                hadoop.WarmMagic(server.endpoint_url, threads=64, connections=200)
            ),
        }
    except hadoop.HadoopUnavailableError as error:
        report.note(f"Hadoop was not measured: {error}")
        return {}
    report.note("Hadoop 3.5.0's magic committer, one warm JVM for each of its settings")
    return found


def compare(report: Report, options: argparse.Namespace) -> None:
    """All sizes on one server."""
    sizes = options.files or ([40] if options.quick else list(GOALS))
    with ExitStack() as stack:
        server = stack.enter_context(SlowS3())
        writers = stack.enter_context(
            ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn"))
        )
        jobs = Jobs(server, writers)
        steps = our_steps(report, jobs)
        wanted = not (options.no_hadoop or options.quick)
        jvms = peers(stack, report, server) if wanted else {}
        for jvm in jvms.values():
            jobs.theirs(jvm, WARMUP_FILES, Runs())
        for files in sizes:
            rounds = options.rounds or (1 if options.quick else ROUNDS.get(files, 1))
            if files > SHIPPED_FILES_MAX:
                jvms.pop(SHIPPED, None)
            measure(report, jobs, jvms, files, rounds=rounds, steps=steps)
        describe_shares(report, jobs, min(sizes))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--no-hadoop", action="store_true")
    parser.add_argument("--files", type=int, nargs="+")
    options = parser.parse_args()
    report = Report("magic_commit", options.quick)
    report.note(f"{FILES_PER_TASK} files a task, {LATENCY_S * 1000:g} ms, {RATE_PER_S:,}/s")
    compare(report, options)
    report.finish()


if __name__ == "__main__":
    main()
