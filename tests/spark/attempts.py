"""Task attempts without Spark's scheduler: copies of the protocol, as on executors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Attempts:
    """The driver's protocol, and what a task scheduler does with it."""

    def __init__(self, spark: SparkSession, destination: str) -> None:
        jvm = spark.sparkContext._jvm
        assert jvm is not None
        self._jvm = jvm
        self._conf = spark.sparkContext._jsc.hadoopConfiguration()
        self.job = jvm.org.apache.hadoop.mapreduce.Job.getInstance(self._conf)
        self.protocol = jvm.io.github.fsspec_commit.spark.FsspecCommitProtocol("a", destination)
        self.protocol.setupJob(self.job)

    def begun(self, number: int) -> tuple[Any, Any]:
        """An attempt at task 0 on an executor: its protocol and its context."""
        mapreduce = self._jvm.org.apache.hadoop.mapreduce
        job = mapreduce.JobID("202611230000", 0)
        task = mapreduce.TaskID(job, mapreduce.TaskType.MAP, 0)
        attempt = mapreduce.TaskAttemptID(task, number)
        context = mapreduce.task.TaskAttemptContextImpl(self._conf, attempt)
        copy = self._jvm.org.apache.commons.lang3.SerializationUtils.clone(self.protocol)
        copy.setupTask(context)
        return copy, context

    def named(self, attempt: tuple[Any, Any], suffix: str = ".txt") -> str:
        """A new file of the attempt's, which Spark's writer opens when it has a row for it."""
        copy, context = attempt
        return str(copy.newTaskTempFile(context, self._jvm.scala.Option.empty(), suffix))

    def opened(self, attempt: tuple[Any, Any], suffix: str = ".txt") -> Path:
        """One on a disk, and its directory."""
        path = Path(self.named(attempt, suffix).removeprefix("file:"))
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write(self, path: str, data: bytes) -> None:
        """As Spark's writers do: by Hadoop's driver."""
        named = self._jvm.org.apache.hadoop.fs.Path(path)
        out = named.getFileSystem(self._conf).create(named)
        out.write(bytearray(data))
        out.close()

    def commit(self, *messages: object) -> None:
        given = self._jvm.java.util.ArrayList()
        for message in messages:
            given.add(message)
        converters = self._jvm.scala.jdk.javaapi.CollectionConverters
        self.protocol.commitJob(self.job, converters.asScala(given).toSeq())
