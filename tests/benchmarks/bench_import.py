"""What `import fsspec_commit` costs a program that has asyncio already.

Every figure comes from a fresh interpreter that finds compiled modules, as an installed package's
are: the first, which compiles them, is not counted. Goal: less than 60 ms, by `-X importtime`,
which itself adds a little; the plain time is reported as well.

    python -m tests.benchmarks.bench_import [--quick] [--rounds N]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import defaultdict

from tests.benchmarks.interleaved import Report, Sample, arguments, interleave

GOAL_MS = 60
SHOWN = 6
PLAIN = """
import asyncio, time
began = time.perf_counter()
import {module}
print((time.perf_counter() - began) * 1000)
"""


COMPILED = tempfile.TemporaryDirectory()
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    "PYTHONPYCACHEPREFIX": COMPILED.name,
}


def importtime(module: str) -> dict[str, tuple[float, float]]:
    """Milliseconds by module, own and with what it imports, as `-X importtime` says."""
    program = f"import asyncio\nimport {module}"
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", program],
        capture_output=True,
        check=True,
        text=True,
        env=ENVIRONMENT,
    )
    found = {}
    for line in ran.stderr.splitlines():
        own, total, name = line.removeprefix("import time:").split("|")
        if own.strip().isdecimal():
            found[name.strip()] = (int(own) / 1000, int(total) / 1000)
    return found


def plain(module: str) -> float:
    """Milliseconds between the two lines of a program, nobody watching."""
    ran = subprocess.run(
        [sys.executable, "-c", PLAIN.format(module=module)],
        capture_output=True,
        check=True,
        text=True,
        env=ENVIRONMENT,
    )
    return float(ran.stdout)


def main() -> None:
    options = arguments(__doc__).parse_args()
    if options.quick:
        # Compiling everything anew would take longer than all the rest.
        ENVIRONMENT.clear()
        ENVIRONMENT.update(os.environ)
    report = Report("import", options.quick)
    own: defaultdict[str, list[float]] = defaultdict(list)

    def total() -> float:
        modules = importtime("fsspec_commit")
        before = importtime_of_asyncio.keys()
        for name, (alone, _) in modules.items():
            if name not in before:
                own[name].append(alone)
        return modules["fsspec_commit"][1]

    for module in ("fsspec_commit", "fsspec"):
        importtime(module)
    importtime_of_asyncio = importtime("asyncio")
    samples = interleave(
        {
            "fsspec_commit, -X importtime": total,
            "fsspec_commit, plain": lambda: plain("fsspec_commit"),
            "fsspec, plain": lambda: plain("fsspec"),
        },
        rounds=options.rounds or (1 if options.quick else 21),
    )
    for name, sample in samples.items():
        goal = GOAL_MS if "importtime" in name else None
        report.add(name, sample, unit="ms", at_most=goal)
    slowest = sorted(own, key=lambda name: -Sample(tuple(own[name])).median)[:SHOWN]
    shown = ", ".join(f"{name} {Sample(tuple(own[name])).median:.1f}" for name in slowest)
    report.note(f"{len(own)} modules; the most milliseconds of their own: {shown}")
    report.finish()


if __name__ == "__main__":
    main()
