"""What a driver is told whose job somebody else has ended: a resumer, an aborter, a twin."""

from fsspec_commit.errors import (
    CommitError,
    CommitFailedError,
    JobNotActiveError,
    RecordError,
)
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.decision import settled_as
from fsspec_commit.protocol.job_records import read_record, standing_decision
from fsspec_commit.protocol.listing import ending, old_files


async def is_over(job: BoundJob) -> bool:
    """Whether ``job.json`` is gone; an unanswered question is no."""
    try:
        return await read_record(job.store, job.layout) is None
    except CommitError:
        return False


def finished_by_another(job: BoundJob) -> JobNotActiveError:
    """The end of a driver that was overtaken after its own decision: the job is committed."""
    job_id = job.record.job_id
    message = f"job {job_id} was finished by somebody else, who resumed it; it is committed"
    return JobNotActiveError(message, job_id=job_id, outcome="committed", stage="finish")


async def settled_by_another(job: BoundJob, error: CommitError) -> JobNotActiveError | None:
    """What *error*, met before a decision of ours stood, is really due to, if to somebody else.

    A job that another settles looks like many things: a manifest that is gone, a name that is
    taken. ``None`` while nobody has settled it, or when that is not known: then *error* says so
    itself, unless it is a failure of the store, which nobody else's work looks like.
    """
    doubtful = "unknown" if isinstance(error, JobNotActiveError) else "not_committed"
    if error.outcome != doubtful:
        return None
    try:
        standing = await standing_decision(job.store, job.layout)
    except JobNotActiveError:
        return await ended_by_another(job)
    except CommitError as refused:
        if isinstance(refused, RecordError) or not isinstance(error, CommitFailedError):
            error.outcome = "unknown"
            error.add_note(f"it is not known whether somebody else has settled the job: {refused}")
        return None
    return None if standing is None else settled_as(job.layout, standing)


async def ended_by_another(job: BoundJob) -> JobNotActiveError:
    """The end of whoever finds the job gone that they would have settled.

    No tombstone says how the job ended, but its files do: their names carry its id, and only a
    committed job has any. Without one it is not known: a later job may have replaced them.
    """
    job_id = job.record.job_id
    if await _shows_files(job):
        message = f"job {job_id} was committed by somebody else; do not run it again"
        return JobNotActiveError(message, job_id=job_id, outcome="committed", stage="decide")
    message = (
        f"job {job_id} was aborted, or committed and replaced since, by somebody else; look at "
        f"{job.record.destination!r} before you run it again"
    )
    return JobNotActiveError(message, job_id=job_id, outcome="unknown", stage="decide")


async def _shows_files(job: BoundJob) -> bool:
    """Whether a file is named by the job; what cannot be listed shows none."""
    try:
        async with ending(old_files(job)) as files:
            async for name, _ in files:
                if f"-{job.record.job_id}-" in name:
                    return True
    except CommitError:
        return False
    return False
