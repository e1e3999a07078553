"""The data source ``fsspec_commit``; PySpark is imported with it, so only ``register`` imports it.

Spark runs the methods of the writer in other processes than the caller's: ``writer`` and
``commit`` or ``abort`` in a process of their own beside the driver, ``write`` in the executors.
"""

import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage

from fsspec_commit.engines.spark.frame_options import check_spark_options, options_of_texts
from fsspec_commit.engines.spark.write_plan import FramePlan, message_of, messages_of
from fsspec_commit.errors import JobNotActiveError, RequestError
from fsspec_commit.sync.handing_over import hand_over
from fsspec_commit.sync.job import Job

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from fsspec_commit.engines.partition_writer import WriteSpec

_log = logging.getLogger("fsspec_commit")
_CALLER = "the data source 'fsspec_commit'"
_DYNAMIC = "spark.sql.sources.partitionOverwriteMode"
_CASE = "spark.sql.caseSensitive"
_MODES = {True: ("overwrite", "overwrite_partitions"), False: ("append", "error", "ignore")}


class FsspecCommitDataSource(DataSource):
    """Parquet, written as one job; registered by :func:`fsspec_commit.spark.register`."""

    @classmethod
    def name(cls) -> str:
        """The name for ``df.write.format(…)``."""
        return "fsspec_commit"

    def writer(self, schema: "StructType", overwrite: bool) -> "FrameWriter":  # noqa: FBT001  # Spark's
        """Check everything that can be checked, and start the job.

        Raises:
            TypeError: An option is unknown.
            RequestError: The write cannot be carried out; nothing was changed.
            CommitError: The job could not be started.
        """
        texts = {name.lower(): text for name, text in self.options.items()}
        destination = _destination(texts.pop("path", None))
        options = options_of_texts(texts)
        options["mode"], is_explicit = _mode(options.get("mode"), is_overwrite=overwrite)
        job_options, partition_by = check_spark_options(options, _CALLER)
        plan = FramePlan(schema.jsonValue(), options, partition_by)
        job = Job(destination, **job_options).start()
        if job.skipped:
            job.commit()
            return FrameWriter(None, is_explicit=is_explicit)
        storage_options = job_options.get("storage_options")
        spec = plan.spec(hand_over(job), storage_options)
        return FrameWriter(spec, is_explicit=is_explicit)

    def schema(self) -> NoReturn:
        """Refuse to read, and to create a table without columns.

        Raises:
            RequestError: Always.
        """
        message = (
            "the data source 'fsspec_commit' writes Parquet, and reads nothing: spark.read.parquet("
            "url) does; CREATE TABLE … USING fsspec_commit names its columns"
        )
        raise RequestError(message, kind="invalid_request")

    def reader(self, schema: "StructType") -> NoReturn:  # noqa: ARG002  # Spark's
        """Refuse to read.

        Raises:
            RequestError: Always.
        """
        self.schema()

    def streamWriter(self, schema: "StructType", overwrite: bool) -> NoReturn:  # noqa: ARG002, FBT001, N802  # Spark's
        """Refuse a stream: Spark gives its batches no id that outlives a restart here.

        Raises:
            RequestError: Always.
        """
        message = (
            "a stream is not written by the data source 'fsspec_commit': use "
            "stream.writeStream.foreachBatch(fc.spark.foreach_batch(url, stream_id=…))"
        )
        raise RequestError(message, kind="invalid_option")


@dataclass(frozen=True)
class PartitionMessage(WriterCommitMessage):
    """What a task tells the driver: a message of the job, as text."""

    text: str | None


class FrameWriter(DataSourceArrowWriter):
    """One write, which Spark pickles for every task, and for the commit or the abort."""

    def __init__(self, spec: "WriteSpec | None", *, is_explicit: bool) -> None:
        """Take the spec, or ``None`` if there is nothing to do, and whether a mode was given."""
        self._spec = spec
        self._is_explicit = is_explicit

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> PartitionMessage:
        """Write one partition; nothing becomes visible.

        Raises:
            RequestError: The session overwrites single partitions only, and no mode says so here;
                or it could not read columns whose names differ in case alone.
        """
        if self._spec is None:
            return PartitionMessage(None)
        if not self._is_explicit and self._spec.job.record.mode == "overwrite":
            _refuse_dynamic()
        _refuse_folded(self._spec.schema.names)
        return PartitionMessage(message_of(iterator, self._spec))

    def commit(self, messages: list[Any]) -> None:
        """Commit the job with the messages of all partitions.

        Raises:
            CommitError: The errors of :meth:`Job.commit <fsspec_commit.Job.commit>`.
        """
        if self._spec is None:
            return
        spec = self._spec.job
        texts = [None if one is None else one.text for one in messages]
        job = Job.from_spec(spec)
        result = job.commit(messages_of(texts, spec.job_id))
        _log.info("%r", result)

    def abort(self, messages: list[Any]) -> None:  # noqa: ARG002  # Spark's
        """Abort the job, unless it is decided: Spark calls this also when ``commit`` has failed."""
        if self._spec is None:
            return
        try:
            Job.from_spec(self._spec.job).abort()
        except JobNotActiveError as settled:
            _log.warning("Spark has aborted a write whose job is settled: %s", settled)


def _destination(path: str | None) -> str:
    if not path:
        message = (
            "no destination: give .save(url). SQL's OPTIONS(path …) of a table do not reach a data "
            "source of Python; INSERT INTO t WITH ('path' = '…') SELECT … and "
            "df.writeTo(t).option('path', '…').append() do"
        )
        raise RequestError(message, kind="missing_destination")
    if not Path(path).is_absolute() and re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", path) is None:
        message = (
            f"{path!r} is relative, and Spark starts the job in a process with a directory of its "
            "own: give a URL or an absolute path"
        )
        raise RequestError(message, kind="invalid_url")
    return path


def _mode(given: object, *, is_overwrite: bool) -> tuple[str, bool]:
    """The mode of the job, and whether an option has named it."""
    called = "overwrite" if is_overwrite else "append"
    if given is None:
        return called, False
    others = _MODES[not is_overwrite]
    if given in others:
        word = "append" if is_overwrite else "overwrite"
        message = (
            f'.mode("{called}") and .option("mode", {given!r}) contradict each other: Spark\'s is '
            f'.mode("{word}") for {", ".join(map(repr, others))}'
        )
        raise RequestError(message, kind="invalid_option")
    return str(given), True


def _refuse_dynamic() -> None:
    """Refuse to replace a table where the session promises to replace partitions."""
    if _setting(_DYNAMIC) == "dynamic":
        message = (
            f'.mode("overwrite") would replace all of the destination, but {_DYNAMIC} is '
            '"dynamic", which Spark does not tell a data source: add .option("mode", '
            '"overwrite_partitions") to replace partitions, or .option("mode", "overwrite")'
        )
        raise RequestError(message, kind="invalid_option")


def _refuse_folded(names: list[str]) -> None:
    """Refuse columns of which a reader finds only one, as Spark's own writers do."""
    if len({name.lower() for name in names}) < len(names) and _setting(_CASE) != "true":
        there = ", ".join(map(repr, names))
        message = (
            f"the names of some columns differ in case alone, so that no reader finds each: {there}"
            f"; rename them, or set {_CASE} here and wherever they are read"
        )
        raise RequestError(message, kind="duplicate_column")


def _setting(name: str) -> str | None:
    """A setting of the session, if somebody has set it, in lower case; only tasks see settings."""
    task = TaskContext.get()
    found = None if task is None else task.getLocalProperty(name)
    return None if found is None else found.lower()
