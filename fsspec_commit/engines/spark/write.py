"""``write``: a frame as one job, by tasks that write Arrow batches, committed by the caller."""

from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from fsspec_commit.engines.spark.frame_options import SparkOptions, check_spark_options
from fsspec_commit.engines.spark.schemas import is_year_month, refuse_months
from fsspec_commit.engines.spark.write_plan import FramePlan, message_of, messages_of
from fsspec_commit.errors import RequestError
from fsspec_commit.location import locate
from fsspec_commit.protocol.result import CommitResult
from fsspec_commit.records.job import TaskCommit
from fsspec_commit.spec import JobSpec
from fsspec_commit.sync.job import Job

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from fsspec_commit.engines.partition_writer import WriteSpec

_NOT_SENT = (
    "the executors had the credentials of their own environment: storage_options that may hold a "
    "secret reach them with share_secrets=True only"
)


def write(df: "DataFrame", destination: str, **options: Unpack[SparkOptions]) -> CommitResult:
    """Write *df* as one job: all of its rows become visible, or none does.

    Needs no jar: the tasks write Parquet from Python, by ``mapInArrow``. It needs Spark 3.5 or
    later, classic or Connect, and the packages ``fsspec-commit``, ``pyarrow`` and ``pandas`` here
    and on every executor. The frame is computed once. Tasks may fail and run again, or run twice
    at a time: the attempts whose messages reach this process are what is committed.

    ``spark.read`` gives the rows back as after Spark's own writer: types, metadata of columns and
    names of partition directories are the same. Ctrl-C cancels Spark's job and aborts this one.

    Args:
        df: The frame.
        destination: A URL or an absolute path, the same place for every executor.
        **options: See :class:`SparkOptions`. Of ``storage_options`` the executors are given what
            says where the store is, such as ``endpoint_url``, and use the credentials of their own
            environment; with ``share_secrets=True`` they are given all: Spark carries them in the
            pickled function of its tasks, and they are in no option, event log or message.

    Returns:
        What was committed.

    Raises:
        RequestError: The call cannot be carried out as it was made; nothing was changed.
        pyspark.errors.PySparkException: Spark's job has failed; nothing is visible, and this one
            is aborted.
        CommitError: The errors of :meth:`Job.commit <fsspec_commit.Job.commit>`.
    """
    _check_frame(df, destination)
    job_options, partition_by = check_spark_options(options, "fc.spark.write")
    if df.isStreaming:
        message = (
            "a stream is written batch by batch: "
            "df.writeStream.foreachBatch(fc.spark.foreach_batch(url, stream_id=…))"
        )
        raise RequestError(message, kind="invalid_request")
    schema = df.schema.jsonValue()
    refuse_months(schema, partition_by)
    frame, carried = _carried(df, schema)
    plan = FramePlan(schema, options, partition_by, carried=carried)
    with Job(destination, **job_options) as job:
        if not job.skipped:
            given = job_options.get("storage_options")
            storage_options = locate(destination, given).storage_options  # those of a UPath, too
            spec = plan.spec(job.spec, storage_options)
            try:
                messages = _run(frame, spec)
            except Exception as error:
                if set(storage_options) - set(spec.job.storage_options or ()):
                    error.add_note(_NOT_SENT)
                raise
            if not messages:
                messages = [_of_no_rows(plan, job.spec, storage_options)]
            job.commit(messages)
    return job.commit()


def _check_frame(df: object, destination: object) -> None:
    """Refuse what is not a frame of Spark's, and a call by Spark with the number of a batch.

    Raises:
        RequestError: It is one of these.
    """
    if not hasattr(df, "mapInArrow"):
        given = f"{type(df).__module__}.{type(df).__name__}"
        message = (
            f"fc.spark.write(df, url) writes a DataFrame of Spark, not a {given}: "
            "spark.createDataFrame(…) makes one; fc.write_dataset writes tables of others"
        )
        raise RequestError(message, kind="invalid_request")
    if isinstance(destination, int):
        message = (
            "foreachBatch takes foreachBatch(fc.spark.foreach_batch(url, stream_id=…)): "
            "fc.spark.write itself is not told where to write there"
        )
        raise RequestError(message, kind="invalid_request")


def _of_no_rows(
    plan: FramePlan, job: JobSpec, storage_options: "Mapping[str, object]"
) -> TaskCommit:
    """The message of the first task: for a frame that is known to be empty, Spark runs none.

    What that task would write is written here, with the options that are here.
    """
    from fsspec_commit.engines.partition_writer import write_partition

    return write_partition([], plan.spec(replace(job, storage_options=storage_options), None), 0)


def _carried(df: "DataFrame", schema: dict[str, Any]) -> tuple["DataFrame", dict[str, Any]]:
    """*df* as PySpark can take it to Python, and the schema of that, with the names of *df*.

    An interval of months becomes a number of them, which it is in Parquet, too. Names that hold a
    dot or a backtick are replaced, since ``mapInArrow`` reads them as parts of others, and a star,
    which it reads as all columns.
    """
    fields = schema["fields"]
    has_months = any(is_year_month(one["type"]) for one in fields)
    if not has_months and not any({".", "`", "*"} & set(one["name"]) for one in fields):
        return df, schema
    expressions, carried = [], []
    for number, one in enumerate(fields):
        name = f"c{number}"
        months = {
            "interval month": f"CAST({name} AS INT)",
            "interval year": f"CAST({name} AS INT) * 12",
        }.get(
            str(one["type"]),
            f"CAST(EXTRACT(YEAR FROM {name}) * 12 + EXTRACT(MONTH FROM {name}) AS INT)",
        )
        is_months = is_year_month(one["type"])
        expressions.append(f"{months} AS {name}" if is_months else name)
        carried.append({**one, "type": "integer"} if is_months else one)
    plain = df.toDF(*(f"c{number}" for number in range(len(fields))))
    return plain.selectExpr(*expressions), {**schema, "fields": carried}


def _run(frame: "DataFrame", spec: "WriteSpec") -> list[TaskCommit]:
    def write_batches(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        yield pa.RecordBatch.from_pydict({"message": [message_of(batches, spec)]})

    messages = frame.mapInArrow(write_batches, "message string")
    with _cancelled_with_us(frame, f"fsspec-commit-{spec.job.job_id}"):
        rows = messages.collect()
    return messages_of([row.message for row in rows], spec.job.job_id)


@contextmanager
def _cancelled_with_us(frame: "DataFrame", tag: str) -> "Iterator[None]":
    """Cancel Spark's job if anything interrupts us: its tasks would go on for nothing."""
    from pyspark.errors import PySparkException

    session: Any = frame.sparkSession
    is_connect = type(frame).__module__.startswith("pyspark.sql.connect")
    context = None if is_connect else session.sparkContext
    add = session.addTag if context is None else context.addJobTag
    remove = session.removeTag if context is None else context.removeJobTag
    cancel = session.interruptTag if context is None else context.cancelJobsWithTag
    add(tag)
    try:
        yield
    except BaseException as error:
        if not isinstance(error, PySparkException):  # Spark says itself that its job is over.
            with suppress(Exception):  # The session may be what was interrupted.
                cancel(tag)
        raise
    finally:
        with suppress(Exception):  # A session that has ended has no tags.
            remove(tag)
