"""How long `task.commit()` takes for 100 files, the call alone.

The goal, at most 1 ms, is for tmpfs: on a disk the manifest is flushed (records always are, so that
a commit that was reported cannot be lost), and the figure is the disk's.

    python -m tests.benchmarks.bench_task_commit [--quick] [--rounds N]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import fsspec_commit as fc
from tests.benchmarks.interleaved import (
    Report,
    Sample,
    arguments,
    disk,
    kind_of,
    scratch,
    seconds_of,
    tmpfs,
)

if TYPE_CHECKING:
    from pathlib import Path

GOAL_MS = 1
FILES = 100
WARMUPS = 3
DATA = bytes(100)


def task_commits(destination: Path, *, tasks: int, directories: int) -> Sample:
    """Milliseconds of each task's commit, in one job that is then aborted."""
    times = []
    job = fc.Job(destination).start()
    for _ in range(WARMUPS + tasks):
        task = job.task()
        for i in range(FILES):
            folder = f"part={i % directories}/" if directories else ""
            with task.open(f"{folder}part-{i:05d}") as file:
                file.write(DATA)
        times.append(seconds_of(task.commit) * 1000)
    job.abort()
    return Sample(tuple(times[WARMUPS:]))


def main() -> None:
    options = arguments(__doc__).parse_args()
    report = Report("task_commit", options.quick)
    tasks = options.rounds or (5 if options.quick else 200)
    for place in (tmpfs(), disk()):
        with scratch(place) as folder:
            for directories in (0, 20):
                sample = task_commits(
                    folder / f"out-{directories}", tasks=tasks, directories=directories
                )
                shape = f"in {directories} directories" if directories else "flat"
                goal = GOAL_MS if place == tmpfs() else None
                name = f"{FILES} files {shape}, {kind_of(place)}"
                report.add(name, sample, unit="ms", at_most=goal)
    report.finish()


if __name__ == "__main__":
    main()
