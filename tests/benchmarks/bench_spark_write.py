"""What a committed frame costs over Spark's own writer: 5 million rows of 11 columns, `local[2]`.

The data source and `fc.spark.write` beside Spark's Parquet writer, from a frame that Spark makes to
committed files; all in one plain directory (goal: at most 1.15 times), and in 50 Hive partitions
whose rows come in no order (goal: at most 0.7 times). Beside them stands what no writer can save:
Spark makes the rows and drops them ("made"), and ships them to Python, where they are dropped
("shipped"). Then how much memory a worker of Python takes for the partitions, over an idle one
(goal: under 400 MB).

    python -m tests.benchmarks.bench_spark_write [--quick] [--rounds N]
"""

from __future__ import annotations

import os
import shutil
import sys
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

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
)
from tests.benchmarks.processes import cpu_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

GOALS = {"plain": 1.15, "partitioned": 0.7}
MEMORY_GOAL_MB = 400
PARTITIONS = 50
TASKS = 4
COLUMNS = [
    "id",
    f"cast(pmod(hash(id), {PARTITIONS}) AS int) AS bucket",
    "cast(pmod(hash(id, 1), 1000000) AS int) AS number",
    "cast(id % 7 AS int) AS small",
    "xxhash64(id) AS long",
    "pmod(xxhash64(id, 2), 1000000) / 1000.0D AS price",
    "cast(pmod(xxhash64(id, 3), 1000) AS double) AS amount",
    "concat('user ', pmod(hash(id, 4), 100000)) AS user",
    "concat('city ', pmod(hash(id, 5), 50)) AS city",
    "timestamp_seconds(1700000000 + id) AS at",
    "id % 3 = 0 AS flag",
]


def session() -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "3g",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def by_spark(df: DataFrame, destination: str, by: list[str]) -> None:
    df.write.partitionBy(*by).parquet(destination)


def by_data_source(df: DataFrame, destination: str, by: list[str]) -> None:
    writer = df.write.format("fsspec_commit").mode("append")
    (writer.option("partition_by", by[0]) if by else writer).save(destination)


def by_write(df: DataFrame, destination: str, by: list[str]) -> None:
    fc.spark.write(df, destination, partition_by=by)


def made(df: DataFrame) -> None:
    """Spark's own part in every write of the rows: to make them."""
    df.write.format("noop").mode("overwrite").save()


def _dropped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    yield pa.record_batch({"rows": [sum(batch.num_rows for batch in batches)]})


def shipped(df: DataFrame) -> None:
    """Its part in every write by Python: to make them, and to ship them to Python."""
    df.mapInArrow(_dropped, "rows long").collect()


WRITERS = {"spark": by_spark, "data source": by_data_source, "write": by_write}


class Side:
    """One way to write a frame, and what it takes by the clock and of the processor."""

    def __init__(self, write: Callable[[], None], check: Callable[[], None]) -> None:
        self._write, self._check = write, check
        self._cpu_s: list[float] = []

    def __call__(self) -> float:
        """The seconds of one write."""
        os.sync()  # what an earlier write left to the disk is not this one's cost
        before = cpu_s()
        seconds = seconds_of(self._write)
        self._cpu_s.append(cpu_s() - before)
        self._check()
        return seconds

    def cpu_s(self, rounds: int) -> Sample:
        """The processor time of the last writes, of all processes."""
        return Sample(tuple(self._cpu_s[-rounds:]))


def sides_of(frame: DataFrame, destination: Path, by: list[str]) -> dict[str, Side]:
    """Each writer into a new directory, where all the rows must be; and what no writer can save."""

    def check() -> None:
        assert frame.sparkSession.read.parquet(str(destination)).count() == frame.count()
        assert len(list(destination.glob("bucket=*"))) == (PARTITIONS if by else 0)
        shutil.rmtree(destination)

    writers = {
        name: Side(partial(write, frame, str(destination), by), check)
        for name, write in WRITERS.items()
    }
    parts = {call.__name__: Side(partial(call, frame), lambda: None) for call in (made, shipped)}
    return writers | parts


def compare(report: Report, what: str, sides: dict[str, Side], *, rounds: int) -> None:
    """All of them in turn; a goal is of the clock."""
    samples = interleave(sides, rounds=rounds, warmups=0 if report.quick else 1)
    cpu = {name: side.cpu_s(rounds) for name, side in sides.items()}
    for name, sample in samples.items():
        report.add(f"{what}: {name}", sample, unit="s")
        report.add(f"{what}: {name}, of processor time", cpu[name], unit="s")
    for name in ("data source", "write"):
        report.compare(
            f"{what}: {name} / spark", samples[name], samples["spark"], at_most=GOALS[what]
        )
        report.compare(f"{what}: {name} / spark, of processor time", cpu[name], cpu["spark"])


def size_mb(
    write: Callable[[DataFrame, str, list[str]], None],
    frame: DataFrame,
    destination: Path,
    by: list[str],
) -> float:
    write(frame, str(destination), by)
    found = sum(path.stat().st_size for path in destination.rglob("*.parquet")) / 1e6
    shutil.rmtree(destination)
    return found


def workers() -> dict[int, float]:
    """The memory of every worker of Python that this process's JVM has started, in MB."""
    found = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            command = (status.parent / "cmdline").read_bytes()
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except (OSError, ValueError):
            continue
        if b"pyspark.daemon" in command and "VmHWM" in lines and _is_below_us(int(lines["Pid"])):
            found[int(lines["Pid"])] = int(lines["VmRSS"].split()[0]) / 1024
    return found


def _is_below_us(pid: int) -> bool:
    while pid > 1:
        if pid == os.getpid():
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


def peak_over_idle_mb(frame: DataFrame, destination: Path) -> float:
    """How much more memory a worker has at its peak than the smallest worker that is idle."""
    peak, stop = 0.0, Event()
    frame.limit(1).mapInArrow(lambda batches: batches, frame.schema).count()
    idle = min(workers().values())

    def watch() -> None:
        nonlocal peak
        while not stop.wait(0.02):
            peak = max([peak, *workers().values()])

    watching = Thread(target=watch)
    watching.start()
    by_write(frame, str(destination), ["bucket"])
    stop.set()
    watching.join()
    shutil.rmtree(destination)
    return peak - idle


def main() -> None:
    options = arguments(__doc__).parse_args()
    report = Report("spark_write", options.quick)
    count = 20_000 if options.quick else 5_000_000
    rounds = options.rounds or (1 if options.quick else 5)
    spark = session()
    fc.spark.register(spark)
    frame = spark.range(0, count, numPartitions=TASKS).selectExpr(*COLUMNS)
    report.note(f"{count:,} rows, {len(COLUMNS)} columns, {TASKS} tasks on {kind_of(disk())}")
    with scratch(disk()) as folder:
        for what, by in {"plain": [], "partitioned": ["bucket"]}.items():
            compare(report, what, sides_of(frame, folder / "out", by), rounds=rounds)
            for name in ("spark", "write"):
                found = size_mb(WRITERS[name], frame, folder / "out", by)
                report.note(f"{what}: {name} writes {found:.1f} MB")
        peak = peak_over_idle_mb(frame, folder / "out")
        name = "memory of a worker over idle, partitioned"
        report.add(name, Sample((peak,)), unit="MB", at_most=MEMORY_GOAL_MB)
    spark.stop()
    report.finish()


if __name__ == "__main__":
    main()
