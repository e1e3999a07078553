"""Job commits on servers that are late, for the law: which are run, and what they take."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fsspec_commit.effects.pacing import IN_FLIGHT_MAX
from tests.benchmarks import counted_jobs
from tests.benchmarks.commit_jobs import Jobs, Limits, Runs, peers
from tests.benchmarks.cost_figures import StoreFigures, Timed
from tests.benchmarks.driven_jobs import writing_processes
from tests.benchmarks.scale_page import PLACES
from tests.benchmarks.slow_servers import (
    SlowServer,
    slow_gcs,
    slow_gen2,
    slow_hdfs,
    slow_s3,
    slow_s3_express,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from tests.benchmarks.interleaved import Report
    from tests.servers.hadoop.jvm import StoreJobs

HADOOP_WARMUPS = 2


@dataclass(frozen=True)
class Trial:
    """A commit to be timed: so many files, in such a place."""

    files: int
    place: Limits


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is measured on one store.

    Attributes:
        server: Starts it.
        one_file: Latencies of commits of one file.
        fitted: What c is taken from.
        unseen: What the law is tried on.
        hadoop: Sizes of Hadoop's commits, in the place that the page speaks of; none: it has none.
    """

    server: Callable[[ExitStack], SlowServer]
    one_file: tuple[float, float]
    fitted: Trial
    unseen: tuple[Trial, ...]
    hadoop: tuple[int, ...] = ()


def _late(latency_s: float, rate_per_s: float | None = None, in_flight: int = 0) -> Limits:
    return Limits(latency_s, rate_per_s, in_flight or IN_FLIGHT_MAX)


_NEAR = _late(0.02)
_IN_BUCKETS = (
    Trial(2_000, _late(0.05)),
    Trial(500, _late(0.02, in_flight=16)),
    Trial(1_000, _late(0.02, 1_000.0)),
)
_HADOOP_FILES = (100, 200, 400)
_NEAR_NAME_NODE = _late(0.005)
_IN_BUCKET = Plan(
    server=slow_s3,
    one_file=(0.02, 0.1),
    fitted=Trial(1_000, _NEAR),
    unseen=_IN_BUCKETS,
    hadoop=_HADOOP_FILES,
)
STORES = {
    "S3": _IN_BUCKET,
    "S3 Express": replace(_IN_BUCKET, server=slow_s3_express, unseen=_IN_BUCKETS[:1], hadoop=()),
    "GCS": replace(_IN_BUCKET, server=slow_gcs),
    "Gen2": replace(_IN_BUCKET, server=slow_gen2),
    "HDFS": Plan(
        server=slow_hdfs,
        one_file=(0.005, 0.02),
        fitted=Trial(600, _NEAR_NAME_NODE),
        unseen=(Trial(1_000, _NEAR), Trial(400, _late(0.005, in_flight=8))),
        hadoop=_HADOOP_FILES,
    ),
}


def quick(plan: Plan) -> Plan:
    """As little of it as shows that it works."""
    small = replace(plan.fitted, files=40)
    return replace(plan, fitted=small, unseen=(replace(plan.unseen[0], files=60),))


def on_server(
    report: Report, name: str, plan: Plan, options: argparse.Namespace, rounds: int
) -> StoreFigures:
    """Everything of one store that is late; the quickest of some rounds."""
    with ExitStack() as stack:
        server = plan.server(stack)
        counted = counted_jobs.on_server(server)
        nearest, farthest = plan.one_file
        jobs = Jobs(server, stack.enter_context(writing_processes()), _late(nearest))
        steps = jobs.count(report, f"{name}, one file")

        def timed(trial: Trial) -> Timed:
            runs, place = Runs(), trial.place
            seconds = [
                jobs.ours(trial.files, runs, limits=place, concurrency=place.in_flight)
                for _ in range(rounds)
            ]
            return _quickest(trial, seconds, runs)

        one_file = tuple(timed(Trial(1, _late(late))) for late in (nearest, farthest))
        fitted, unseen = timed(plan.fitted), tuple(map(timed, plan.unseen))
        jobs.limits = replace(PLACES[name], in_flight=IN_FLIGHT_MAX)
        jvms = peers(stack, report, server, options) if plan.hadoop else {}
        return StoreFigures(
            committer=server.committer,
            asks="requests",
            steps=steps,
            counted=counted,
            one_file=one_file,
            fitted=fitted,
            unseen=unseen,
            hadoop={
                title: _theirs(jobs, jvm, threads, plan.hadoop, rounds + 1)
                for (title, jvm), threads in zip(jvms.items(), server.threads, strict=False)
            },
        )


def _theirs(
    jobs: Jobs, jvm: StoreJobs, threads: int, sizes: Sequence[int], rounds: int
) -> tuple[Timed, ...]:
    """Hadoop's commits where the jobs now are, once the JVM is warm."""
    for _ in range(HADOOP_WARMUPS):
        jobs.theirs(jvm, sizes[0], Runs())
    commits = []
    for files in sizes:
        runs = Runs()
        seconds = [jobs.theirs(jvm, files, runs) for _ in range(rounds)]
        trial = Trial(files, replace(jobs.limits, in_flight=threads))
        commits.append(_quickest(trial, seconds, runs))
    return tuple(commits)


def _quickest(trial: Trial, seconds: Sequence[float], runs: Runs) -> Timed:
    best = seconds.index(min(seconds))
    place = trial.place
    return Timed(
        files=trial.files,
        latency_s=place.latency_s,
        rate_per_s=place.rate_per_s,
        in_flight=place.in_flight,
        seconds=seconds[best],
        # The least of all runs: a busy neighbour on the core adds to it as well.
        cpu_s=min((figures["cpu_s"] for figures in runs.figures), default=0.0),
        waited_s=runs.waited_s[best],
        requests=dict(sorted(runs.seen[best].requests.items())),
    )
