"""Fair timing of alternatives on one machine, and one way to report it.

Every benchmark imports this module. Alternatives are run in turn (A, B, A, B, …), so that whatever
else the machine does falls on all of them; what is reported is medians with their extremes, and
ratios of medians. Nothing here asserts a time: a goal is printed beside the figure.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import platform
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

REPORTED_VERSIONS = (
    *("fsspec-commit", "fsspec", "msgspec", "pyarrow", "pandas"),
    *("s3fs", "aiobotocore", "botocore", "aiohttp", "gcsfs", "adlfs", "azure-core"),
)
TMPFS = Path("/dev/shm")
DISK = Path("/var/tmp")


@dataclass(frozen=True)
class Sample:
    """What one alternative measured, run by run, in the unit of its report."""

    values: tuple[float, ...]

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def high(self) -> float:
        return max(self.values)


def seconds_of(call: Callable[[], object]) -> float:
    """The time one call takes, with no garbage of an earlier one to collect in it."""
    gc.collect()
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def interleave(
    sides: Mapping[str, Callable[[], float]], *, rounds: int, warmups: int = 1
) -> dict[str, Sample]:
    """Measure every side once a round, in turn, and drop the warm-up rounds.

    A side returns its own figure, so it can prepare and clean up without being timed.
    """
    values: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(warmups + rounds):
        for name, measure in sides.items():
            value = measure()
            if number >= warmups:
                values[name].append(value)
    return {name: Sample(tuple(found)) for name, found in values.items()}


@dataclass
class Report:
    """A table for people and one line of JSON for programs: the last line a benchmark prints."""

    benchmark: str
    quick: bool
    rows: list[dict[str, Any]] = field(default_factory=list)
    ratios: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    load_before: tuple[float, ...] = field(default_factory=os.getloadavg)

    def add(
        self,
        name: str,
        sample: Sample,
        *,
        unit: str,
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> None:
        """A figure by itself, with the goal it should meet."""
        self.rows.append(
            {
                "name": name,
                "unit": unit,
                "count": len(sample.values),
                "min": sample.low,
                "median": sample.median,
                "max": sample.high,
                **self._goal(sample.median, at_most=at_most, at_least=at_least),
            }
        )

    def compare(
        self,
        name: str,
        above: Sample,
        below: Sample,
        *,
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> None:
        """The ratio of two medians; its extremes are those of the pairs measured side by side."""
        ratio = above.median / below.median
        pairs = [a / b for a, b in zip(above.values, below.values, strict=True)]
        self.ratios.append(
            {
                "name": name,
                "ratio": ratio,
                "min": min(pairs),
                "max": max(pairs),
                **self._goal(ratio, at_most=at_most, at_least=at_least),
            }
        )

    def note(self, text: str) -> None:
        """Something that must be read together with the figures."""
        self.notes.append(text)

    def _goal(
        self, value: float, *, at_most: float | None, at_least: float | None
    ) -> dict[str, Any]:
        if at_most is not None and not self.quick:
            return {"goal": f"at most {at_most:g}", "met": value <= at_most}
        if at_least is not None and not self.quick:
            return {"goal": f"at least {at_least:g}", "met": value >= at_least}
        return {"goal": None, "met": None}

    def finish(self) -> None:
        """Print everything."""
        where = environment(self.load_before)
        print(f"\n== {self.benchmark}{' (quick: figures mean nothing)' if self.quick else ''}")
        print(f"   {where['machine']}, {where['cpus']} CPUs, {where['memory_gb']} GB, ", end="")
        print(f"{where['system']}, Python {where['python']}")
        print("   " + ", ".join(f"{name} {version}" for name, version in where["versions"].items()))
        print(f"   load average {where['load_before']} -> {where['load_after']}")
        width = max((len(item["name"]) for item in [*self.rows, *self.ratios]), default=0)
        if self.rows:
            print(f"   {'':{width}}  {'min':>10} {'median':>10} {'max':>10}")
        for row in self.rows:
            figures = " ".join(f"{row[part]:10.3f}" for part in ("min", "median", "max"))
            print(f"   {row['name']:{width}}  {figures} {row['unit']}{_shown_goal(row)}")
        for ratio in self.ratios:
            extremes = f"({ratio['min']:.2f} to {ratio['max']:.2f})"
            print(f"   {ratio['name']:{width}}  {ratio['ratio']:.3f} x {extremes}", end="")
            print(_shown_goal(ratio))
        for note in self.notes:
            print(f"   note: {note}")
        print(
            json.dumps(
                {
                    "benchmark": self.benchmark,
                    "quick": self.quick,
                    "environment": where,
                    "rows": self.rows,
                    "ratios": self.ratios,
                    "notes": self.notes,
                }
            ),
            flush=True,
        )


def _shown_goal(item: Mapping[str, Any]) -> str:
    if item["goal"] is None:
        return ""
    return f"   goal {item['goal']}: {'met' if item['met'] else 'MISSED'}"


def environment(load_before: tuple[float, ...]) -> dict[str, Any]:
    """What the figures depend on: the machine, the versions, and how busy it was."""
    versions = {}
    for name in REPORTED_VERSIONS:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "machine": _processor(),
        "cpus": os.cpu_count(),
        "memory_gb": round(pages / 1e9),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": versions,
        "load_before": [round(load, 2) for load in load_before],
        "load_after": [round(load, 2) for load in os.getloadavg()],
    }


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def tmpfs() -> Path:
    """A folder in memory where there is one, so that no disk is measured by accident."""
    return TMPFS if TMPFS.is_dir() else Path(tempfile.gettempdir())


def disk() -> Path:
    """A folder that outlives a reboot, hence on a disk."""
    return DISK if DISK.is_dir() else Path(tempfile.gettempdir())


def kind_of(place: Path) -> str:
    """The type of the file system that holds a folder, as the kernel calls it."""
    best, kind = "", "unknown"
    with contextlib.suppress(OSError):
        for line in Path("/proc/mounts").read_text("utf-8").splitlines():
            _, mounted, found, *_ = line.split(" ")
            if place.resolve().is_relative_to(mounted) and len(mounted) >= len(best):
                best, kind = mounted, found
    return kind


@contextlib.contextmanager
def scratch(place: Path) -> Iterator[Path]:
    """A folder of the benchmark's own, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="fsspec-commit-benchmark-", dir=place))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The options every benchmark has; the first line of its docstring introduces it."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="a small run that shows only that it works"
    )
    parser.add_argument("--rounds", type=int, help="how often each alternative is measured")
    return parser
