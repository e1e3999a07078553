"""Job commit of 100,000 files in 1,000 tasks on tmpfs, beside Hadoop's v1 and manifest committers.

All sides commit the same tree in turn, on the same machine, Hadoop in a JVM that has run three jobs
before. The floor is what Python cannot go below: a bare loop of `os.rename` over that tree, and the
removal of what is left. Goals, of either committer of ours: at least 3.5 times as fast as v1, at
least twice as fast as manifest.

    python -m tests.benchmarks.bench_job_commit [--quick] [--rounds N]
        [--file-system raw|checksummed]  Hadoop's: its faster one (default), or what `file:` gets
        [--no-hadoop]                    our own figures only
        [--profile]                      where our time goes, by function, instead
"""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import fsspec_commit as fc
from tests.benchmarks.interleaved import (
    Report,
    Sample,
    arguments,
    interleave,
    kind_of,
    scratch,
    seconds_of,
    tmpfs,
)
from tests.benchmarks.profiles import ThreadProfile
from tests.servers.hadoop.jvm import StoreJobs
from tests.servers.installation import ServerUnavailableError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from pathlib import Path

Committer = Literal["v1", "manifest"]
AT_LEAST: dict[Committer, float] = {"v1": 3.5, "manifest": 2.0}
DATA = bytes(100)
FILE_SYSTEMS = {
    "raw": "org.apache.hadoop.fs.RawLocalFileSystem",
    "checksummed": "org.apache.hadoop.fs.LocalFileSystem",
}
_FACTORY, _OUTPUT = (
    "mapreduce.outputcommitter.factory.scheme.file",
    "org.apache.hadoop.mapreduce.lib.output",
)
SETTINGS: dict[Committer, dict[str, str]] = {
    "v1": {
        _FACTORY: f"{_OUTPUT}.FileOutputCommitterFactory",
        "mapreduce.fileoutputcommitter.algorithm.version": "1",
    },
    "manifest": {
        _FACTORY: f"{_OUTPUT}.committer.manifest.ManifestCommitterFactory",
        # What Hadoop 3.5 ships; 8 made no difference on two cores.
        "mapreduce.manifest.committer.io.threads": "32",
    },
}
# The first job of a JVM is about twice as slow as the third; later ones do not get faster.
WARMUPS = 3


@dataclass(frozen=True)
class Shape:
    """A tree: how many tasks, files a task, and directories those files are spread over."""

    tasks: int
    files: int
    directories: int

    def __str__(self) -> str:
        return f"{self.directories} directories" if self.directories else "flat"

    @property
    def names(self) -> list[str]:
        """The files of one task."""
        count = len(self.folders)
        return [f"{self.folders[i % count]}part-{i:05d}" for i in range(self.files)]

    @property
    def folders(self) -> list[str]:
        """What the names begin with."""
        return [f"part={i}/" for i in range(self.directories)] or [""]


def written_job(destination: Path, shape: Shape, committer: Committer) -> fc.Job:
    """A job whose tasks have all committed."""
    job = fc.Job(destination, tasks=shape.tasks, committer=committer).start()
    names = shape.names
    for _ in range(shape.tasks):
        task = job.task()
        for name in names:
            with task.open(name) as file:
                file.write(DATA)
        task.commit()
    return job


def job_commit(destination: Path, shape: Shape, committer: Committer) -> float:
    """Seconds of our `job.commit()`."""
    job = written_job(destination, shape, committer)
    seconds = seconds_of(job.commit)
    assert job.result is not None
    assert job.result.file_count == shape.tasks * shape.files
    shutil.rmtree(destination)
    return seconds


def bare_tree(destination: Path, shape: Shape) -> list[tuple[str, str]]:
    """The same tree without us, and the renames that would publish it."""
    renames = []
    for task in range(shape.tasks):
        work = destination / "_work" / str(task)
        for folder in shape.folders:
            (work / folder).mkdir(parents=True)
        for name in shape.names:
            source = work / f"{name}.pending"
            source.write_bytes(DATA)
            renames.append((str(source), f"{destination}/{name}-{task}"))
    return renames


def floor(destination: Path, shape: Shape, removing: list[float]) -> float:
    """Seconds of the bare renames; those of removing what is left are appended to `removing`."""
    renames = bare_tree(destination, shape)

    def publish() -> None:
        for folder in shape.folders:
            (destination / folder).mkdir(exist_ok=True)
        for source, target in renames:
            os.rename(source, target)  # noqa: PTH104 - the bare call is what is measured

    seconds = seconds_of(publish)
    removing.append(seconds_of(lambda: shutil.rmtree(destination / "_work")))
    shutil.rmtree(destination)
    return seconds


class Peers:
    """Hadoop's two committers as sides of a comparison; every job's phases are kept."""

    def __init__(self, jvm: StoreJobs, destination: Path, shape: Shape) -> None:
        self.phases: dict[Committer, list[dict[str, float]]] = {"v1": [], "manifest": []}
        self._jvm = jvm
        self._destination = destination
        self._shape = shape

    def run(self, committer: Committer) -> float:
        """Seconds of one `commitJob`."""
        shape = self._shape
        written = self._jvm.write(
            self._destination.as_uri(),
            tasks=shape.tasks,
            files=shape.files,
            directories=shape.directories,
            settings=SETTINGS[committer],
        )
        phases = {**self._jvm.commit(), **written}
        assert phases["visible"] == shape.tasks * shape.files, phases
        shutil.rmtree(self._destination)
        self.phases[committer].append(phases)
        return float(phases["commit_job_ms"]) / 1000

    def side(self, committer: Committer) -> Callable[[], float]:
        """A side for `interleave`."""
        return lambda: self.run(committer)

    def warm(self) -> None:
        """Let the JVM compile what it will run."""
        for committer in self.phases:
            for _ in range(WARMUPS - 1):  # interleave's own warm-up round is one more
                self.run(committer)


def measure(report: Report, shape: Shape, jvm: StoreJobs | None, rounds: int) -> None:
    """Add one shape's figures to the report."""
    with scratch(tmpfs()) as folder:
        destination = folder / "out"
        removing: list[float] = []
        sides = {
            "our v1": lambda: job_commit(destination, shape, "v1"),
            "our manifest": lambda: job_commit(destination, shape, "manifest"),
            "bare renames": lambda: floor(destination, shape, removing),
        }
        if jvm is not None:
            peers = Peers(jvm, destination, shape)
            peers.warm()
            sides |= {f"Hadoop {kind}": peers.side(kind) for kind in AT_LEAST}
        samples = interleave(sides, rounds=rounds)
    for name, sample in samples.items():
        report.add(f"{shape}: {name}", sample, unit="s")
    report.add(f"{shape}: bare rmtree", Sample(tuple(removing[-rounds:])), unit="s")
    ours = {name: samples[name] for name in ("our v1", "our manifest")}
    for kind, goal in AT_LEAST.items():
        if jvm is not None:
            theirs = samples[f"Hadoop {kind}"]
            for name, sample in ours.items():
                report.compare(f"{shape}: Hadoop {kind} / {name}", theirs, sample, at_least=goal)
            commits = Sample(tuple(job["commit_task_ms"] for job in peers.phases[kind][-rounds:]))
            report.add(f"{shape}: Hadoop {kind}, a task's commit", commits, unit="ms")
    bare = Sample(
        tuple(
            renaming + removed
            for renaming, removed in zip(
                samples["bare renames"].values, removing[-rounds:], strict=True
            )
        )
    )
    for name, sample in ours.items():
        report.compare(f"{shape}: {name} / (bare renames + rmtree)", sample, bare)


def profile_commit(report: Report, shape: Shape, threads: ThreadProfile) -> None:
    """Print where the time of one commit goes; both committers of ours share all that counts."""
    with scratch(tmpfs()) as folder:
        job = written_job(folder / "out", shape, "v1")
        threads.clear()
        observed = seconds_of(job.commit)
        assert job.result is not None
        print(f"\n{shape}, by function (profiled, so slower: {observed:.2f} s)")
        threads.show()
    report.add(f"{shape}: ours, profiled", Sample((observed,)), unit="s")


def compare(report: Report, shapes: list[Shape], options: argparse.Namespace) -> None:
    """Measure all shapes with one JVM, or say why there is none."""
    with ExitStack() as stack:
        jvm = None
        if not (options.no_hadoop or options.quick):
            try:
                jvm = stack.enter_context(
                    StoreJobs(
                        {"fs.file.impl": FILE_SYSTEMS[options.file_system]},
                        options=("-Xmx2g", f"-Dwriters={os.cpu_count()}"),
                    )
                )
            except ServerUnavailableError as error:
                report.note(f"Hadoop was not measured: {error} (make servers)")
            else:
                report.note(f"Hadoop 3.5.0's {options.file_system} local file system, warm JVM")
        rounds = options.rounds or (2 if options.quick else 5)
        for shape in shapes:
            measure(report, shape, jvm, rounds)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--file-system", choices=tuple(FILE_SYSTEMS), default="raw")
    parser.add_argument("--no-hadoop", action="store_true")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    report = Report("job_commit", options.quick)
    tasks, files = (10, 20) if options.quick else (1_000, 100)
    shapes = [Shape(tasks, files, directories) for directories in (0, 20)]
    report.note(f"{tasks:,} tasks of {files} files, {kind_of(tmpfs())}")
    if options.profile:
        threads = ThreadProfile()  # one for all: the loop's thread starts once
        for shape in shapes:
            profile_commit(report, shape, threads)
    else:
        compare(report, shapes, options)
    report.finish()


if __name__ == "__main__":
    main()
