"""The end of a job: its area is removed, once everything stands that must outlive it."""

from fsspec_commit.effects import deletion
from fsspec_commit.errors import (
    CommitStateUnknownError,
    PartialCommitError,
    RecordError,
    StoreError,
)
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.late_deletes import leave_late_deletes
from fsspec_commit.protocol.manifests import NewFiles
from fsspec_commit.protocol.replaced import ReplacedFiles
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Published

_RETIREMENTS_MAX = 4


async def retire_job(
    job: BoundJob, new: NewFiles, published: Standing[Published], replaced: ReplacedFiles
) -> list[str]:
    """Record what later jobs must know, then remove the area; the data is right in any case."""
    for retries in range(_RETIREMENTS_MAX):
        permit = await leave_late_deletes(job, published, replaced, retries=retries)
        ids = new.manifests.chosen.attempt_ids
        try:
            await job.removal.retire(job.layout, permit, published=ids, adopted=new.adopted)
        except deletion.PermitExpiredError:
            continue
        except (StoreError, CommitStateUnknownError, RecordError) as error:
            left = f"the work area was not removed ({error})"
            return [f"{left}; `fsspec-commit resume` or `clean` removes it"]
        return []
    raise _too_slow(job)


def _too_slow(job: BoundJob) -> PartialCommitError:
    """The error of a driver whose permit to remove the area has expired each time."""
    message = (
        "every file is in place and no old one is left, but the store is too slow to end the job; "
        f"when it is faster, finish it with: {job.settle_command('resume')}"
    )
    return PartialCommitError(message, job_id=job.record.job_id, remaining=0, stage="retire")
