"""Job commit on GCS and on Gen2 against what no client could beat, beside Hadoop's manifest one.

The servers are the project's own (`tests/servers/gcs/strict`, `tests/servers/azure/gen2`):
processes on loopback, in memory, that answer each call after 20 ms. The job has 5,000 files of 250
tasks, all in one directory. The bound is that of `commit_jobs.py`, with our calls in flight for C
and no limit for R, and a least bound has k = 4. Goal, of the issue: at most 1.5 times the bound.

Ours commits the same job once more on a server that adds nothing, which shows which of the two
processes has no more to give. Both servers are Python: where their CPU is near a whole core the
figures are theirs and not ours. With `--rate` it commits it on one that refuses more than so many
calls a second, as well: a new GCS bucket takes 1,000 writes
(https://cloud.google.com/storage/docs/request-rate), and Hadoop allows itself as many on Gen2.

Hadoop 3.5.0, warm, as it is shipped and tuned: its drivers are hadoop-azure 3.5.0, with its limit
and without, and gcs-connector 2.2.22, which does not rename: it copies and deletes.

    python -m tests.benchmarks.bench_manifest_commit [--quick] [--rounds N]
        [--no-hadoop]        our own figures only
        [--files N …]        other sizes
        [--on GCS|Gen2]      one server only
        [--rate N]           ours on a server that takes so many calls a second, too
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from fsspec_commit.effects.pacing import IN_FLIGHT_MAX
from tests.benchmarks.commit_jobs import (
    FILES_PER_TASK,
    Jobs,
    Limits,
    Runs,
    add_bounds,
    describe_calls,
    measure,
    peers,
)
from tests.benchmarks.driven_jobs import writing_processes
from tests.benchmarks.interleaved import Report, Sample, arguments
from tests.benchmarks.slow_servers import slow_gcs, slow_gen2

if TYPE_CHECKING:
    import argparse

SERVERS = {"GCS": slow_gcs, "Gen2": slow_gen2}
LATE = Limits(0.02, in_flight=IN_FLIGHT_MAX)
AT_ONCE = Limits(0.0)
FILES, QUICK_FILES = 5_000, 40
ROUNDS = 2
WARMUPS, WARMUP_FILES = 2, 500
GOAL = 1.5


def measure_at_once(report: Report, jobs: Jobs, title: str, files: int) -> None:
    """Ours alone where nothing waits: what the two processes have to give."""
    runs = Runs()
    title = f"{title}, no latency: ours"
    sample = Sample((jobs.ours(files, runs, limits=AT_ONCE),))
    report.add(title, sample, unit="s")
    [figures] = runs.figures
    share = Sample((figures["cpu_s"] / sample.median,))
    report.add(f"{title}: our CPU", share, unit="of a core")
    describe_calls(report, title, sample, runs, files)


def measure_at_rate(
    report: Report, jobs: Jobs, title: str, limits: Limits, files: int, *, steps: int
) -> None:
    """Ours alone where the server allows so much and no more."""
    runs = Runs()
    title = f"{title}, {limits.rate_per_s:,}/s"
    bounds = add_bounds(report, title, limits, files, rounds=1, steps=steps)
    sample = Sample((jobs.ours(files, runs, limits=limits, concurrency=IN_FLIGHT_MAX),))
    report.add(f"{title}: ours", sample, unit="s")
    for against, bound in bounds.items():
        report.compare(f"{title}: ours / {against}", sample, bound)
    describe_calls(report, f"{title}: ours", sample, runs, files)


def compare(report: Report, name: str, options: argparse.Namespace) -> None:
    """All sizes on one server."""
    with ExitStack() as stack:
        server = SERVERS[name](stack)
        jobs = Jobs(server, stack.enter_context(writing_processes()), LATE)
        steps = jobs.count(report, f"{name}, one file")
        jvms = peers(stack, report, server, options)
        for jvm in jvms.values():
            for _ in range(WARMUPS):
                jobs.theirs(jvm, WARMUP_FILES, Runs())
        sizes = options.files or [QUICK_FILES if options.quick else FILES]
        for files in sizes:
            rounds = options.rounds or (1 if options.quick else ROUNDS)
            title, ours = f"{name}, {files:,} files", {"ours": {"concurrency": IN_FLIGHT_MAX}}
            measure(
                *(report, jobs, jvms, files),
                title=title,
                rounds=rounds,
                steps=steps,
                ours=ours,
                at_most=GOAL,
            )
            measure_at_once(report, jobs, title, files)
            if options.rate:
                limits = replace(LATE, rate_per_s=options.rate)
                measure_at_rate(report, jobs, title, limits, files, steps=steps)
        jobs.describe_layers(report, f"{name}: ours", min(sizes))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--no-hadoop", action="store_true")
    parser.add_argument("--files", type=int, nargs="+")
    parser.add_argument("--rate", type=int)
    parser.add_argument("--on", choices=tuple(SERVERS))
    options = parser.parse_args()
    report = Report("manifest_commit", options.quick)
    latency = f"{LATE.latency_s * 1000:g} ms"
    report.note(f"{FILES_PER_TASK} files a task, {latency}, {IN_FLIGHT_MAX} calls in flight")
    for name in [options.on] if options.on else SERVERS:
        compare(report, name, options)
    report.finish()


if __name__ == "__main__":
    main()
