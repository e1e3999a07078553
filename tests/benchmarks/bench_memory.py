"""Peak memory of a job commit: what it takes over an empty interpreter, for up to a million files.

The driver is a process of its own that starts a job, reads its messages from standard input and
commits; other processes write the files, which are empty, 1,000 a task, on tmpfs. Goal: at most
64 MB for a million files. Peaks are the kernel's (`VmHWM`), the library's imports included.

    python -m tests.benchmarks.bench_memory [--quick] [--rounds N]
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import fsspec_commit as fc
from tests.benchmarks.interleaved import Report, Sample, arguments, kind_of, scratch, tmpfs

if TYPE_CHECKING:
    from pathlib import Path

GOAL_MB = 64
FILES = 1_000
PEAK = """
def peak():
    with open("/proc/self/status") as status:
        [line] = [line for line in status if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024 / 1e6
"""
EMPTY = PEAK + "print(peak())"
# Imports nothing that the library does not, so that the difference to an empty interpreter is ours.
DRIVER = (
    PEAK
    + """
import sys
import fsspec_commit as fc
imported = peak()
job = fc.Job(sys.argv[1], tasks=int(sys.argv[2])).start()
print(job.spec.to_json(), flush=True)
started = peak()
result = job.commit(fc.TaskCommit.from_json(line) for line in sys.stdin)
print(f'[{imported}, {started}, {peak()}, {result.file_count}, {result.duration_s}]')
"""
)


def empty_interpreter() -> float:
    """Peak megabytes of a Python that does nothing."""
    return float(subprocess.check_output([sys.executable, "-c", EMPTY]))


def write_task(spec: str, task_id: int) -> str:
    """Write one task's files, in a process of its own, and return its message."""
    with fc.Task.from_spec(fc.JobSpec.from_json(spec), task_id) as task:
        for i in range(FILES):
            with task.open(f"part={i % 20}/part-{i:05d}"):
                pass
    assert task.message is not None
    return task.message.to_json()


def commit(destination: Path, tasks: int) -> dict[str, Any]:
    """Peak megabytes of the driver, after its import, after `start` and after `commit`."""
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(destination), str(tasks)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as driver:
        assert driver.stdin is not None
        assert driver.stdout is not None
        spec = driver.stdout.readline()
        with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as writers:
            messages = list(writers.map(write_task, repeat(spec), range(tasks), chunksize=10))
        answer, _ = driver.communicate("\n".join(messages))
    imported, started, committed, files, seconds = json.loads(answer)
    assert files == tasks * FILES, files
    shutil.rmtree(destination)
    return {"imported": imported, "started": started, "committed": committed, "seconds": seconds}


def main() -> None:
    options = arguments(__doc__).parse_args()
    report = Report("memory", options.quick)
    report.note(f"{FILES} files a task, {kind_of(tmpfs())}")
    sizes = (2, 4) if options.quick else (200, 1_000)
    rounds = options.rounds or 1
    empty = Sample(tuple(empty_interpreter() for _ in range(5)))
    report.add("an empty interpreter", empty, unit="MB")
    with scratch(tmpfs()) as folder:
        for tasks in sizes:
            runs = [commit(folder / "out", tasks) for _ in range(rounds)]
            files = f"{tasks * FILES:,} files"
            for phase in ("imported", "started", "committed"):
                over = Sample(tuple(run[phase] - empty.median for run in runs))
                goal = GOAL_MB if phase == "committed" else None
                report.add(f"{files}: {phase}, over that", over, unit="MB", at_most=goal)
            took = Sample(tuple(run["seconds"] for run in runs))
            report.add(f"{files}: job commit", took, unit="s")
    report.finish()


if __name__ == "__main__":
    main()
