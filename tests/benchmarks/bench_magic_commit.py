"""Job commit on S3 against what no client could beat, beside Hadoop's magic committer.

The server is the project's own (`tests/servers/slow_s3`): a process on loopback that answers each
call after 50 ms and more than 3,500 calls a second with 503. The files have one part of 100 bytes.
One of our sides finds out how many calls to have in flight, the others are told.
The bound is that of `commit_jobs.py`, with 175 calls in flight, R·L, so that the server's rate is
all that counts.

Goals, of the issue: at most 2.5 times the bound for 2,000 files, 3.5 times for 20,000: the more
files, the more it is the client's CPU that decides, of which botocore takes a millisecond a call.
Hadoop as it is shipped commits the 2,000 only: 8 threads take N·L/8, two minutes for the 20,000.

    python -m tests.benchmarks.bench_magic_commit [--quick] [--rounds N]
        [--no-hadoop]        our own figures only
        [--files N …]        other sizes
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from fsspec_commit.effects.pacing import IN_FLIGHT_MAX
from tests.benchmarks.commit_jobs import FILES_PER_TASK, Jobs, Limits, Runs, measure, peers
from tests.benchmarks.driven_jobs import writing_processes
from tests.benchmarks.interleaved import Report, arguments
from tests.benchmarks.slow_servers import slow_s3

if TYPE_CHECKING:
    import argparse

LATENCY_S = 0.05
RATE_PER_S = 3_500
# As many calls in flight as the server's rate and latency have room for.
IN_FLIGHT = int(RATE_PER_S * LATENCY_S)
LIMITS = Limits(LATENCY_S, RATE_PER_S, IN_FLIGHT)
GOALS = {2_000: 2.5, 20_000: 3.5}
THROTTLED_GOAL = 0.01
ROUNDS = {2_000: 3, 20_000: 1}
WARMUP_FILES = 400
OURS = {
    "ours": {},
    **{f"ours, {most} in flight": {"concurrency": most} for most in (IN_FLIGHT_MAX, IN_FLIGHT)},
}
SHIPPED_FILES_MAX = 2_000


def compare(report: Report, options: argparse.Namespace) -> None:
    """All sizes on one server."""
    sizes = options.files or ([40] if options.quick else list(GOALS))
    with ExitStack() as stack:
        server = slow_s3(stack)
        jobs = Jobs(server, stack.enter_context(writing_processes()), LIMITS)
        steps = jobs.count(report, "one file")
        jvms = peers(stack, report, server, options)
        for jvm in jvms.values():
            jobs.theirs(jvm, WARMUP_FILES, Runs())
        for files in sizes:
            if files > SHIPPED_FILES_MAX:
                jvms.pop(server.shipped, None)
            measure(
                report,
                jobs,
                jvms,
                files,
                title=f"{files:,} files",
                rounds=options.rounds or (1 if options.quick else ROUNDS.get(files, 1)),
                steps=steps,
                ours=OURS,
                at_most=GOALS.get(files),
                throttled_at_most=THROTTLED_GOAL,
            )
        jobs.describe_layers(report, "ours", min(sizes))


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
