"""Whole Spark jobs to S3 through the jar, beside Hadoop's magic committer in the same session.

The server is the project's own (`tests/servers/slow_s3`): a process on loopback that answers each
call after 50 ms. A job writes 2,000 small Parquet files from 16 threads, as 2,000 tasks of one file
each, and as 40 tasks of 50 Hive partitions each. Both sides write by the same driver, S3A; what is
different is what they ask around it (goal: at most 0.5 times the magic committer as it is shipped).

    python -m tests.benchmarks.bench_spark_s3 [--quick] [--rounds N] [--shapes TASKSxPARTITIONS …]
"""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

import fsspec_commit as fc
from tests.benchmarks.interleaved import Report, arguments, disk, interleave, scratch, seconds_of
from tests.benchmarks.processes import cpu_s
from tests.servers.hadoop import on_s3
from tests.servers.hadoop.on_spark import HADOOP_ON_SPARK
from tests.servers.slow_s3.server import SlowS3
from tests.spark.conftest import COMMIT_PROTOCOL, PLAIN_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tests.servers.http_service.control import Statistics

LATENCY_S = 0.05
THREADS = 16
RATIO = 0.5
SHAPES = ("2000x1", "40x50")
FASTER = {"spark.hadoop.fs.s3a.committer.threads": "64"}


def session(folder: Path, server: SlowS3) -> SparkSession:
    """As many threads as a small cluster has; each side sets its committer."""
    settings = PLAIN_SETTINGS | {
        "spark.driver.memory": "3g",
        "spark.driver.extraClassPath": f"{HADOOP_ON_SPARK.program.parents[1]}/lib/*",
        "spark.local.dir": str(folder),
        "spark.hadoop.fs.s3a.connection.maximum": "200",
        "spark.hadoop.fs.s3a.threads.max": "96",
    }
    store = on_s3.connection_of(server.storage_options)
    settings |= {f"spark.hadoop.{name}": value for name, value in store.items()}
    builder = SparkSession.builder.master(f"local[{THREADS}]").appName("bench_spark_s3")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return fc.spark.configure(builder).getOrCreate()


class Jobs:
    """One shape of job, by either side, each into a directory of its own."""

    def __init__(
        self, spark: SparkSession, server: SlowS3, bucket: str, tasks: int, partitions: int
    ) -> None:
        self._spark, self._server, self._bucket = spark, server, bucket
        self._files = tasks * partitions
        self._numbers = itertools.count()
        rows = spark.range(0, self._files * 2, 1, tasks)
        self._writer = rows.selectExpr("id", f"id % {partitions} AS day").write
        if partitions > 1:
            self._writer = self._writer.partitionBy("day")
        self.shape = f"{tasks}x{partitions}"
        self.asked: dict[str, Statistics] = {}
        self.cpu_s: dict[str, float] = {}
        self.tasks_s: dict[str, float] = {}

    def by(self, side: str, settings: Mapping[str, str]) -> Callable[[], float]:
        """One job; the session is left as it was."""

        def run() -> float:
            conf = self._spark.conf
            names = {name.removeprefix("spark.hadoop."): name for name in settings}
            before = {name: conf.get(name, None) for name in names}
            for name, given in names.items():
                conf.set(name, settings[given])
            out = f"{self._bucket}/{self.shape}-{next(self._numbers)}"
            self._server.set_load(latency_s=LATENCY_S)
            counted, before_s = self._server.statistics(), cpu_s()
            seconds = seconds_of(lambda: self._writer.parquet(f"s3a://{out}"))
            self.cpu_s[side] = cpu_s() - before_s
            self.tasks_s[side] = self._last_stage_s()
            self.asked[side] = self._server.statistics().since(counted)
            self._server.set_load()
            for name, value in before.items():
                if value is None:
                    conf.unset(name)
                else:
                    conf.set(name, value)
            files = self._spark.read.parquet(f"s3a://{out}").inputFiles()
            assert len(files) == self._files, (len(files), self._files)
            return seconds

        return run

    def _last_stage_s(self) -> float:
        """From the stage's submission to its end: what its tasks took, without the job's commit."""
        java: Any = self._spark.sparkContext._jsc
        java.sc().listenerBus().waitUntilEmpty()
        store = java.sc().statusStore()
        jobs = store.jobsList(None)
        last = max(jobs.apply(number).stageIds().last() for number in range(jobs.size()))
        stage = store.lastStageAttempt(last)
        began, ended = stage.submissionTime().get(), stage.completionTime().get()
        return float(ended.getTime() - began.getTime()) / 1000


def compare(report: Report, jobs: Jobs, protocol: str, *, rounds: int, warmups: int) -> None:
    """Ours, theirs as shipped, and theirs with more threads, in turn."""
    magic = fc.spark.committer_conf("s3a://bucket")
    sides = {"ours": {COMMIT_PROTOCOL: protocol}, "magic": magic, "magic, 64": magic | FASTER}
    samples = interleave(
        {side: jobs.by(side, settings) for side, settings in sides.items()},
        rounds=rounds,
        warmups=warmups,
    )
    for side, sample in samples.items():
        report.add(f"{jobs.shape}: {side}", sample, unit="s")
        asked = jobs.asked[side].requests
        most = ", ".join(f"{name} {count}" for name, count in asked.most_common(8))
        report.note(f"{jobs.shape}, {side}: {asked.total()} requests: {most}")
        report.note(f"{jobs.shape}, {side}: {jobs.tasks_s[side]:.1f} s in tasks, the last time")
        report.note(
            f"{jobs.shape}, {side}: {jobs.cpu_s[side]:.1f} s of processor time, server's too"
        )
    for side in ("magic", "magic, 64"):
        report.compare(
            f"{jobs.shape}: ours / {side}",
            samples["ours"],
            samples[side],
            at_most=RATIO if side == "magic" else None,
        )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--shapes", nargs="+", help="tasks x partitions of each")
    options = parser.parse_args()
    report = Report("spark_s3", options.quick)
    report.note(f"{THREADS} threads of Spark, {LATENCY_S * 1000:g} ms a call")
    with ExitStack() as stack:
        server = stack.enter_context(SlowS3())
        spark = session(stack.enter_context(scratch(disk())), server)
        stack.callback(spark.stop)
        protocol = spark.conf.get(COMMIT_PROTOCOL)
        assert protocol is not None
        bucket = server.new_bucket()
        for shape in options.shapes or (["4x2"] if options.quick else SHAPES):
            tasks, _, partitions = shape.partition("x")
            compare(
                report,
                Jobs(spark, server, bucket, int(tasks), int(partitions)),
                protocol,
                rounds=options.rounds or (1 if options.quick else 3),
                warmups=0 if options.quick else 1,
            )
    report.finish()


if __name__ == "__main__":
    main()
