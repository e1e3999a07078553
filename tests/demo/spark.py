"""Watch an unchanged Spark job lose an executor, then its driver, on a local S3 server.

    python -m tests.demo.spark [DIRECTORY]

The job is `tests/demo/spark_job.py`. It runs on a cluster of processes that Spark starts by itself,
once with this library's jar and once with Spark's own committer, and is killed in the same place.
Every claim is checked as it is made; the exit status is 1 if one does not hold.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import s3fs
from pyspark import __file__ as pyspark_file

import fsspec_commit as fc
from fsspec_commit.engines.spark.session import PROTOCOL_CLASS
from tests.demo.flights import CANCELLED, FLIGHTS, all_flights
from tests.demo.stage import ROOT, Story, console
from tests.servers.hadoop import on_s3
from tests.servers.hadoop.on_spark import HADOOP_ON_SPARK
from tests.servers.installation import ServerUnavailableError
from tests.servers.kinds import MINISTACK
from tests.servers.server import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

JOB = Path(__file__).with_name("spark_job.py")
NOT_CANCELLED = "dep_time IS NOT NULL"
OURS = {
    "spark.jars": fc.spark.jar(),
    "spark.sql.sources.commitProtocolClass": PROTOCOL_CLASS,
    "spark.fsspec_commit.python": sys.executable,
}
# What Spark does without its cloud module.
SPARKS = {
    "spark.sql.sources.commitProtocolClass": (
        "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol"
    ),
    "spark.sql.parquet.output.committer.class": "org.apache.parquet.hadoop.ParquetOutputCommitter",
    "spark.hadoop.fs.s3a.committer.name": "file",
}
WAIT_S = 600


class Place:
    """A bucket on a server of the demo's own, as Spark and as this library reach it."""

    def __init__(self, server: Server, directory: Path) -> None:
        self.options: dict[str, Any] = dict(server.storage_options)
        self.bucket = server.new_bucket()
        self.directory = directory
        self.running: list[Running] = []
        self._filesystem = s3fs.S3FileSystem(**self.options, use_listings_cache=False)

    def rows(self, name: str) -> int:
        """The rows that a reader finds who lists the directory."""
        found = self._filesystem.find(f"{self.bucket}/{name}")
        files = [path for path in found if path.endswith(".parquet") and "/_" not in path]
        return ds.dataset(files, filesystem=self._filesystem).count_rows() if files else 0

    def is_being_written(self, name: str) -> bool:
        """Whether some task has written a file that is not visible yet."""
        found = self._filesystem.find(f"{self.bucket}/{name}")
        return any("/__magic" in path or "/_temporary/" in path for path in found)

    def variables(self) -> dict[str, str]:
        """Where the store is and who asks, as the environment of a command says it."""
        return {
            "AWS_ENDPOINT_URL": self.options["endpoint_url"],
            "AWS_ACCESS_KEY_ID": self.options["key"],
            "AWS_SECRET_ACCESS_KEY": self.options["secret"],
        }

    def settings(self, commits: Mapping[str, str]) -> None:
        """Tell Spark, by the file that it reads: where the store is, and how to commit."""
        jars = f"{HADOOP_ON_SPARK.program.parents[1]}/lib/*"
        store = {f"spark.hadoop.{k}": v for k, v in on_s3.connection_of(self.options).items()}
        settings = {
            "spark.master": "local-cluster[2,1,1024]",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.extraClassPath": jars,
            "spark.executor.extraClassPath": jars,
            "spark.ui.enabled": "false",
            "spark.log.level": "ERROR",
            "spark.local.dir": str(self.directory / "spark"),
            **store,
            **commits,
        }
        lines = "".join(f"{name} {value}\n" for name, value in settings.items())
        (self.directory / "spark-defaults.conf").write_text(lines, "utf-8")


class Running:
    """The job, in processes of its own."""

    def __init__(self, place: Place, name: str, *where: str) -> None:
        source = str(place.directory / "flights.parquet")
        environment = {
            **os.environ,
            "SPARK_CONF_DIR": str(place.directory),
            "SPARK_HOME": str(Path(pyspark_file).parent),
            "SPARK_SCALA_VERSION": "2.13",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_SUBMIT_OPTS": f"-Djava.io.tmpdir={place.directory}",
            "PYSPARK_PYTHON": sys.executable,
        }
        arguments = [source, f"s3a://{place.bucket}/{name}", *where]
        console.print(f"\n$ python {JOB.relative_to(ROOT)} {' '.join(arguments)}", style="bold")
        self._process = subprocess.Popen(
            [sys.executable, str(JOB), *arguments],
            env=environment,
            cwd=place.directory,
            stdout=subprocess.DEVNULL,
            stderr=(place.directory / "spark.log").open("a"),
            start_new_session=True,
        )
        self._place, self._name = place, name
        place.running.append(self)

    def until_it_writes(self) -> None:
        """Wait until something of it stands that nobody sees."""
        ends = time.monotonic() + WAIT_S
        while not self._place.is_being_written(self._name):
            if self._process.poll() is not None or time.monotonic() > ends:
                raise SystemExit("the job of the demo did not come to write")
            time.sleep(0.02)

    def kill_an_executor(self) -> int:
        """Let one executor end as by a power cut; its process id."""
        executors = self._processes("CoarseGrainedExecutorBackend")
        if not executors:
            status = self._process.poll()
            raise SystemExit(f"the job of the demo has no executor to kill; its status: {status}")
        os.kill(executors[0], signal.SIGKILL)
        return executors[0]

    def kill(self) -> None:
        """Let the whole machine end: driver, executors, and the process that commits."""
        if self._process.poll() is not None:
            return
        every = self._processes("")
        for one in every:
            os.kill(one, signal.SIGSTOP)  # None of them hears of another's end.
        for one in every:
            os.kill(one, signal.SIGKILL)
        self._process.wait()

    def wait(self) -> int:
        """Its exit status."""
        return self._process.wait(WAIT_S)

    def _processes(self, named: str) -> list[int]:
        """Its processes whose command line has a text, by their parents: a session may be new."""
        listed = subprocess.run(
            ["ps", "-ww", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
        )
        rows = [re.split(r"\s+", line.strip(), maxsplit=2) for line in listed.stdout.splitlines()]
        found = {self._process.pid}
        while more := {int(p) for p, parent, _ in rows if int(parent) in found} - found:
            found |= more
        return [int(pid) for pid, _, command in rows if int(pid) in found and named in command]


def lose_an_executor(story: Story, place: Place) -> None:
    story.heading("1. A job loses an executor")
    story.say(
        "An unchanged Spark job overwrites a table on S3; three settings in spark-defaults.conf "
        "name the jar, its class and a Python. While it writes, one of two executors gets SIGKILL."
    )
    place.settings(OURS)
    job = Running(place, "flights")
    job.until_it_writes()
    story.claim(f"executor {job.kill_an_executor()} is killed", holds=True)
    story.claim("the job succeeds: Spark has run the lost tasks again", holds=job.wait() == 0)
    rows = place.rows("flights")
    story.claim(f"{FLIGHTS:,} rows are there, each once", holds=rows == FLIGHTS)


def lose_the_driver(story: Story, place: Place) -> None:
    story.heading("2. The same job, without the cancelled flights, loses its driver")
    story.say("While it writes, the driver, its executors and whatever commits get SIGKILL.")
    job = Running(place, "flights", NOT_CANCELLED)
    job.until_it_writes()
    job.kill()
    rows = place.rows("flights")
    story.claim(f"every reader still sees the {FLIGHTS:,} rows of before", holds=rows == FLIGHTS)
    url = f"s3://{place.bucket}/flights"
    left = fc.jobs(url, storage_options=place.options)
    states = [job.state for job in left]
    story.claim("the dead job is known, as 'open'", holds=states == ["open"])
    story.command("jobs", url, variables=place.variables())
    for one in left:
        story.command("abort", url, one.job_id, variables=place.variables())
    after = fc.jobs(url, storage_options=place.options)
    story.claim("nothing of it is left", holds=after == [])
    story.say("It is run again.")
    job = Running(place, "flights", NOT_CANCELLED)
    story.claim("it succeeds", holds=job.wait() == 0)
    rows = place.rows("flights")
    wanted = FLIGHTS - CANCELLED
    story.claim(f"{FLIGHTS:,} - {CANCELLED:,} = {wanted:,} rows are there", holds=rows == wanted)


def compare(story: Story, place: Place) -> None:
    story.heading("3. What Spark's own committer does in the same place")
    story.say("The same job, the same kill; only the three settings are not there.")
    place.settings(SPARKS)
    job = Running(place, "default")
    story.claim("a first run succeeds", holds=job.wait() == 0)
    before = place.rows("default")
    job = Running(place, "default", NOT_CANCELLED)
    job.until_it_writes()
    job.kill()
    rows = place.rows("default")
    story.claim(
        f"of {before:,} rows readers now see {rows:,}: it deletes first, and then writes",
        holds=before == FLIGHTS and rows < FLIGHTS,
    )


def main(directory: Path) -> int:
    """Tell it all; the exit status."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    flights = all_flights()
    pq.write_table(flights, directory / "flights.parquet")
    story = Story()
    story.say("Five jobs, each with a Spark of its own: this takes some minutes.")
    chapters: tuple[Callable[[Story, Place], None], ...]
    chapters = (lose_an_executor, lose_the_driver, compare)
    try:
        with Server(MINISTACK) as server:
            place = Place(server, directory)
            try:
                for chapter in chapters:
                    chapter(story, place)
            finally:  # Ctrl-C does not reach the sessions of the jobs.
                for job in place.running:
                    job.kill()
    except ServerUnavailableError as error:
        raise SystemExit(f"the demo needs a server and Hadoop's S3 driver: {error}") from error
    story.heading("Done")
    for claim in story.wrong:
        story.claim(claim, holds=False)
    return 1 if story.wrong else 0


if __name__ == "__main__":
    given = sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/demo-spark"
    sys.exit(main(Path(given).absolute()))
