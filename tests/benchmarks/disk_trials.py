"""The same commits as in `cost_trials.py` on a disk in memory, where nothing is late."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from tests.benchmarks import counted_jobs
from tests.benchmarks.bench_job_commit import FILE_SYSTEMS, SETTINGS, Committer
from tests.benchmarks.commit_jobs import FILES_PER_TASK
from tests.benchmarks.cost_figures import StoreFigures, Timed
from tests.benchmarks.cost_trials import HADOOP_WARMUPS
from tests.benchmarks.driven_jobs import Files, commit, writing_processes
from tests.benchmarks.interleaved import scratch, tmpfs
from tests.benchmarks.processes import waited_since, waits
from tests.servers.hadoop.jvm import StoreJobs
from tests.servers.installation import ServerUnavailableError

if TYPE_CHECKING:
    import argparse
    from concurrent.futures import ProcessPoolExecutor
    from pathlib import Path

    from tests.benchmarks.interleaved import Report

COMMITTER = "v1"
# What c is taken from, and what the law is tried on.
FITTED_FILES, UNSEEN_FILES = 4_000, (2_000, 20_000)
QUICK_FILES = 1_000
HADOOP_FILES = (2_000, 4_000, 8_000)
_NAME = "part-{task:05d}-{number:05d}"
_DATA = bytes(100)


def on_disk(report: Report, options: argparse.Namespace, rounds: int) -> StoreFigures:
    """Everything of a disk in memory; the quickest of some rounds."""
    with ExitStack() as stack:
        folder = stack.enter_context(scratch(tmpfs()))
        counted = counted_jobs.on_disk(folder / "counted", COMMITTER)
        jobs = _Jobs(folder / "out", stack.enter_context(writing_processes()), rounds)
        sizes = (QUICK_FILES * 2,) if options.quick else UNSEEN_FILES
        return StoreFigures(
            committer=COMMITTER,
            asks="calls of the store",
            steps=sum(counted[0].commit.values()),
            counted=counted,
            one_file=(jobs.ours(1),),
            fitted=jobs.ours(QUICK_FILES if options.quick else FITTED_FILES),
            unseen=tuple(map(jobs.ours, sizes)),
            hadoop={} if options.no_hadoop or options.quick else jobs.theirs(stack, report),
        )


class _Jobs:
    """Both sides' jobs in one directory, each of our drivers in a process of its own."""

    def __init__(self, destination: Path, writers: ProcessPoolExecutor, rounds: int) -> None:
        self._destination = destination
        self._writers = writers
        self._rounds = rounds

    def ours(self, files: int) -> Timed:
        each = Files(min(files, FILES_PER_TASK), _NAME, _DATA)
        runs = [self._commit(max(1, files // FILES_PER_TASK), each) for _ in range(self._rounds)]
        best = min(runs, key=itemgetter("seconds"))
        cpu_s = min(one["cpu_s"] for one in runs)
        return _timed(files, best["seconds"], waited_s=best["waited_s"], cpu_s=cpu_s)

    def _commit(self, tasks: int, files: Files) -> dict[str, Any]:
        figures = commit(
            *(str(self._destination), tasks, files),
            writers=self._writers,
            tasks=tasks,
            committer=COMMITTER,
        )
        shutil.rmtree(self._destination)
        return figures

    def theirs(self, stack: ExitStack, report: Report) -> dict[str, tuple[Timed, ...]]:
        """Hadoop's two, on the file system that `file:` gets from it, in one warm JVM."""
        settings = {"fs.file.impl": FILE_SYSTEMS["checksummed"]}
        try:
            jvm = stack.enter_context(StoreJobs(settings, options=("-Xmx1g",)))
        except ServerUnavailableError as error:
            report.note(f"Hadoop was not measured: {error} (make servers)")
            return {}
        for _ in range(HADOOP_WARMUPS):
            for kind in SETTINGS:
                self._theirs(jvm, kind, HADOOP_FILES[0])
        return {
            f"Hadoop, {kind}": tuple(
                min(
                    (self._theirs(jvm, kind, files) for _ in range(self._rounds + 1)),
                    key=attrgetter("seconds"),
                )
                for files in HADOOP_FILES
            )
            for kind in SETTINGS
        }

    def _theirs(self, jvm: StoreJobs, kind: Committer, files: int) -> Timed:
        jvm.write(
            self._destination.as_uri(),
            tasks=files // FILES_PER_TASK,
            files=FILES_PER_TASK,
            settings=SETTINGS[kind],
        )
        before = waits()
        figures = jvm.commit()
        waited_s = waited_since(before)
        assert figures["visible"] == files, figures
        shutil.rmtree(self._destination)
        return _timed(files, figures["commit_job_ms"] / 1000, waited_s=waited_s, cpu_s=0.0)


def _timed(files: int, seconds: float, *, waited_s: float, cpu_s: float) -> Timed:
    return Timed(
        files=files,
        latency_s=0.0,
        rate_per_s=None,
        in_flight=1,
        seconds=seconds,
        cpu_s=cpu_s,
        waited_s=waited_s,
        requests={},
    )
