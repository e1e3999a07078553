"""``foreach_batch``: a stream, each of whose batches is committed once."""

import logging
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from fsspec_commit.engines.spark.frame_options import SparkOptions, check_spark_options
from fsspec_commit.engines.spark.write import write
from fsspec_commit.errors import JobNotActiveError, RequestError
from fsspec_commit.location import locate
from fsspec_commit.sync.job import Job
from fsspec_commit.sync.operations import jobs, resume

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame

_Stream = tuple[str, str]

_log = logging.getLogger("fsspec_commit")
_CALLER = "fc.spark.foreach_batch"
# What the operations need to find the destination that a job has.
_WHERE = ("storage_options", "single_writer")
_QUERY = "sql.streaming.queryId"
_RUN = "spark.jobGroup.id"  # Spark puts the id of the run there, a new one for every start.


def foreach_batch(
    destination: str, *, stream_id: str, **options: Unpack[SparkOptions]
) -> "Callable[[DataFrame, int], None]":
    """A function for ``stream.writeStream.foreachBatch`` that commits every batch exactly once.

    A batch is a job with the idempotency key ``<stream_id>/<batch id>``. When Spark runs a batch
    again, because its driver died before the checkpoint was written, the key has committed and
    nothing is written. This holds for as long as the stream keeps its checkpoint: with a new one
    Spark counts batches from 0 again, and the stream needs a new *stream_id*; under the old
    *stream_id* its batches are refused, as soon as one can be told from a batch that comes again. A
    batch whose driver died while it was published is finished first, when the stream starts again.

    Args:
        destination: As for :func:`write`.
        stream_id: The name of the stream, which no other stream to this destination has.
        **options: As for :func:`write`; ``mode`` is ``"append"`` by default, and
            ``idempotency_key`` is made here.

    Returns:
        The function. It raises what :func:`write` raises, which ends the query; start it again.

    Raises:
        RequestError: An option makes no sense for a stream.
    """
    if not stream_id:
        message = f"stream_id={stream_id!r} names no stream: a text, the same after every restart"
        raise RequestError(message, kind="invalid_option")
    if "idempotency_key" in options:
        message = "idempotency_key= is made of stream_id and the batch's id here: leave it out"
        raise RequestError(message, kind="invalid_option")
    options.setdefault("mode", "append")
    if options["mode"] in {"error", "ignore"}:
        message = (
            f"mode={options['mode']!r} would take the first batch only: a stream has "
            'mode="append", "overwrite" or "overwrite_partitions"'
        )
        raise RequestError(message, kind="invalid_option")
    check_spark_options(options, _CALLER)
    locate(destination, options.get("storage_options"), None)
    # Not a nested function: with one, Connect would pickle what it refers to in this module.
    return partial(_write_batch, destination=destination, stream_id=stream_id, options=options)


def _write_batch(
    df: "DataFrame", batch_id: int, *, destination: str, stream_id: str, options: SparkOptions
) -> None:
    place = locate(destination, options.get("storage_options"), None).url
    with _written.writing((place, stream_id), batch_id, _run_of(df)) as is_first:
        if is_first:
            _finish_decided(destination, options)
        keyed: SparkOptions = {**options, "idempotency_key": f"{stream_id}/{batch_id}"}
        result = write(df, destination, **keyed)
        if result.state == "committed":
            return
        # A batch that comes again comes first in its run, and is the last one that was committed.
        after = f"{stream_id}/{batch_id + 1}"
        if not is_first or _has_committed(destination, after, options):
            message = (
                f"batch {batch_id} of stream {stream_id!r} was committed to {place!r} before, and "
                "this is no restart of its query: another one has this name, or had it with "
                "another checkpoint, and what this one writes would be left out; give it a "
                "stream_id of its own"
            )
            raise RequestError(message, kind="duplicate_stream")


def _has_committed(destination: str, key: str, options: SparkOptions) -> bool:
    """Whether a job with this idempotency key has committed: another job with it is told so."""
    keyed: SparkOptions = {**options, "idempotency_key": key}
    job_options, _ = check_spark_options(keyed, _CALLER)
    with Job(destination, **job_options) as job:
        has_committed = job.skipped
        job.abort()
    return has_committed


def _finish_decided(destination: str, options: SparkOptions) -> None:
    """Finish what a driver that died has decided: the batch that comes again may be that one.

    Left unfinished, its job would hold up this one; and to finish a decided job is always right.
    """
    where: Any = {name: value for name, value in options.items() if name in _WHERE}
    for job in jobs(destination, **where):
        if job.state in {"decided", "published"}:
            try:
                _log.info("%r", resume(destination, job.job_id, **where))
            except JobNotActiveError as over:
                _log.info("%s", over)  # Its own driver lives, and was faster.


def _run_of(df: "DataFrame") -> tuple[str, str] | None:
    """The query and the run that *df* is a batch of, if Spark tells: Connect does not."""
    if type(df).__module__.startswith("pyspark.sql.connect"):
        return None
    context: Any = df.sparkSession.sparkContext
    query, run = context.getLocalProperty(_QUERY), context.getLocalProperty(_RUN)
    return (query, run) if query and run else None


@dataclass(frozen=True)
class _Batch:
    """One batch of one run of a query."""

    query: str
    run: str
    number: int


class Written:
    """The batches that this process writes, to tell a mistake from a replay.

    A replay comes in a new run of the same query. A second write in the same run has the key of the
    first and would be left out; so would the batches of another query that has the same name.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[_Stream, _Batch] = {}
        self._last: dict[_Stream, _Batch] = {}

    @contextmanager
    def writing(
        self, stream: _Stream, number: int, run: tuple[str, str] | None
    ) -> "Iterator[bool]":
        """Note a batch while it is written; yield whether it is the first of its run.

        Where Spark does not tell the run, nothing is noted, and each batch is taken for the first.

        Args:
            stream: Where it is written to, and the stream's name.
            number: The batch's number.
            run: Its query, and the run of it, if Spark tells.

        Raises:
            RequestError: The batch would be left out by mistake.
        """
        if run is None:
            yield True
            return
        batch = _Batch(*run, number)
        with self._lock:
            last = self._last.get(stream)
            for other in (self._running.get(stream), last):
                if other is not None:
                    _refuse_left_out(stream, batch, other)
            self._running[stream] = batch
        is_written = False
        try:
            yield last is None or last.run != batch.run
            is_written = True
        finally:
            self._end(stream, batch, is_written=is_written)

    def _end(self, stream: _Stream, batch: _Batch, *, is_written: bool) -> None:
        with self._lock:
            if self._running.get(stream) is batch:
                del self._running[stream]
            if is_written:
                self._last[stream] = batch


def _refuse_left_out(stream: _Stream, batch: _Batch, other: _Batch) -> None:
    place, stream_id = stream
    if batch.query != other.query:
        message = (
            f"two queries write to {place!r} as stream {stream_id!r}: their batches have the "
            "same numbers, and those of one would be left out; give each a stream_id, and a "
            "new one to a stream that has begun anew with another checkpoint"
        )
        raise RequestError(message, kind="duplicate_stream")
    if batch == other:
        message = (
            f"batch {batch.number} of stream {stream_id!r} is written to {place!r} for the second "
            "time in one run: it would be left out; give each write a stream_id of its own"
        )
        raise RequestError(message, kind="duplicate_stream")


_written = Written()
