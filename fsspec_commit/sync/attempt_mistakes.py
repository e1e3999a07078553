"""What the caller of an attempt has most likely not meant, in words that say what to do instead."""

import asyncio
import logging

from fsspec_commit.committers.write_behind import DroppedError, not_stored
from fsspec_commit.errors import CommitError, JobNotActiveError, StoreError
from fsspec_commit.names import Target, repeats_end
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.job_records import read_record
from fsspec_commit.records.job import JobRecord

_log = logging.getLogger("fsspec_commit")


def check_bound(job: object) -> None:
    """Refuse a job, or a spec, that is given to ``Task`` itself.

    Raises:
        TypeError: A task is not begun this way.
    """
    if not isinstance(job, BoundJob):
        raise TypeError(
            "a task is begun by job.task(), and in another process by "
            f"Task.from_spec(job.spec, task_id), not by Task() of {type(job).__name__}"
        )


def repeats_destination(name: Target, record: JobRecord) -> bool:
    """Whether *name* begins with the end of the destination's own path; if so, log a warning.

    Plain fsspec calls a file of ``s3://bucket/clicks`` by such a name,
    ``bucket/clicks/part.parquet``. One repeated component may be meant, such as a partition's name
    below itself; two are hardly meant.
    """
    # The last component is the file's own.
    components = range(2, name.count("/") + 1)
    is_repeated = repeats_end(record.destination, name, components=components)
    if is_repeated:
        _log.warning(
            "job %s writes %r below %r: names are relative to the destination, so leave its own "
            "path out, unless this directory in itself is meant",
            record.job_id,
            name,
            record.destination,
        )
    return is_repeated


async def explain_failure(
    error: StoreError | DroppedError,
    name: str,
    *,
    job: BoundJob,
    task_id: int,
    aborting: asyncio.Lock | None,
) -> None:
    """Say that the job is over, if that is why the file *name* could not be written.

    Args:
        error: Why it could not be written.
        name: The name of the file.
        job: The job.
        task_id: The number of the task.
        aborting: Held while this process aborts the job, which first drops the files.

    Raises:
        JobNotActiveError: The job is over.
        CommitFailedError: The job is not over, as far as anybody knows; the file was dropped.
    """
    if aborting is not None:
        async with aborting:
            pass
    if await _is_over(job):
        job_id = job.record.job_id
        message = (
            f"task {task_id} cannot write: job {job_id} is finished or aborted, or is "
            f"not seen from here: {job.record.destination!r} must be one place for all "
            "of its processes, which memory and a machine's own disk are not"
        )
        raise JobNotActiveError(
            message, job_id=job_id, task_id=task_id, outcome="unknown", stage="write"
        ) from error
    if isinstance(error, DroppedError):
        raise not_stored(name, error) from None


async def _is_over(job: BoundJob) -> bool:
    try:
        return await read_record(job.store, job.layout) is None
    except CommitError:
        return False  # Nobody knows: the first failure is all there is to report.
