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

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from tests.benchmarks import hadoop
from tests.benchmarks.commit_jobs import (
    FILES_PER_TASK,
    LEAST_STEPS,
    Limits,
    OurJobs,
    Runs,
    describe_client,
    describe_server,
    describe_shares,
    our_steps,
    writing_processes,
)
from tests.benchmarks.interleaved import Report, Sample, arguments, interleave
from tests.servers.slow_s3.process import SlowS3

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

LATENCY_S = 0.05
RATE_PER_S = 3_500
LIMITS = Limits(LATENCY_S, RATE_PER_S)
GOALS = {2_000: 2.5, 20_000: 3.5}
THROTTLED_GOAL = 0.01
# As many calls in flight as the server's rate and latency have room for.
IN_FLIGHT = int(RATE_PER_S * LATENCY_S)
ROUNDS = {2_000: 3, 20_000: 1}
WARMUP_FILES = 400
OURS_AT_RATE = f"ours, {IN_FLIGHT} in flight"
SHIPPED, TUNED = "Hadoop, 8 threads", "Hadoop, 64 threads, 200 connections"
SHIPPED_FILES_MAX = 2_000
# What a request of ours goes through: see `commit_driver.py`.
LAYERS = (
    ("botocore", "aiobotocore/client.py", "_make_api_call"),
    ("aiohttp, sending", "aiobotocore/httpsession.py", "send"),
)


class Jobs:
    """Both sides' jobs on one slow server."""

    def __init__(self, server: SlowS3, ours: OurJobs) -> None:
        self._server = server
        self._ours = ours

    def ours(
        self, files: int, runs: Runs, *, in_flight: int | None = None, watched: bool = False
    ) -> float:
        """Seconds of our `job.commit()`."""
        destination = f"s3://{self._server.new_bucket()}/out"
        return self._ours.commit(
            destination,
            files,
            runs,
            limits=LIMITS,
            layers=LAYERS if watched else None,
            concurrency=in_flight,
        )

    def theirs(self, jvm: hadoop.WarmMagic, files: int, runs: Runs) -> float:
        """Seconds of Hadoop's `commitJob`."""
        self._server.set_load()
        destination = f"s3a://{self._server.new_bucket()}/out"
        jvm.write(destination, tasks=files // FILES_PER_TASK, files=FILES_PER_TASK)
        before = LIMITS.put_on(self._server)
        seconds = jvm.commit()
        runs.seen.append(self._server.statistics().since(before))
        self._server.forget()
        return seconds


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
        name: Sample((LIMITS.bound_s(files, steps=k, in_flight=IN_FLIGHT),) * rounds)
        for name, k in (
            (f"the bound (k = {steps})", steps),
            (f"the least bound (k = {LEAST_STEPS})", LEAST_STEPS),
        )
    }
    for name, bound in bounds.items():
        report.add(f"{files:,} files: {name}", bound, unit="s")
    for name, sample in samples.items():
        is_ours = name.startswith("ours")
        report.add(f"{files:,} files: {name}", sample, unit="s")
        goals = (GOALS.get(files) if is_ours else None, None)
        for (against, bound), goal in zip(bounds.items(), goals, strict=True):
            report.compare(f"{files:,} files: {name} / {against}", sample, bound, at_most=goal)
        most = THROTTLED_GOAL if is_ours else None
        describe_server(
            report,
            f"{files:,} files: {name}",
            sample,
            seen[name].seen,
            throttled_at_most=most,
        )
    describe_client(report, f"{files:,} files: ours", seen["ours"], files)


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
        writers = stack.enter_context(writing_processes())
        jobs = Jobs(server, OurJobs(server, writers))
        steps = our_steps(report, "one file", jobs.ours).steps
        wanted = not (options.no_hadoop or options.quick)
        jvms = peers(stack, report, server) if wanted else {}
        for jvm in jvms.values():
            jobs.theirs(jvm, WARMUP_FILES, Runs())
        for files in sizes:
            rounds = options.rounds or (1 if options.quick else ROUNDS.get(files, 1))
            if files > SHIPPED_FILES_MAX:
                jvms.pop(SHIPPED, None)
            measure(report, jobs, jvms, files, rounds=rounds, steps=steps)
        watched = Runs()
        jobs.ours(min(sizes), watched, watched=True)
        describe_shares(report, "ours", watched)


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
