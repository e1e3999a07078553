"""Peak memory of a job commit: what it takes over an empty interpreter, for up to a million files.

The driver is a process of its own that starts a job, reads its messages from standard input and
commits; other processes write the files, which are empty, 1,000 a task, on tmpfs. Goal: at most
64 MB for a million files. Peaks are the kernel's (`VmHWM`), the library's imports included.

    python -m tests.benchmarks.bench_memory [--quick] [--rounds N]
"""

from __future__ import annotations

import shutil

from tests.benchmarks.driven_jobs import GOAL_MB, Files, commit, empty_interpreter
from tests.benchmarks.interleaved import Report, Sample, arguments, kind_of, scratch, tmpfs

FILES = Files(1_000, "part={of_20}/part-{number:05d}")


def main() -> None:
    options = arguments(__doc__).parse_args()
    report = Report("memory", options.quick)
    report.note(f"{FILES.count} files a task, {kind_of(tmpfs())}")
    sizes = (2, 4) if options.quick else (200, 1_000)
    rounds = options.rounds or 1
    empty = Sample(tuple(empty_interpreter() for _ in range(5)))
    report.add("an empty interpreter", empty, unit="MB")
    with scratch(tmpfs()) as folder:
        for tasks in sizes:
            runs = []
            for _ in range(rounds):
                out = folder / "out"
                runs.append(commit(str(out), tasks, FILES, streamed=True, tasks=tasks))
                shutil.rmtree(out)
            files = f"{tasks * FILES.count:,} files"
            for phase, figure in (
                ("imported", "imported_mb"),
                ("started", "started_mb"),
                ("committed", "peak_mb"),
            ):
                over = Sample(tuple(run[figure] - empty.median for run in runs))
                goal = GOAL_MB if phase == "committed" else None
                report.add(f"{files}: {phase}, over that", over, unit="MB", at_most=goal)
            took = Sample(tuple(run["seconds"] for run in runs))
            report.add(f"{files}: job commit", took, unit="s")
    report.finish()


if __name__ == "__main__":
    main()
