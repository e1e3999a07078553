"""What the jar costs an unchanged Spark job, beside Spark's own committer in the same session.

5 million rows of 11 columns by `local[2]` to a disk: plain (goal: at most 1.03 times), into 50 Hive
partitions (1.03), and appends of one row in a warm session (goal: 0.1 s more). Beside the clock
stands the processor time of all processes: it tells a busy machine from a job that costs more.

`--in-memory` writes to tmpfs, to tell what a disk has to do with it.

    python -m tests.benchmarks.bench_spark_jar [--quick] [--rounds N] [--in-memory]
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

import fsspec_commit as fc
from tests.benchmarks.interleaved import (
    Report,
    Sample,
    arguments,
    disk,
    interleave,
    kind_of,
    scratch,
    seconds_of,
    tmpfs,
)
from tests.benchmarks.processes import cpu_s
from tests.spark.conftest import COMMIT_PROTOCOL, PLAIN_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame

RATIO = 1.03
MORE_S = 0.1
PARTITIONS = 50
TASKS = 4
COLUMNS = (
    "id",
    f"CAST(id * 31 % {PARTITIONS} AS INT) AS day",
    "CAST(id % 1000 AS INT) AS a",
    "CAST(id % 7 AS INT) AS b",
    "CAST(hash(id) AS INT) AS c",
    "rand(1) AS x",
    "randn(2) AS y",
    "concat('label ', id % 1000) AS label",
    "uuid() AS name",
    "timestamp_micros(1700000000000000 + id * 1000) AS at",
    "id % 2 = 0 AS even",
)


def session(folder: Path) -> SparkSession:
    """Two threads; each side sets its commit protocol."""
    builder = SparkSession.builder.master("local[2]").appName("bench_spark_jar")
    settings = PLAIN_SETTINGS | {
        "spark.driver.memory": "4g",
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": "OFF",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return fc.spark.configure(builder).getOrCreate()


class Side:
    """Writes by one commit protocol, each to a destination that is then removed."""

    def __init__(
        self, spark: SparkSession, protocol: str, destination: Path, write: Callable[[str], object]
    ) -> None:
        self._spark, self._protocol = spark, protocol
        self._destination, self._write = destination, write
        self._cpu_s: list[float] = []

    def __call__(self) -> float:
        """The seconds one write takes."""
        self._spark.conf.set(COMMIT_PROTOCOL, self._protocol)
        before = cpu_s()
        seconds = seconds_of(lambda: self._write(str(self._destination)))
        self._cpu_s.append(cpu_s() - before)
        assert (self._destination / "_SUCCESS").exists()
        shutil.rmtree(self._destination)
        return seconds

    def cpu_s(self, rounds: int) -> Sample:
        """The processor time of the last writes."""
        return Sample(tuple(self._cpu_s[-rounds:]))


def compare(
    report: Report,
    name: str,
    sides: dict[str, Side],
    *,
    rounds: int,
    warmups: int,
    goal: float | None,
) -> None:
    """Both sides in turn, by the clock and by the processor's time."""
    samples = interleave(sides, rounds=rounds, warmups=warmups)
    for side, sample in samples.items():
        report.add(f"{name}: {side}", sample, unit="s")
    report.compare(f"{name}: ours / Spark's", samples["ours"], samples["Spark's"], at_most=goal)
    cpu = {side: made.cpu_s(rounds) for side, made in sides.items()}
    report.compare(f"{name}: the same, of processor time", cpu["ours"], cpu["Spark's"])


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--in-memory", action="store_true")
    options = parser.parse_args()
    report = Report("spark_jar", options.quick)
    place = tmpfs() if options.in_memory else disk()
    report.note(kind_of(place))
    count = 20_000 if options.quick else 5_000_000
    rounds = options.rounds or (1 if options.quick else 7)
    with scratch(place) as folder:
        spark = session(folder)
        ours = spark.conf.get(COMMIT_PROTOCOL)
        assert ours is not None
        protocols = {"ours": ours, "Spark's": PLAIN_SETTINGS[COMMIT_PROTOCOL]}
        frame: DataFrame = spark.range(0, count, 1, TASKS).selectExpr(*COLUMNS)
        one = spark.range(1)
        writes: dict[str, Callable[[str], object]] = {
            "plain": frame.write.parquet,
            f"{PARTITIONS} partitions": lambda path: frame.write.partitionBy("day").parquet(path),
            "one row": lambda path: one.write.mode("append").parquet(path),
        }
        for name, write in writes.items():
            is_small = name == "one row"
            compare(
                report,
                name,
                {
                    side: Side(spark, protocol, folder / "out", write)
                    for side, protocol in protocols.items()
                },
                rounds=rounds * 5 if is_small else rounds,
                warmups=0 if options.quick else 5 if is_small else 1,
                goal=None if is_small else RATIO,
            )
        spark.stop()
    report.finish()


if __name__ == "__main__":
    main()
