"""The end of a job: its area is removed, once everything stands that must outlive it.

When ``job.json`` is gone the job is over, and what else is in its area means nothing. So its driver
may be told that it has committed before the rest is removed.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeAlias

from fsspec_commit.effects import deletion
from fsspec_commit.effects.retirement import Rest, nothing
from fsspec_commit.errors import (
    CommitError,
    CommitStateUnknownError,
    PartialCommitError,
    RecordError,
    StoreError,
    unforeseen_as,
)
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.late_deletes import leave_late_deletes
from fsspec_commit.protocol.manifests import NewFiles
from fsspec_commit.protocol.replaced import ReplacedFiles
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Published

Remove: TypeAlias = Callable[[], Awaitable[Sequence[str]]]
"""Removes what is left of the area of a job that is over; returns warnings, and raises no error."""
Later: TypeAlias = Callable[[Remove], Awaitable[Sequence[str]]]
"""Either runs the removal and returns its warnings, or schedules it and returns none."""

_RETIREMENTS_MAX = 4


async def immediately(remove: Remove) -> Sequence[str]:
    """Wait until what is left of the area is removed."""
    return await remove()


async def retire_job(
    job: BoundJob,
    new: NewFiles,
    published: Standing[Published],
    replaced: ReplacedFiles,
    later: Later,
) -> Sequence[str]:
    """Record what later jobs must know, then remove the area; the data is right in any case.

    Args:
        job: The job.
        new: Its files.
        published: Says that they are in place.
        replaced: The old files, which have been removed.
        later: Runs the removal of what is left of the area, or schedules it, when the job is over.

    Returns:
        Warnings.
    """
    for retries in range(_RETIREMENTS_MAX):
        permit = await leave_late_deletes(job, published, replaced, retries=retries)
        ids = new.manifests.chosen.attempt_ids
        try:
            rest = await job.removal.retire(job.layout, permit, published=ids, adopted=new.adopted)
        except deletion.PermitExpiredError:
            continue
        except (StoreError, CommitStateUnknownError, RecordError) as error:
            return [_not_removed(error, "`fsspec-commit resume` or `clean`")]
        return () if rest is nothing else await later(partial(_warned, rest))
    raise _too_slow(job)


async def _warned(rest: Rest) -> Sequence[str]:
    try:
        await _removed(rest)
    except CommitError as error:
        return [_not_removed(error, "`fsspec-commit clean`")]
    return ()


@unforeseen_as(CommitStateUnknownError, "retire")
async def _removed(rest: Rest) -> None:
    await rest()


def _not_removed(error: CommitError, remover: str) -> str:
    return f"the work area was not removed ({error}); {remover} removes it"


def _too_slow(job: BoundJob) -> PartialCommitError:
    """The error of a driver whose permit to remove the area has expired each time."""
    message = (
        "every file is in place and no old one is left, but the store is too slow to end the job; "
        f"when it is faster, finish it with: {job.settle_command('resume')}"
    )
    return PartialCommitError(message, job_id=job.record.job_id, remaining=0, stage="retire")
