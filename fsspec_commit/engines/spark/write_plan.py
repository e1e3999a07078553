"""One write of one frame, as far as it is the same for the data source and for ``write``.

The plan is made by the driver and pickled to the tasks, which turn batches into messages.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fsspec_commit.engines.spark.schemas import arrow_schema, check_partition_by, footer
from fsspec_commit.errors import RequestError
from fsspec_commit.records.job import TaskCommit
from fsspec_commit.spec import JobSpec
from fsspec_commit.store.open_storage_options import open_part

if TYPE_CHECKING:
    import pyarrow as pa

    from fsspec_commit.engines.partition_writer import WriteSpec


class FramePlan:
    """What is known of a write before its job starts: all that can be refused without a store.

    Attributes:
        partition_by: The columns that become directories.
    """

    def __init__(
        self,
        schema: dict[str, Any],
        options: Mapping[str, Any],
        partition_by: Sequence[str],
        *,
        carried: dict[str, Any] | None = None,
    ) -> None:
        """Check the schema.

        Args:
            schema: Spark's schema of the frame, as its JSON.
            options: The checked options of the write.
            partition_by: The columns that become directories.
            carried: The schema of the rows that reach Python, if it is not *schema*.

        Raises:
            RequestError: A column cannot be written, or cannot become a directory.
        """
        from pyspark import __version__

        from fsspec_commit.engines.partition_writer.spec import check_compression

        self.partition_by = tuple(partition_by)
        self._schema = arrow_schema(carried or schema)
        check_partition_by(arrow_schema(carried or schema), self.partition_by)
        # An interval of months is a number of them in Parquet; the footer says what it is.
        self._footer = footer(schema, self.partition_by, __version__)
        self._compression = check_compression(options.get("compression", "snappy"))
        self._counts = {
            name: options[name]
            for name in ("max_rows_per_file", "max_open_files")
            if name in options
        }

    def spec(self, job: JobSpec, storage_options: Mapping[str, object] | None) -> "WriteSpec":
        """What the tasks need; of *storage_options* what is not secret, unless all are shared.

        A worker takes credentials that are not shared from its own environment.
        """
        from fsspec_commit.engines.partition_writer import WriteSpec

        if job.storage_options is None and storage_options:
            job = replace(job, storage_options=open_part(storage_options) or None)
        return WriteSpec(
            job=job,
            schema=self._schema,
            partition_by=self.partition_by,
            compression=self._compression,
            footer=self._footer,
            **self._counts,
        )


def message_of(batches: Iterable["pa.RecordBatch"], spec: "WriteSpec") -> str:
    """Run by a task: write its partition, and give its message as text."""
    from pyspark import TaskContext

    from fsspec_commit.engines.partition_writer import write_partition

    task = TaskContext.get()
    if task is None:
        raise RuntimeError("a partition is written by a task of Spark, and this is none")
    return write_partition(batches, spec, task.partitionId()).to_json()


def messages_of(texts: Sequence[str | None], job_id: str) -> list[TaskCommit]:
    """The messages of all tasks, one for each partition from 0 on.

    Raises:
        RequestError: One is missing: what its partition wrote must not be left out in silence.
    """
    messages = [TaskCommit.from_json(text) for text in texts if text is not None]
    missing = set(range(len(texts))) - {message.task_id for message in messages}
    if missing:
        message = (
            f"cannot commit job {job_id}: of {len(texts)} partitions {len(missing)} sent no "
            f"message, partition {min(missing)} first: what it wrote may not be whole"
        )
        raise RequestError(message, kind="missing_tasks", job_id=job_id, stage="check")
    return messages
