"""Run every benchmark, each in a process of its own, and print the goals together at the end.

A goal that is missed is shown and fails nothing: a time says as much about the machine as about the
code. What fails is a benchmark that does not run. All of them together stop after 25 minutes, which
is enough for a fifth of them on a machine that is busy, too: a night runs one, ``--share``.

    python -m tests.benchmarks.run_all [--quick] [--rounds N] [--minutes N] [--share NUMBER/COUNT]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.nights import Share

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# The quick ones first: what the time limit cuts off is the end. And those that take ten minutes far
# enough apart for nights that run each fifth one.
ORDER = (
    *("import", "pacing", "task_commit", "memory", "write_dataset", "job_commit"),
    *("s3_requests", "short_requests", "small_files", "blocks", "throughput", "crowds"),
    *("magic_commit", "manifest_commit", "half_core", "listing", "cost_law", "spark_s3", "scale"),
    *("spark_jar", "spark_write", "publisher"),
)


def run(name: str, how: Sequence[str], *, seconds: float) -> dict[str, Any] | None:
    """One benchmark's report, or None if it failed or ran out of time."""
    with subprocess.Popen(
        [sys.executable, "-m", f"tests.benchmarks.bench_{name}", *how],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that what it started can be stopped with it
    ) as process:
        try:
            output, _ = process.communicate(timeout=max(1, seconds))
        except BaseException as error:
            os.killpg(process.pid, signal.SIGTERM)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            print(f"\n== {name}: stopped, the time is up")
            return None
    lines = output.rstrip().splitlines()
    if process.returncode:
        print(*lines, f"\n== {name}: failed with status {process.returncode}", sep="\n")
        return None
    print(*lines[:-1], sep="\n", flush=True)
    report: dict[str, Any] = json.loads(lines[-1])
    return report


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="show only that they work")
    parser.add_argument("--rounds", type=int, help="of each benchmark; if not said, its own")
    parser.add_argument("--minutes", type=float, default=25, help="for all of them together")
    parser.add_argument(
        "--share",
        type=Share.parse,
        default=Share(0, 1),
        metavar="NUMBER/COUNT",
        help="run one of so many shares of them: 0/3, 1/3 and 2/3 together are all",
    )
    options = parser.parse_args()
    ends = time.monotonic() + options.minutes * 60
    how = ["--quick"] if options.quick else []
    if options.rounds is not None:
        how.append(f"--rounds={options.rounds}")
    reports = {
        name: run(name, how, seconds=ends - time.monotonic()) for name in options.share.of(ORDER)
    }
    print("\n== goals")
    for name, report in reports.items():
        for item in [*report["rows"], *report["ratios"]] if report else []:
            if item["goal"] is not None:
                figure = item.get("median", item.get("ratio"))
                verdict = "met" if item["met"] else "MISSED"
                unit = item.get("unit", "x")
                print(f"   {name}: {item['name']}: {figure:.3f} {unit}, ", end="")
                print(f"goal {item['goal']}: {verdict}")
    print(json.dumps(reports))
    failed = [name for name, report in reports.items() if report is None]
    if failed:
        print(f"did not finish: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
