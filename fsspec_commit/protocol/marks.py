"""The marks that a job leaves beside the areas when it ends: done, lost, and an epoch."""

from collections.abc import Iterable, Sequence

from fsspec_commit.effects import deletion
from fsspec_commit.effects.parallel import for_each
from fsspec_commit.errors import PartialCommitError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Published
from fsspec_commit.store import Directory, Entry, Unusable

_FORGOTTEN_MAX = 4
"""The most epochs that one job deletes: else each of a hundred jobs would delete the same ones."""
_NUMBER_LENGTH = 12
"""Digits of an epoch's nonce that fix its place in a listing; the rest are as good as unique."""


async def mark_done(job: BoundJob) -> None:
    """Record permanently that a job with this idempotency key has committed here."""
    if job.record.key_digest is not None:
        layout = job.layout.destination
        await _touch(job, layout.done(job.record.key_digest))


async def is_done(job: BoundJob) -> bool:
    """Whether a job with this idempotency key has committed here.

    The mark is read, since ``stat`` would make an object store look for a directory as well.
    """
    key = job.record.key_digest
    return key is not None and await job.store.read(job.layout.destination.done(key)) is not None


async def mark_lost(job: BoundJob) -> None:
    """Record permanently that files of this job were lost, so that not all are in place."""
    await _touch(job, job.layout.destination.lost(job.layout.job_id))


async def begin_epoch(job: BoundJob, beside: Sequence[Entry | Directory]) -> None:
    """Let readers that are listing the destination see that a job has finished meanwhile.

    The new epoch sorts after those that stood *beside* the areas, so that a listing of many pages,
    in the order of names, cannot pass its place before it stands and then find the others gone.
    """
    layout = job.layout.destination
    before = epochs_among(beside, layout)
    await _touch(job, layout.epoch(_following(before, job.store.ids.nonce())))


async def forget_epochs(
    job: BoundJob, published: Standing[Published], beside: Sequence[Entry | Directory]
) -> None:
    """Delete epochs that stood *beside* the areas, once the job's own stands, and no others.

    An epoch that another job created in between stays, since a reader may have seen only what was
    there before it. An extra epoch says no more than one does, so one that cannot be deleted is
    left to the next job. If there are more than a few, a job deletes a few of them, picked at
    random, so that jobs that end together do not all delete the same ones.
    """
    layout = job.layout.destination
    before = epochs_among(beside, layout)
    if len(before) > _FORGOTTEN_MAX:
        first = int(job.store.ids.jitter() * len(before))
        before = (before[first:] + before[:first])[:_FORGOTTEN_MAX]
    permit = deletion.of_epochs(layout, published, before)

    async def forget(entry: Entry) -> None:
        await job.store.delete_or_leave(entry.path, permit)

    await for_each(before, forget, in_flight_max=job.store.in_flight_max)


def _following(before: Sequence[Entry], nonce: Nonce) -> Nonce:
    """*nonce*, but with a number at its head that is one more than that of any epoch *before*."""
    numbers = [int(epoch.path.rpartition("-")[2][:_NUMBER_LENGTH], 16) for epoch in before]
    number = (max(numbers, default=-1) + 1) % 16**_NUMBER_LENGTH
    return Nonce(f"{number:0{_NUMBER_LENGTH}x}{nonce[_NUMBER_LENGTH:]}")


def areas_gone(job: BoundJob) -> PartialCommitError:
    """The error of a driver that cannot leave a mark, since the directory of all areas is gone."""
    job_id = job.record.job_id
    message = f"the work areas of {job.record.destination!r} are not there"
    return PartialCommitError(message, job_id=job_id, remaining=0, stage="retire")


def epochs_among(
    children: Iterable[Entry | Directory | Unusable], layout: DestinationLayout
) -> tuple[Entry, ...]:
    """The epochs among the listed children of all areas."""
    return tuple(c for c in children if isinstance(c, Entry) and layout.is_epoch(c.path))


async def _touch(job: BoundJob, path: StorePath) -> None:
    areas = job.layout.destination.areas
    if await job.store.create(path, b"", within=areas) is None:
        raise areas_gone(job)
