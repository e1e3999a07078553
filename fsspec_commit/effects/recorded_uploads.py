"""What jobs have recorded of their pending uploads, each in its area, as everybody can read it."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypeAlias

from fsspec_commit.effects.confirmed.reads import refusals_as_damage
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.parallel import for_each
from fsspec_commit.effects.stored_records import recall
from fsspec_commit.errors import NewerVersionError, RecordError, RequestError
from fsspec_commit.ids import JobId, Nonce
from fsspec_commit.layout import DestinationLayout, JobLayout, StorePath
from fsspec_commit.records.upload import UploadRecord
from fsspec_commit.store import Directory, Entry, PendingUpload

PublishedIds: TypeAlias = Callable[[], Awaitable[Container[str]]]
"""Returns the ids of attempts whose uploads are all completed."""
UploadKey: TypeAlias = tuple[StorePath, str]
"""What tells uploads apart: the path and the store's id."""


async def nothing_published() -> Container[str]:
    """No attempt of the job has published anything."""
    return ()


def key_of(upload: PendingUpload) -> UploadKey:
    """What tells *upload* from all others."""
    return upload.path, upload.upload_id


@dataclass(frozen=True, slots=True)
class Recorded:
    """The uploads that jobs have recorded, and whether these are all of them."""

    keys: frozenset[UploadKey]
    is_whole: bool


class RecordedUploads:
    """The records of uploads in the areas of jobs.

    Args:
        store: Where the records are.
    """

    def __init__(self, store: ConfirmedStore) -> None:
        self._store = store

    async def of_all(
        self,
        destination: DestinationLayout,
        *,
        but: JobLayout | None = None,
        markers_alone: bool = False,
        if_allowed: bool = False,
    ) -> Recorded:
        """The uploads that all jobs *but* one have recorded, each read as by :meth:`of_another`."""
        keys = set[UploadKey]()
        unread: list[JobLayout] = []

        async def look(layout: JobLayout) -> None:
            found = await self.of_another(
                layout, markers_alone=markers_alone, if_allowed=if_allowed
            )
            keys.update(found.keys)
            if not found.is_whole:
                unread.append(layout)

        jobs = job_ids_among(await self._store.list_usable(destination.areas), destination)
        others = [layout for layout in map(destination.job, jobs) if layout != but]
        # Each of them reads as many records at once as may be in flight.
        await for_each(others, look, in_flight_max=self._store.records_at_once_max)
        return Recorded(frozenset(keys), is_whole=not unread)

    async def of_another(
        self, layout: JobLayout, *, markers_alone: bool = False, if_allowed: bool = False
    ) -> Recorded:
        """The uploads that a job has recorded; not whole, if a newer version has recorded one.

        Args:
            layout: The job.
            markers_alone: Look for records of the marker's uploads alone.
            if_allowed: Where the job may not be looked at, return what is not whole, too.

        Raises:
            StoreError: The job may not be looked at.
        """
        unread: list[StorePath] = []
        try:
            with refusals_as_damage() if if_allowed else nullcontext():
                if markers_alone:
                    paths = await self._of_markers(layout)
                else:
                    paths = [path async for path in self._paths(layout, nothing_published)]
                found = await self._read(layout, paths, unread)
        except RecordError:
            return Recorded(frozenset(), is_whole=False)
        return Recorded(frozenset(map(key_of, found)), is_whole=not unread)

    async def of(self, layout: JobLayout, published: PublishedIds) -> list[PendingUpload]:
        """The uploads that a job has recorded, but for those of *published* attempts."""
        paths = [path async for path in self._paths(layout, published)]
        return await self._read(layout, paths, [])

    async def _paths(
        self, layout: JobLayout, published: PublishedIds
    ) -> AsyncGenerator[StorePath, None]:
        over: Container[str] | None = None
        async for entry in self._store.list_tree(layout.area):
            attempt_id = layout.attempt_recorded_by(entry.path)
            if attempt_id is not None and over is None:
                over = await published()
            is_over = attempt_id is not None and over is not None and attempt_id in over
            if layout.is_upload_record(entry.path) and not is_over:
                yield entry.path

    async def _of_markers(self, layout: JobLayout) -> list[StorePath]:
        return [
            child.path
            for child in await self._store.list_usable(layout.area)
            if isinstance(child, Entry) and layout.is_upload_record(child.path)
        ]

    async def _read(
        self, layout: JobLayout, paths: Sequence[StorePath], unread: list[StorePath]
    ) -> list[PendingUpload]:
        """The uploads that the records at *paths* name; what is no record of the job names none.

        Those of a newer version are added to *unread*.
        """
        found: list[PendingUpload] = []

        async def read(path: StorePath) -> None:
            try:
                standing = await recall(self._store, layout, path, UploadRecord)
                if standing is None:
                    return
                record = standing.record
                target = record.path(layout.destination)
            except NewerVersionError:
                unread.append(path)
                return
            except (RecordError, RequestError):
                return  # Nobody's record: it attributes nothing, and the job must end all the same.
            nonce = Nonce(record.nonce)
            found.append(PendingUpload(path=target, upload_id=record.upload_id, nonce=nonce))

        await for_each(paths, read, in_flight_max=self._store.in_flight_max)
        return found


def job_ids_among(
    children: Sequence[Entry | Directory], destination: DestinationLayout
) -> list[JobId]:
    """The ids of the jobs whose areas are among the listed *children* of all areas."""
    found = (destination.job_of(child.path) for child in children if isinstance(child, Directory))
    return [job_id for job_id in found if job_id is not None]
