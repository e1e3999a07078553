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
from functools import partial
from typing import TYPE_CHECKING

from fsspec_commit.effects.pacing import IN_FLIGHT_MAX
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
from tests.benchmarks.manifest_servers import SERVERS
from tests.servers.installation import ServerUnavailableError
from tests.servers.manifest_jobs import ManifestJobs

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from tests.benchmarks.manifest_servers import ManifestServer

LATE = Limits(0.02)
AT_ONCE = Limits(0.0)
FILES, QUICK_FILES = 5_000, 40
ROUNDS = 2
WARMUPS, WARMUP_FILES = 2, 500
GOAL = 1.5
TUNED_THREADS = 64
SHIPPED, TUNED = "Hadoop, 32 threads", f"Hadoop, {TUNED_THREADS} threads, tuned"
THREADS = "mapreduce.manifest.committer.io.threads"
# Java keeps five connections open unless it is told otherwise.
CONNECTIONS = f"-Dhttp.maxConnections={TUNED_THREADS}"
# The driver of GCS logs each call that takes longer than those before.
JVM = ("-Xmx2g", "-Djava.util.logging.config.file=/dev/null")


class Jobs:
    """Both sides' jobs on one slow server."""

    def __init__(self, name: str, server: ManifestServer, ours: OurJobs) -> None:
        self.name = name
        self.server = server
        self._ours = ours
        # In the commit of a job of one file, beside its own: that of the marker, and the like.
        self._further_renames = 0

    def count(self, report: Report) -> int:
        """How many steps our commit of a job of one file takes, one after the other."""
        seen = our_steps(report, f"{self.name}, one file", self._of_one_file)
        self._further_renames = seen.requests[self.server.rename] - 1
        return seen.steps

    def ours(
        self, files: int, runs: Runs, *, limits: Limits = LATE, watched: bool = False
    ) -> float:
        """Seconds of our `job.commit()`, which renames each file once."""
        seconds = self._commit(files, runs, limits, watched=watched)
        seen, rename = runs.seen[-1], self.server.rename
        renames = seen.requests[rename] - seen.throttled[rename]
        assert renames == files + self._further_renames, dict(seen.requests)
        return seconds

    def theirs(self, jvm: ManifestJobs, files: int, runs: Runs) -> float:
        """Seconds of Hadoop's `commitJob`."""
        self.server.set_load()
        _, destination = self.server.new_destinations()
        jvm.write(destination, tasks=files // FILES_PER_TASK, files=FILES_PER_TASK)
        before = LATE.put_on(self.server)
        figures = jvm.commit()
        runs.seen.append(self.server.statistics().since(before))
        assert figures["visible"] == files, figures
        self.server.forget()
        return float(figures["commit_job_ms"]) / 1000

    def _commit(self, files: int, runs: Runs, limits: Limits, *, watched: bool = False) -> float:
        destination, _ = self.server.new_destinations()
        layers = self.server.layers if watched else None
        return self._ours.commit(
            destination, files, runs, limits=limits, layers=layers, committer="manifest"
        )

    def _of_one_file(self, files: int, runs: Runs) -> float:
        return self._commit(files, runs, LATE)


def measure(
    report: Report,
    jobs: Jobs,
    jvms: dict[str, ManifestJobs],
    files: int,
    *,
    rounds: int,
    steps: int,
) -> None:
    """Every side commits so many files; their times, and how far they are from the bounds."""
    seen = {"ours": Runs(), **{name: Runs() for name in jvms}}
    sides: dict[str, Callable[[], float]] = {
        "ours": lambda: jobs.ours(files, seen["ours"]),
        **{name: partial(jobs.theirs, jvm, files, seen[name]) for name, jvm in jvms.items()},
    }
    samples = interleave(sides, rounds=rounds, warmups=0)
    title = f"{jobs.name}, {files:,} files"
    bounds = add_bounds(report, title, LATE, files, rounds=rounds, steps=steps)
    for name, sample in samples.items():
        is_ours = name == "ours"
        report.add(f"{title}: {name}", sample, unit="s")
        goals = (GOAL if is_ours else None, None)
        for (against, bound), goal in zip(bounds.items(), goals, strict=True):
            report.compare(f"{title}: {name} / {against}", sample, bound, at_most=goal)
        describe_calls(report, f"{title}: {name}", sample, seen[name], files)
    for name in jvms:
        report.compare(f"{title}: {name} / ours", samples[name], samples["ours"])
    describe_client(report, f"{title}: ours", seen["ours"], files)


def measure_at_once(report: Report, jobs: Jobs, files: int) -> None:
    """Ours alone where nothing waits: what the two processes have to give."""
    runs = Runs()
    title = f"{jobs.name}, {files:,} files, no latency: ours"
    sample = Sample((jobs.ours(files, runs, limits=AT_ONCE),))
    report.add(title, sample, unit="s")
    [figures] = runs.figures
    share = Sample((figures["cpu_s"] / sample.median,))
    report.add(f"{title}: our CPU", share, unit="of a core")
    describe_calls(report, title, sample, runs, files)


def measure_at_rate(report: Report, jobs: Jobs, limits: Limits, files: int, *, steps: int) -> None:
    """Ours alone where the server allows so much and no more."""
    runs = Runs()
    title = f"{jobs.name}, {files:,} files, {limits.rate_per_s:,}/s"
    bounds = add_bounds(report, title, limits, files, rounds=1, steps=steps)
    sample = Sample((jobs.ours(files, runs, limits=limits),))
    report.add(f"{title}: ours", sample, unit="s")
    for against, bound in bounds.items():
        report.compare(f"{title}: ours / {against}", sample, bound)
    describe_calls(report, f"{title}: ours", sample, runs, files)


def add_bounds(
    report: Report, title: str, limits: Limits, files: int, *, rounds: int, steps: int
) -> dict[str, Sample]:
    """The bound of our own steps, and the least one."""
    bounds = {
        f"{name} (k = {k})": Sample(
            (limits.bound_s(files, steps=k, in_flight=IN_FLIGHT_MAX),) * rounds
        )
        for name, k in (("the bound", steps), ("the least bound", LEAST_STEPS))
    }
    for name, bound in bounds.items():
        report.add(f"{title}: {name}", bound, unit="s")
    return bounds


def describe_calls(report: Report, name: str, sample: Sample, runs: Runs, files: int) -> None:
    """What the server saw of one side, and what each call took of it."""
    describe_server(report, name, sample, runs.seen)
    calls = Sample(tuple(one.requests.total() / files for one in runs.seen))
    report.add(f"{name}: calls a file", calls, unit="calls")
    each = Sample(tuple(one.cpu_s / one.requests.total() * 1e6 for one in runs.seen))
    report.add(f"{name}: the server's CPU a call", each, unit="us")


def peers(stack: ExitStack, report: Report, server: ManifestServer) -> dict[str, ManifestJobs]:
    """Hadoop as it is shipped, and tuned; none where it cannot be had."""
    tuned = {**server.settings, **dict(server.unlimited), THREADS: str(TUNED_THREADS)}
    try:
        return {
            SHIPPED: stack.enter_context(
                ManifestJobs(server.settings, jars=server.jars, options=JVM)
            ),
            TUNED: stack.enter_context(
                ManifestJobs(tuned, jars=server.jars, options=(*JVM, CONNECTIONS))
            ),
        }
    except ServerUnavailableError as error:
        report.note(f"Hadoop was not measured: {error}")
        return {}


def compare(report: Report, name: str, options: argparse.Namespace) -> None:
    """All sizes on one server."""
    with ExitStack() as stack:
        server = SERVERS[name](stack)
        writers = stack.enter_context(writing_processes())
        jobs = Jobs(name, server, OurJobs(server, writers))
        steps = jobs.count(report)
        wanted = not (options.no_hadoop or options.quick)
        jvms = peers(stack, report, server) if wanted else {}
        for jvm in jvms.values():
            for _ in range(WARMUPS):
                jobs.theirs(jvm, WARMUP_FILES, Runs())
        sizes = options.files or [QUICK_FILES if options.quick else FILES]
        for files in sizes:
            rounds = options.rounds or (1 if options.quick else ROUNDS)
            measure(report, jobs, jvms, files, rounds=rounds, steps=steps)
            measure_at_once(report, jobs, files)
            if options.rate:
                limits = Limits(LATE.latency_s, options.rate)
                measure_at_rate(report, jobs, limits, files, steps=steps)
        watched = Runs()
        jobs.ours(min(sizes), watched, watched=True)
        describe_shares(report, f"{name}: ours", watched)


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
