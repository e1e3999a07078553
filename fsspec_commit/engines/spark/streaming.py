"""``foreach_batch``: a stream, each of whose batches is committed once."""

import logging
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from fsspec_commit.engines.spark.frame_options import SparkOptions, check_spark_options
from fsspec_commit.engines.spark.write import write
from fsspec_commit.errors import JobNotActiveError, RequestError
from fsspec_commit.location import locate
from fsspec_commit.sync.operations import jobs, resume

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

_log = logging.getLogger("fsspec_commit")
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
    Spark counts batches from 0 again, and needs a new *stream_id*. A batch whose driver died while
    it was published is finished first, when the stream starts again.

    Args:
        destination: As for :func:`write`.
        stream_id: The name of the stream, which no other stream to this destination has.
        **options: As for :func:`write`; ``mode`` is ``"append"`` by default, and
            ``idempotency_key`` is made here.

    Returns:
        The function; it raises what :func:`write` raises, which ends the query: start it again.

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
    check_spark_options(options, "fc.spark.foreach_batch")
    locate(destination, options.get("storage_options"), None)
    # Not a function in here: Connect pickles it, and with it what it refers to in this module.
    return partial(_write_batch, destination=destination, stream_id=stream_id, options=options)


def _write_batch(
    df: "DataFrame", batch_id: int, *, destination: str, stream_id: str, options: SparkOptions
) -> None:
    run = _run_of(df)
    place = locate(destination, options.get("storage_options"), None).url
    if _written.begins(place, stream_id, batch_id, run):
        _finish_decided(destination, options)
    keyed: SparkOptions = {**options, "idempotency_key": f"{stream_id}/{batch_id}"}
    write(df, destination, **keyed)
    _written.note(place, stream_id, batch_id, run)


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


class _Written:
    """The last batch that this process has written of each stream, to tell a mistake from a replay.

    A replay comes in a new run of the same query. A second write in the same run has the key of the
    first and would be left out; so would the batches of another query that has the same name.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: dict[tuple[str, str], tuple[tuple[str, str], int]] = {}

    def begins(
        self, place: str, stream_id: str, batch_id: int, run: tuple[str, str] | None
    ) -> bool:
        """Whether the batch is the first of its run, as far as Spark tells.

        Raises:
            RequestError: It would be left out by mistake.
        """
        with self._lock:
            last = self._last.get((place, stream_id))
        if run is None or last is None:
            return True
        (query, number), batch = last
        if query != run[0]:
            message = (
                f"two queries write to {place!r} as stream {stream_id!r}: their batches have the "
                "same numbers, and those of one would be left out; give each a stream_id, and a "
                "new one to a stream that has begun anew with another checkpoint"
            )
            raise RequestError(message, kind="duplicate_stream")
        if (number, batch) == (run[1], batch_id):
            message = (
                f"batch {batch_id} of stream {stream_id!r} is written to {place!r} for the second "
                "time in one run: it would be left out; give each write a stream_id of its own"
            )
            raise RequestError(message, kind="duplicate_stream")
        return number != run[1]

    def note(self, place: str, stream_id: str, batch_id: int, run: tuple[str, str] | None) -> None:
        if run is not None:
            with self._lock:
                self._last[place, stream_id] = (run, batch_id)


_written = _Written()
