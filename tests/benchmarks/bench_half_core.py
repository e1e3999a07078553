"""Job commit by a driver that has half a core, as in a small container, beside Hadoop's.

From its start on the driver's process is held to half of a core by the kernel (`cpu_quota.py`), and
so is the JVM with Hadoop's committer, which is tuned and warm. Servers, and the processes in which
our tasks are written, are not. The servers are the project's own, 50 ms away, that of S3 with 3,500
requests a second; the job has 2,000 files of 100 tasks. The bound is that of `commit_jobs.py` with
175 calls in flight, on S3 its R·L. It knows of no CPU: what half a core adds to the waiting is what
is measured.

Where no quota can be had, only our commits without one are measured, which is said.

Goals, of the issue: at most 1.3 times the bound, and Hadoop takes at least twice as long.

    python -m tests.benchmarks.bench_half_core [--quick] [--rounds N]
        [--no-hadoop]        our own figures only
        [--files N]          another size
        [--on S3|GCS|Gen2]   one server only
        [--in-flight N]      calls of ours, and in the bound
        [--share PART]       of a core, another than a half
"""

from __future__ import annotations

import signal
import sys
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.benchmarks.commit_jobs import FILES_PER_TASK, Jobs, Limits, Runs, measure, peers
from tests.benchmarks.cpu_quota import Quota, QuotaUnavailableError, part_of_a_core
from tests.benchmarks.driven_jobs import writing_processes
from tests.benchmarks.interleaved import Report, Sample, arguments
from tests.benchmarks.slow_servers import slow_gcs, slow_gen2, slow_s3

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from tests.benchmarks.slow_servers import SlowServer

LATENCY_S = 0.05
S3_RATE_PER_S = 3_500
IN_FLIGHT = int(S3_RATE_PER_S * LATENCY_S)
FILES, QUICK_FILES = 2_000, 40
SHARE = 0.5
ROUNDS = 2
WARMUPS, WARMUP_FILES = 2, 400
GOAL, AHEAD_GOAL = 1.3, 2


class Place(NamedTuple):
    """A server, its limits, and our sides by their options."""

    server: Callable[[ExitStack], SlowServer]
    limits: Limits
    ours: Mapping[str, Mapping[str, Any]]


PLACES = {
    "S3": Place(
        slow_s3,
        Limits(LATENCY_S, S3_RATE_PER_S, IN_FLIGHT),
        {"ours": {}, f"ours, {IN_FLIGHT} in flight": {"concurrency": IN_FLIGHT}},
    ),
    "GCS": Place(slow_gcs, Limits(LATENCY_S, in_flight=IN_FLIGHT), {"ours": {}}),
    "Gen2": Place(slow_gen2, Limits(LATENCY_S, in_flight=IN_FLIGHT), {"ours": {}}),
}


def compare(report: Report, name: str, quota: Quota | None, options: argparse.Namespace) -> None:
    """One server: ours and Hadoop's within the quota; ours without, where there is none."""
    files = options.files or (QUICK_FILES if options.quick else FILES)
    place = PLACES[name]
    if options.in_flight:
        wanted = {"concurrency": options.in_flight}
        limits = replace(place.limits, in_flight=options.in_flight)
        place = Place(place.server, limits, {f"ours, {options.in_flight} in flight": wanted})
    with ExitStack() as stack:
        server = place.server(stack)
        jobs = Jobs(server, stack.enter_context(writing_processes()), place.limits)
        commits = partial(
            measure,
            *(report, jobs),
            files=files,
            rounds=options.rounds or (1 if options.quick else ROUNDS),
            steps=jobs.count(report, f"{name}, one file"),
        )
        if quota is None:
            commits({}, title=f"{name}, no quota", ours=place.ours, at_most=None)
            return
        title, within = f"{name}, {quota.share:g} of a core", {"within": quota.command}
        jvms = peers(stack, report, server, options, tuned_only=True, **within)
        for jvm in jvms.values():
            for _ in range(WARMUPS):
                jobs.theirs(jvm, WARMUP_FILES, Runs())
        commits(
            jvms,
            title=title,
            ours={side: {**how, **within} for side, how in place.ours.items()},
            at_most=GOAL,
            ahead_at_least=AHEAD_GOAL,
        )
        jobs.describe_layers(report, title, files, **within)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--no-hadoop", action="store_true")
    parser.add_argument("--files", type=int)
    parser.add_argument("--on", choices=tuple(PLACES))
    parser.add_argument("--in-flight", type=int)
    parser.add_argument("--share", type=float, default=SHARE)
    options = parser.parse_args()
    # Whoever stops it must not leave a control group behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    report = Report("half_core", options.quick)
    report.note(f"{FILES_PER_TASK} files a task, {LATENCY_S * 1000:g} ms")
    with ExitStack() as stack:
        quota = None
        try:
            quota = stack.enter_context(part_of_a_core(options.share))
        except QuotaUnavailableError as error:
            report.note(f"nothing was measured within a quota, which cannot be had here: {error}")
        else:
            report.note(f"the quota is kept by {quota.how}")
            computed = Sample((quota.computed,))
            report.add("what programs get that only compute", computed, unit="of a core")
        for name in [options.on] if options.on else PLACES:
            compare(report, name, quota, options)
    report.finish()


if __name__ == "__main__":
    main()
