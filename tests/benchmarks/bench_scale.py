"""Peak memory of large commits: many tasks, partitions and replaced files.

The driver is a process of its own; other processes write the files, which are empty, on tmpfs. A
tree is written under exact names, each task into partitions of its own, then twice more, so that
every file is replaced in place: of the whole destination, and of its partitions. Then a job of none
deletes every file. The last figure is of the check of messages alone: it is given five million,
which it must not keep.

    python -m tests.benchmarks.bench_scale [--quick] [--tasks N] [--files N]
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.benchmarks.driven_jobs import GOAL_MB, Files, commit, empty_interpreter
from tests.benchmarks.interleaved import Report, Sample, arguments, kind_of, scratch, tmpfs

if TYPE_CHECKING:
    from pathlib import Path

NAME = "p={task}/part-{number:05d}.parquet"
# The messages are the caller's: made up one by one, so that nobody holds them.
MESSAGES = """
import sys
from collections.abc import Sequence
from types import SimpleNamespace
import fsspec_commit as fc
from tests.benchmarks.commit_driver import peak_mb
from fsspec_commit.protocol.messages import check_messages

JOB = "20261120T140355-9c1e5f00a1b2c3d4"
class Messages(Sequence):
    def __len__(self):
        return int(sys.argv[1])
    def __getitem__(self, n):
        if n >= len(self):
            raise IndexError
        attempt = f"{n:016x}"
        return fc.TaskCommit(task_id=n, attempt_id=attempt, file_count=1, bytes=1,
            manifest=f"{JOB}/manifests/{n}/{attempt}", digest=attempt * 4)
record = SimpleNamespace(job_id=JOB, tasks=int(sys.argv[1]), collect="messages")
job = SimpleNamespace(record=record)
count = sum(1 for _ in check_messages(job, Messages()))
assert count == int(sys.argv[1])
print(peak_mb())
"""


def measure(report: Report, folder: Path, tasks: int, files: int, empty: float) -> None:
    """Add the figures of four jobs: new files, all in place of old ones twice, none for all."""
    destination = folder / "out"
    shape = f"{tasks * files:,} files of {tasks:,} tasks and partitions"
    whole: dict[str, Any] = {"mode": "overwrite", "names": "exact"}
    for name, count, options in (
        ("new", tasks, whole),
        ("in place", tasks, whole),
        ("in place, by partitions", tasks, {**whole, "mode": "overwrite_partitions"}),
        ("deleted", 0, {"mode": "overwrite", "allow_empty": True}),
    ):
        run = commit(str(destination), count, Files(files, NAME), **options)
        assert run["replaced"] == (0 if name == "new" else tasks * files), run
        of = f"{shape}, {name}"
        report.add(f"{of}: messages", Sample((run["started_mb"] - empty,)), unit="MB")
        ours = Sample((run["peak_mb"] - run["started_mb"],))
        report.add(f"{of}: job commit, over that", ours, unit="MB", at_most=GOAL_MB)
        report.add(f"{of}: job commit", Sample((run["seconds"],)), unit="s")
    shutil.rmtree(destination)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--files", type=int, default=10, help="a task")
    options = parser.parse_args()
    report = Report("scale", options.quick)
    report.note(kind_of(tmpfs()))
    empty = empty_interpreter()
    report.add("an empty interpreter", Sample((empty,)), unit="MB")
    tasks, files = (20, 3) if options.quick else (options.tasks, options.files)
    count = 10_000 if options.quick else 5_000_000
    checked = float(subprocess.check_output([sys.executable, "-c", MESSAGES, str(count)]))
    name = f"{count:,} messages checked, over that"
    report.add(name, Sample((checked - empty,)), unit="MB", at_most=GOAL_MB)
    with scratch(tmpfs()) as folder:
        measure(report, folder, tasks, files, empty)
    report.finish()


if __name__ == "__main__":
    main()
