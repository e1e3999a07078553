"""Deletion of the replaced files, on a permit that is renewed while ``job.json`` stands (P9)."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

from fsspec_commit.effects import deletion
from fsspec_commit.effects.ending import ending
from fsspec_commit.effects.parallel import for_each
from fsspec_commit.effects.removal import Removed
from fsspec_commit.errors import PartialCommitError
from fsspec_commit.names import existing_name
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.elsewhere import Elsewhere
from fsspec_commit.protocol.job_records import read_record
from fsspec_commit.protocol.replaced import ReplacedFiles, lines_of
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Published, ReplacedFile
from fsspec_commit.records.slices import Deleted
from fsspec_commit.store import Entry

_SHOWN_MAX = 3
LASTS = timedelta(minutes=5)
"""How long files may be deleted after ``job.json`` was last read."""


async def look_early(job: BoundJob, replaced: ReplacedFiles) -> datetime | None:
    """Look for ``job.json`` while it is recorded that every new file is in place.

    Returns:
        When it stood, to be given to :func:`delete_replaced`; ``None`` if nothing is to be deleted,
        or if the removal has to look at each file to tell it from a newer one.

    Raises:
        PartialCommitError: There is no ``job.json``: this driver may have been superseded.
    """
    if replaced.count == len(replaced.in_place) or not job.removal.may_look_early:
        return None
    return await _stood(job)


async def delete_replaced(
    job: BoundJob,
    published: Standing[Published],
    replaced: ReplacedFiles,
    stood: datetime | None = None,
    elsewhere: Elsewhere | None = None,
) -> tuple[str, ...]:
    """Remove every listed file that still stands as it was listed.

    Args:
        job: The job, bound.
        published: The record that every new file is in place.
        replaced: The listed files.
        stood: When ``job.json`` stood, if it was looked for just now.
        elsewhere: Workers elsewhere that remove some of them.

    Returns:
        Warnings: old files that stay, since they have changed since they were listed.

    Raises:
        PartialCommitError: This driver may have been superseded; or a file that is not the listed
            one was moved to the trash and cannot be put back.
    """
    deleted, left = Deleted(), None
    if elsewhere is not None:
        deleted, left = await elsewhere.delete(replaced)
    batches = replaced.batches() if left is None else lines_of(replaced, left)
    deleted += await delete_files(job, published, batches, stood)
    if deleted.kept_name is not None:
        path = job.layout.destination.final(existing_name(deleted.kept_name))
        trash = job.layout.trash(deleted.kept_name)
        message = (
            f"published, but {deleted.kept} replaced files remain: {path!r} was replaced by "
            f"somebody else meanwhile, twice; look at {trash!r}, then: "
            f"{job.settle_command('resume')}"
        )
        raise PartialCommitError(message, job_id=job.record.job_id, path=path, stage="replace")
    return _staying(deleted.changed, sorted(deleted.changed_names)[:_SHOWN_MAX])


async def delete_files(
    job: BoundJob,
    published: Standing[Published],
    batches: AsyncIterator[list[ReplacedFile]],
    stood: datetime | None = None,
) -> Deleted:
    """Remove the listed files in *batches*, and report those that are not gone.

    ``job.json`` is read before each batch, and again when a batch takes long: whoever was
    superseded, by a resumer that finished the job, must not delete files of a later job. The next
    batch begins before the last files of one are gone, to keep as many requests in flight.

    Raises:
        PartialCommitError: Somebody else may have finished the job.
    """
    kept: list[Entry] = []
    changed_count, changed = 0, list[str]()

    async def permitted() -> AsyncIterator[list[tuple[_Lease, Entry]]]:
        nonlocal stood
        async with ending(batches) as listed:
            async for batch in listed:
                permit, entries = deletion.of_replaced(job.layout, published, batch)
                lease = _Lease(job, permit, stood)
                stood = None
                if entries:
                    await lease.permit()
                yield [(lease, entry) for entry in entries]

    async def remove(one: tuple[_Lease, Entry]) -> None:
        nonlocal changed_count
        lease, entry = one
        removed = await lease.remove(entry)
        if removed is Removed.KEPT:
            kept.append(entry)
        elif removed is Removed.CHANGED:
            changed_count += 1
            if len(changed) < _SHOWN_MAX:
                changed.append(job.layout.destination.relative(entry.path))

    async with ending(permitted()) as leased:
        await for_each(leased, remove, in_flight_max=job.store.in_flight_max)
    return Deleted(
        changed=changed_count,
        changed_names=tuple(changed),
        kept=len(kept),
        kept_name=job.layout.destination.relative(kept[0].path) if kept else None,
    )


def _staying(count: int, names: list[str]) -> tuple[str, ...]:
    """The warning that *count* old files stay, the first of which are *names*; none if 0 stay."""
    if not count:
        return ()
    shown = ", ".join(map(repr, sorted(names)))
    more = f" and {count - len(names)} more" if count > len(names) else ""
    message = (
        "old files that somebody else has changed since they were listed stay beside the new ones: "
        f"{shown}{more}"
    )
    return (message,)


class _Lease:
    """A permit to delete replaced files, for a while after each time ``job.json`` was read."""

    def __init__(self, job: BoundJob, permit: deletion.Permit, stood: datetime | None) -> None:
        self._job = job
        self._permit = permit
        self._renewing = asyncio.Lock()
        self._current = None if stood is None else permit.until(stood + LASTS)

    async def permit(self) -> deletion.Permit:
        """The permit, renewed if it has to be.

        Raises:
            PartialCommitError: There is no ``job.json``: this driver may have been superseded.
        """
        async with self._renewing:
            now = self._job.store.ids.now()
            if self._current is None or self._current.is_over(now):
                self._current = self._permit.until(await _stood(self._job) + LASTS)
            return self._current

    async def remove(self, entry: Entry) -> Removed:
        """Remove one file, as :meth:`~fsspec_commit.effects.removal.Removal.remove` does."""
        while True:
            permit = await self.permit()
            try:
                return await self._job.removal.remove(self._job.layout, entry, permit)
            except deletion.PermitExpiredError:
                continue


async def _stood(job: BoundJob) -> datetime:
    """A moment at which ``job.json`` stood, just before it was read."""
    moment = job.store.ids.now()
    if await read_record(job.store, job.layout) is None:
        job_id = job.record.job_id
        message = f"every file is in place, and job.json of job {job_id} is not there"
        raise PartialCommitError(message, job_id=job_id, remaining=0, stage="replace")
    return moment
