"""``publisher``: slices of a decided job as tasks of Spark, on the cluster that wrote its files."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from fsspec_commit.errors import RequestError
from fsspec_commit.records.slices import repeated

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_JOBS_MAX = 32
"""How many jobs of Spark run at once; each gives its answers when it ends, and none if it fails."""
_LOOKED_AT = 4_096


class SparkPublisher:
    """Runs slices of a decided job as tasks of Spark: what ``fc.spark.publisher`` returns.

    Many jobs of Spark, each of one slice or a few, run instead of a single one. So a slice whose
    task fails as often as Spark allows takes only those of its own Spark job with it, which are
    left to the driver, and the job that is published learns of its files as they are published.

    Attributes:
        width: How many tasks run at once.
        runs_once: Whether Spark never begins a second attempt at a task that it has not given up.
    """

    def __init__(self, spark: "SparkSession") -> None:
        if not hasattr(spark, "createDataFrame"):
            given = f"{type(spark).__module__}.{type(spark).__name__}"
            message = f"fc.spark.publisher(spark) takes a SparkSession, not a {given}"
            raise RequestError(message, kind="invalid_request")
        self._spark = spark
        self._tag = f"fsspec-commit-publish-{uuid4().hex}"
        is_connect = type(spark).__module__.startswith("pyspark.sql.connect")
        self._context: Any = None if is_connect else spark.sparkContext
        self.width = self._slots()
        self.runs_once = str(spark.conf.get("spark.speculation", "false")).lower() != "true"

    def map(self, function: Callable[[str], str], texts: Sequence[str], /) -> Iterator[str]:
        """Call *function* with each of *texts* on executors; the results in any order.

        Raises:
            pyspark.errors.PySparkException: At the end, if some of Spark's jobs have failed.
        """
        together = -(-self.width // _JOBS_MAX)
        groups = [texts[begin : begin + together] for begin in range(0, len(texts), together)]
        failed: Exception | None = None
        with ThreadPoolExecutor(min(len(groups), _JOBS_MAX) or 1) as threads:
            running = [threads.submit(self._run, function, group) for group in groups]
            try:
                for done in as_completed(running):
                    error = done.exception()
                    if isinstance(error, Exception):
                        failed = failed or error
                    else:
                        yield from done.result()
            finally:
                for one in running:
                    one.cancel()
        if failed is not None:
            raise failed

    def stop(self) -> None:
        """Cancel what runs: its tasks would go on for nothing."""
        with suppress(Exception):  # The session may have been what was interrupted.
            if self._context is None:
                self._spark.interruptTag(self._tag)
            else:
                self._context.cancelJobsWithTag(self._tag)

    def _run(self, function: Callable[[str], str], texts: Sequence[str]) -> list[str]:
        """One job of Spark, with a task for each text."""
        owner: Any = self._spark if self._context is None else self._context
        add = owner.addTag if self._context is None else owner.addJobTag
        add(self._tag)

        def answers(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
            return _answers(function, texts, batches)

        rows = self._spark.range(0, len(texts), 1, len(texts))
        answered = rows.mapInArrow(answers, "answer string")
        return [row.answer for row in answered.collect()]

    def _slots(self) -> int:
        if self._context is not None:
            return int(self._context.defaultParallelism)
        from pyspark.sql.functions import spark_partition_id

        rows = self._spark.range(_LOOKED_AT).select(spark_partition_id())
        return rows.distinct().count()

    def __repr__(self) -> str:
        return f"<SparkPublisher of {self.width} tasks at once>"


def _answers(
    function: Callable[[str], str], texts: Sequence[str], batches: "Iterable[pa.RecordBatch]"
) -> "Iterator[pa.RecordBatch]":
    """Run by a task of Spark: it runs the slices whose numbers it is given."""
    import pyarrow as pa
    from pyspark import TaskContext

    task = TaskContext.get()
    # An earlier attempt may still be at work, on an executor that Spark has lost sight of.
    is_first = task is not None and task.attemptNumber() == 0
    for batch in batches:
        for number in batch.column(0).to_pylist():
            text = texts[number] if is_first else repeated(texts[number])
            yield pa.RecordBatch.from_pydict({"answer": [function(text)]})


def publisher(spark: "SparkSession") -> SparkPublisher:
    """Spread the publication of a decided job over the executors of *spark*.

    One driver publishes as many files a second as its processor and its network allow. The
    executors of the cluster that has written the files can publish them together, each at its own
    rate, and delete what they replace. It is worth it for a job with more files than one driver
    publishes while Spark starts tasks: a job of fewer than 2,000 files is published by its driver.

    It needs Spark 3.5 or later, classic or Connect, and the packages ``fsspec-commit``, ``pyarrow``
    and ``pandas`` on every executor, which opens the store with the credentials of its own
    environment; of ``storage_options`` it is sent those that are not secret, or all with
    ``share_secrets=True``. Tasks may fail, run again or run twice at a time: the driver itself does
    what no task has answered for, so the job commits without Spark as well, but later.

    Returns:
        What ``publisher=`` of a :class:`~fsspec_commit.Job`, or of
        :func:`~fsspec_commit.resume`, takes.

    Raises:
        RequestError: *spark* is not a session.
    """
    return SparkPublisher(spark)
