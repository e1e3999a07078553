"""Many files in one Spark job: what the driver keeps beside its JVM, and what the JVM tells it.

One job of Spark, by `local[2]` to tmpfs: 100,000 files of one line, 1,000 from each of 100 tasks,
or all of them from one. The driver process is what a job has beside its JVM; its peak is the
kernel's (`VmHWM`), imports included (goal: at most 100 MB over an empty interpreter). What the JVM
tells it is counted byte by byte on its standard input (goal: at most 10 MB).

Hadoop writes by a driver that starts no programs. Its own starts two for each file, which takes
100,000 of them the better part of an hour on two cores.

    python -m tests.benchmarks.bench_spark_scale [--quick] [--tasks N …] [--files N]
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

import fsspec_commit as fc
from tests.benchmarks.driven_jobs import empty_interpreter
from tests.benchmarks.interleaved import Report, Sample, arguments, kind_of, scratch, tmpfs
from tests.servers.hadoop.bare_disk import BARE_DISK, BARE_DISK_CLASS
from tests.spark.conftest import PLAIN_SETTINGS

FILES = 100_000
TASKS = (100, 1)
PEAK_GOAL_MB = 100
MESSAGES_GOAL_MB = 10


class Counted:
    """A driver process whose standard input is counted; it starts as an interpreter would."""

    def __init__(self, folder: Path) -> None:
        self.python = folder / "python"
        self._told = folder / "told"
        self._pid = folder / "pid"
        command = f'tee -a "{self._told}" | (sh -c \'echo $PPID\' >"{self._pid}"; '
        command += f'exec "{sys.executable}" "$@")'
        self.python.write_text(f"#!/bin/sh\n{command}\n", "utf-8")
        self.python.chmod(0o755)

    def told_mb(self) -> float:
        """What it was told so far."""
        return self._told.stat().st_size / 1e6

    def peak_mb(self) -> float:
        """The most memory it has had so far."""
        status = Path(f"/proc/{self._pid.read_text('utf-8').strip()}/status").read_text("utf-8")
        [peak] = [line for line in status.splitlines() if line.startswith("VmHWM:")]
        return int(peak.split()[1]) * 1024 / 1e6


def session(folder: Path, python: Path) -> SparkSession:
    """Two threads."""
    settings = PLAIN_SETTINGS | {
        "spark.driver.memory": "4g",
        "spark.driver.maxResultSize": "0",
        "spark.local.dir": str(folder / "local"),
        "spark.driver.extraClassPath": f"{BARE_DISK.program.parents[1]}/lib/*",
        "spark.hadoop.fs.file.impl": BARE_DISK_CLASS,
    }
    builder = SparkSession.builder.master("local[2]").appName("bench_spark_scale")
    for name, value in settings.items():
        builder = builder.config(name, value)
    configured = fc.spark.configure(builder)
    return configured.config("spark.fsspec_commit.python", str(python)).getOrCreate()


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--tasks", type=int, nargs="+", default=TASKS)
    parser.add_argument("--files", type=int, default=FILES)
    options = parser.parse_args()
    report = Report("spark_scale", options.quick)
    files = 200 if options.quick else options.files
    report.note(f"{files:,} files, {kind_of(tmpfs())}")
    empty = Sample((empty_interpreter(),))
    report.add("an empty interpreter", empty, unit="MB")
    with scratch(tmpfs()) as folder:
        for tasks in (2,) if options.quick else options.tasks:
            own = folder / str(tasks)
            own.mkdir()
            counted = Counted(own)
            spark = session(own, counted.python)
            spark.range(1).write.parquet(str(own / "first"))
            idle, told = counted.peak_mb(), counted.told_mb()
            lines = spark.range(0, files, 1, tasks).selectExpr("CAST(id AS STRING) AS line")
            began = time.perf_counter()
            lines.write.option("maxRecordsPerFile", 1).text(str(own / "out"))
            took = time.perf_counter() - began
            assert len(list((own / "out").glob("part-*"))) == files
            name = f"{tasks} tasks"
            peak = Sample((counted.peak_mb() - empty.median,))
            messages = Sample((counted.told_mb() - told,))
            report.add(f"{name}: idle, over that", Sample((idle - empty.median,)), unit="MB")
            report.add(f"{name}: peak, over that", peak, unit="MB", at_most=PEAK_GOAL_MB)
            report.add(f"{name}: messages", messages, unit="MB", at_most=MESSAGES_GOAL_MB)
            report.add(f"{name}: the whole job", Sample((took,)), unit="s")
            spark.stop()
            shutil.rmtree(own)
    report.finish()


if __name__ == "__main__":
    main()
