"""Abort: the job is fenced by an ``aborted`` decision, then its area is removed."""

from fsspec_commit.effects import deletion
from fsspec_commit.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    JobNotActiveError,
    failing_as,
    unforeseen_as,
)
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.decision import decide
from fsspec_commit.protocol.job_records import not_answered, standing_decision
from fsspec_commit.protocol.superseded import ended_by_another
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Decision


@unforeseen_as(CommitStateUnknownError, "abort")
async def abort_job(job: BoundJob, *, by: str) -> None:
    """Decide that the job never happens, then remove what it left (P5, P6).

    The aborted decision comes first and stays until ``job.json`` is gone, so no late driver can
    make anything visible. Safe to repeat.

    Raises:
        JobNotActiveError: A committed decision stands, or the job is over.
        CommitStateUnknownError: It could not be decided: a driver may still commit the job.
        CommitFailedError: Nothing is visible, but not everything could be removed; abort again.
    """
    aborted = await _aborted(job, by)
    if aborted is not None:
        await _remove_aborted(job, aborted)


@failing_as(CommitStateUnknownError, "abort")
async def _aborted(job: BoundJob, by: str) -> Standing[Decision] | None:
    """The aborted decision that stands, whoever made it; ``None`` if the job is over."""
    wanted = Decision(nonce=job.store.ids.nonce(), job_id=job.record.job_id, state="aborted", by=by)
    try:
        return await decide(job.store, job.layout, wanted)
    except JobNotActiveError as error:
        if error.outcome == "unknown":
            raise await ended_by_another(job) from error
        if error.outcome == "committed":
            error.add_note(f"if it is not finished, finish it: {job.settle_command('resume')}")
            raise
    try:
        aborted = await standing_decision(job.store, job.layout)
    except JobNotActiveError:
        return None  # It was aborted, by whoever has removed its area since.
    if aborted is None:
        raise not_answered(job.layout, job.layout.decision, "was read, and now cannot be found")
    return aborted


@failing_as(CommitFailedError, "abort")
async def _remove_aborted(job: BoundJob, aborted: Standing[Decision]) -> None:
    rest = await job.removal.retire(job.layout, deletion.of_aborted(job.layout, aborted))
    await rest()
