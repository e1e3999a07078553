"""Job commit by several processes, beside one driver that publishes alone, in the same run.

The server is the project's own (`tests/servers/slow_s3`): a process on loopback that answers each
call after 50 ms, and more than four prefixes take, 4 times 3,500 calls a second, with 503. Files
have one part of 100 bytes, a thousand a task. The processes have begun, and imported the SDK.

Once each process may have as many calls in flight as it finds room for: then the cores of this
machine decide, which the server, the driver and the processes share. And once each may have so few
that no core is busy, as if each were a machine of its own: that is what the slices cost, since the
more processes would be as many times as fast without them.

With `--spark` workers of Spark publish as well, in a session of `local[4]`; they are ready, too.

Goal, of the issue: 4 processes, or workers, at least 3.2 times as fast as one driver.

    python -m tests.benchmarks.bench_publisher [--quick] [--rounds N]
        [--files N …]        other sizes
        [--processes N]      another number of them
        [--spark]            and as many workers of Spark
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.benchmarks.driven_jobs import Files, commit, writing_processes
from tests.benchmarks.interleaved import Report, arguments, interleave
from tests.benchmarks.slow_servers import slow_s3

if TYPE_CHECKING:
    import argparse
    from concurrent.futures import ProcessPoolExecutor

    from tests.benchmarks.slow_servers import SlowServer

LATENCY_S = 0.05
RATE_PER_S = 4 * 3_500
FILES_PER_TASK = 1_000
FILES = 16_000
FEW = 16
"""Calls in flight with which no process needs more than a part of a core: 320 a second."""
GOAL = 3.2
_FILES = Files(FILES_PER_TASK, "part-{number:05d}", bytes(100))


def seconds(server: SlowServer, writers: ProcessPoolExecutor, tasks: int, **how: Any) -> float:
    """Of one `job.commit()`; each file is completed once, whoever does it."""
    control = server.control
    control.set_load()
    destination, _ = server.new_destinations()
    figures = commit(
        destination,
        tasks,
        _FILES,
        writers=writers,
        when_written=lambda: control.set_load(latency_s=LATENCY_S, rate_per_s=RATE_PER_S),
        storage_options=server.storage_options,
        share_secrets=True,
        tasks=tasks,
        **how,
    )
    control.forget()
    return float(figures["seconds"])


def compare(report: Report, options: argparse.Namespace) -> None:
    """One driver and several processes, in turn, with many and with few calls in flight."""
    sizes = options.files or [4_000 if options.quick else FILES]
    alone, count = "one driver", options.processes
    sides: dict[str, dict[str, Any]] = {alone: {}, f"{count} processes": {"processes": count}}
    if options.spark:
        sides[f"{count} workers of Spark"] = {"processes": count, "on_spark": True}
    with ExitStack() as stack:
        server = slow_s3(stack)
        writers = stack.enter_context(writing_processes())
        for files in sizes:
            for held, how in ((f"{FEW} calls in flight each", {"concurrency": FEW}), ("free", {})):
                tasks = files // FILES_PER_TASK
                runs = {
                    name: partial(seconds, server, writers, tasks, **side, **how)
                    for name, side in sides.items()
                }
                samples = interleave(runs, rounds=options.rounds or 1, warmups=0)
                title = f"{files:,} files, {held}"
                for name, sample in samples.items():
                    report.add(f"{title}: {name}", sample, unit="s")
                    if name != alone:
                        of = f"{title}: {name} / {alone}"
                        report.compare(of, sample, samples[alone], at_most=1 / GOAL)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--files", type=int, nargs="+")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--spark", action="store_true")
    options = parser.parse_args()
    report = Report("publisher", options.quick)
    report.note(f"{os.cpu_count()} cores; {LATENCY_S * 1000:g} ms, {RATE_PER_S:,}/s")
    compare(report, options)
    report.finish()


if __name__ == "__main__":
    main()
