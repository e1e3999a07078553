"""Uploads that their job will never complete: found, attributed to it, aborted.

An upload belongs to the job that recorded it in its area, or else to the job that its key names.
An upload that neither attributes is never aborted, only shown: it may be anybody's. A record wins
over a name, because files of one job may be copied by another under their exact names.

A name does not say at which destination its job is: there may be others above and below. Nor does a
record prove anything: whoever may write to a job's area can forge one. So an upload that another
job has recorded as well is left to that job.
"""

from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from fsspec_commit.effects import deletion
from fsspec_commit.effects.confirmed.reads import refusals_as_damage
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.confirmed.uploads import ConfirmedUploads
from fsspec_commit.effects.deletion import Permit
from fsspec_commit.effects.parallel import both, for_each
from fsspec_commit.effects.stored_records import recall
from fsspec_commit.errors import NewerVersionError, RecordError, RequestError
from fsspec_commit.ids import JobId, Nonce
from fsspec_commit.layout import DestinationLayout, JobLayout, StorePath
from fsspec_commit.names import job_named_in
from fsspec_commit.records.upload import UploadRecord
from fsspec_commit.store import Directory, Entry, PendingUpload

T = TypeVar("T")
PublishedIds: TypeAlias = Callable[[], Awaitable[Container[str]]]
"""Returns the ids of attempts whose uploads are all completed."""
_Key: TypeAlias = tuple[StorePath, str]


async def nothing_published() -> Container[str]:
    """No attempt of the job has published anything."""
    return ()


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Uploads that belong, or may belong, to jobs of other destinations, and are not aborted."""

    theirs: frozenset[_Key]
    doubtful: frozenset[_Key]

    def is_theirs(self, upload: PendingUpload) -> bool:
        """Whether a job of another destination has begun *upload*, and may complete it."""
        return _key(upload) in self.theirs

    def may_be_theirs(self, upload: PendingUpload) -> bool:
        """Whether that is unknown, since the store refuses to show the jobs there."""
        return _key(upload) in self.doubtful


@dataclass(frozen=True, slots=True)
class Strays:
    """Pending uploads that no job with an area is known to have recorded.

    Attributes:
        found: Each with the job that its key names, if it names one.
        are_certain: Whether every record of every job was read, so that none names them.
    """

    found: list[tuple[JobId | None, PendingUpload]]
    are_certain: bool


@dataclass(frozen=True, slots=True)
class _Recorded:
    """The uploads that jobs have recorded, and whether these are all that they have."""

    keys: set[_Key]
    is_whole: bool


class LeftoverUploads:
    """The pending uploads of one destination.

    Args:
        store: Where the records are.
        uploads: Lists and aborts.
        listable: Whether the store lists all pending uploads below a directory. Where it does
            not, every upload is recorded, and the records are all there is to find them by.
    """

    def __init__(self, store: ConfirmedStore, uploads: ConfirmedUploads, *, listable: bool) -> None:
        self._store = store
        self._uploads = uploads
        self._listable = listable

    async def abort_of(
        self, layout: JobLayout, permit: Permit, *, published: PublishedIds = nothing_published
    ) -> None:
        """Abort the uploads that a job has left whose area may be deleted.

        That takes one listing if nothing is left; records are read only for uploads that no name
        attributes, and to see that no other job has recorded one.

        Args:
            layout: The job.
            permit: A permit for its area.
            published: Returns the attempts whose uploads are all completed, and whose records need
                not be read.
        """
        if self._listable:
            ours = (None, layout.job_id)
            pending = await self._below(layout.destination, lambda one: _job_of(one) in ours)
            known = [one for one in pending if self._uploads.is_known_of(one, layout.job_id)]
            unsure = [one for one in pending if one not in known]
            _, found = await both(
                self.abort(layout, permit, known), self._ours_among(layout, unsure, published)
            )
        else:
            found = await self._only_ours(layout, await self._recorded(layout, published))
        await self.abort(layout, permit, found)

    async def abort(
        self, layout: JobLayout, permit: Permit, found: Sequence[PendingUpload]
    ) -> None:
        """Abort exactly the uploads *found*, of a job whose area may be deleted."""
        await self._abort(found, deletion.of_leftover_uploads(layout, permit, found))

    async def abort_of_probes(
        self, destination: DestinationLayout, found: Sequence[PendingUpload]
    ) -> None:
        """Abort exactly the uploads *found*, which probes have begun."""
        await self._abort(found, deletion.of_probe_uploads(destination, found))

    async def abort_markers(
        self, destination: DestinationLayout, found: Sequence[PendingUpload]
    ) -> None:
        """Abort exactly the uploads *found*, of a marker that no job can publish any more."""
        await self._abort(found, deletion.of_marker_uploads(destination, found))

    async def _abort(self, found: Sequence[PendingUpload], permitted: Permit) -> None:
        async def abort(upload: PendingUpload) -> None:
            await self._uploads.abort(upload, permitted)

        await for_each(found, abort, in_flight_max=self._store.in_flight_max)

    async def strays(
        self, destination: DestinationLayout, wanted: Callable[[JobId | None], bool]
    ) -> Strays:
        """Every pending upload of *wanted* jobs that no job with an area has recorded.

        None where uploads cannot be listed.
        """
        if not self._listable:
            return Strays([], are_certain=True)
        pending = await self._below(destination, lambda upload: wanted(_job_of(upload)))
        if not pending:
            return Strays([], are_certain=True)
        recorded = await self._recorded_by_all(destination, if_allowed=True)
        found = [(_job_of(one), one) for one in pending if _key(one) not in recorded.keys]
        return Strays(found, are_certain=recorded.is_whole)

    async def unrecorded(
        self, destination: DestinationLayout, found: Sequence[PendingUpload]
    ) -> list[PendingUpload]:
        """Those of *found* that hold no byte, and that certainly no job with an area recorded."""
        recorded = await self._recorded_by_all(destination, if_allowed=True)
        if not recorded.is_whole:
            return []
        return [
            one
            for one in found
            if _key(one) not in recorded.keys and await self._uploads.is_empty(one)
        ]

    async def elsewhere(
        self, destination: DestinationLayout, named: Sequence[tuple[JobId, PendingUpload]]
    ) -> "Elsewhere":
        """Which of the *named* uploads may be of jobs at destinations above or below this one.

        Lists the areas once in each directory that one of the uploads is below. An upload was begun
        when its job had an area, and listed before these areas are: if there is none, the job is
        over. Since an empty listing may not have come from the store, ``job.json`` is read as well.
        """
        others = {
            other.root: other for _, one in named for other in destination.others_above(one.path)
        }
        found: dict[StorePath, set[JobId] | None] = {}
        recorded = set[_Key]()

        async def look(other: DestinationLayout) -> None:
            areas = await self._store.list_children_if_allowed(other.areas)
            found[other.root] = None if areas is None else set(_jobs_among(areas, other))

        await for_each([*others.values()], look, in_flight_max=self._store.in_flight_max)
        for root, jobs in found.items():
            unknown: list[StorePath] = []
            for job_id in jobs or ():
                layout = others[root].job(job_id)
                recorded.update(map(_key, await self._recorded_if_allowed(layout, unknown)))
            if unknown:
                found[root] = None
        unlisted = {
            other.job(job_id).spec: None
            for job_id, one in named
            for other in destination.others_above(one.path)
            if found[other.root] is not None and _key(one) not in recorded
        }
        stands: dict[StorePath, bool | None] = {}

        async def seek(spec: StorePath) -> None:
            stands[spec] = await self._store.stands_if_allowed(spec)

        await for_each([*unlisted], seek, in_flight_max=self._store.in_flight_max)
        theirs, doubtful = set[_Key](), set[_Key]()
        for job_id, one in named:
            above = [*destination.others_above(one.path)]
            jobs_above = [found[other.root] for other in above]
            begun = [stands.get(other.job(job_id).spec, False) for other in above]
            listed = any(job_id in (jobs or ()) for jobs in jobs_above)
            if _key(one) in recorded or listed or True in begun:
                theirs.add(_key(one))
            elif None in jobs_above or None in begun:
                doubtful.add(_key(one))
        return Elsewhere(frozenset(theirs), frozenset(doubtful))

    async def _ours_among(
        self, layout: JobLayout, pending: Sequence[PendingUpload], published: PublishedIds
    ) -> list[PendingUpload]:
        """Those that the job has recorded, or that are named after it; what others recorded not."""
        unnamed = [upload for upload in pending if _job_of(upload) is None]
        named = [upload for upload in pending if _job_of(upload) is not None]
        if unnamed:
            recorded = {_key(upload) for upload in await self._recorded(layout, published)}
            unnamed = [upload for upload in unnamed if _key(upload) in recorded]
        return await self._unrecorded_by_others(layout, unnamed + named)

    async def _only_ours(
        self, layout: JobLayout, recorded: Sequence[PendingUpload]
    ) -> list[PendingUpload]:
        """Of what a job's records name, without a listing to show what pends: what is not others'.

        What is named after another job may be of a job at another destination, too.
        """
        ours = [upload for upload in recorded if _job_of(upload) == layout.job_id]
        unsure = [upload for upload in recorded if _job_of(upload) != layout.job_id]
        unsure = await self._unrecorded_by_others(layout, unsure)
        named = [(job_id, one) for one in unsure if (job_id := _job_of(one)) is not None]
        elsewhere = await self.elsewhere(layout.destination, named)
        return ours + [
            upload
            for upload in unsure
            if not elsewhere.is_theirs(upload) and not elsewhere.may_be_theirs(upload)
        ]

    async def _unrecorded_by_others(
        self, layout: JobLayout, found: Sequence[PendingUpload]
    ) -> list[PendingUpload]:
        """Those of *found* that no other job has recorded.

        Where a newer version has recorded what cannot be read, those that are named after a job
        stay: it may be a copy of a file of that job that is uploaded. `clean` aborts them later.

        Raises:
            StoreError: Another job may not be looked at. Ours must keep its records until then: if
                they went, nothing would say whose these uploads are.
        """
        if not found:
            return []
        markers_alone = all(upload.path == layout.destination.success for upload in found)
        others = await self._recorded_by_all(
            layout.destination, but=layout, markers_alone=markers_alone
        )
        return [
            upload
            for upload in found
            if _key(upload) not in others.keys and (others.is_whole or _job_of(upload) is None)
        ]

    async def _below(
        self, destination: DestinationLayout, wanted: Callable[[PendingUpload], bool]
    ) -> list[PendingUpload]:
        return await self._uploads.pending(destination.root, wanted)

    async def _recorded_by_all(
        self,
        destination: DestinationLayout,
        *,
        but: JobLayout | None = None,
        markers_alone: bool = False,
        if_allowed: bool = False,
    ) -> _Recorded:
        """The uploads that all jobs but one have recorded: not whole where a record is unreadable.

        Args:
            destination: Where the jobs are.
            but: The one.
            markers_alone: Look for records of the marker's uploads alone.
            if_allowed: Pass over a job that may not be looked at; then they are not whole either.
        """
        recorded = set[_Key]()
        unknown: list[StorePath] = []

        async def look(layout: JobLayout) -> None:
            if if_allowed:
                found = await self._recorded_if_allowed(layout, unknown)
            else:
                found = await self._recorded_by(layout, unknown, markers_alone=markers_alone)
            recorded.update(map(_key, found))

        jobs = _jobs_among(await self._store.list_usable(destination.areas), destination)
        others = [layout for layout in map(destination.job, jobs) if layout != but]
        # Each of them reads as many records at once as may be in flight.
        await for_each(others, look, in_flight_max=self._store.records_at_once_max)
        return _Recorded(recorded, is_whole=not unknown)

    async def _recorded_if_allowed(
        self, layout: JobLayout, unknown: list[StorePath]
    ) -> list[PendingUpload]:
        """The uploads that another job has recorded; one that nobody may look at is *unknown*."""
        try:
            with refusals_as_damage():
                return await self._recorded(layout, unknown=unknown)
        except RecordError:
            unknown.append(layout.area)
            return []

    async def _recorded_by(
        self, layout: JobLayout, unknown: list[StorePath], *, markers_alone: bool
    ) -> list[PendingUpload]:
        """The uploads that another job has recorded; records of a newer version go to *unknown*."""
        if not markers_alone:
            return await self._recorded(layout, unknown=unknown)
        records = [
            child.path
            for child in await self._store.list_usable(layout.area)
            if isinstance(child, Entry) and layout.is_upload_record(child.path)
        ]
        return await self._read(layout, records, unknown)

    async def _recorded(
        self,
        layout: JobLayout,
        published: PublishedIds = nothing_published,
        *,
        unknown: list[StorePath] | None = None,
    ) -> list[PendingUpload]:
        """The uploads that a job has recorded; records of a newer version go to *unknown*."""
        paths: list[StorePath] = []
        over: Container[str] | None = None
        async for entry in self._store.list_tree(layout.area):
            attempt_id = layout.attempt_recorded_by(entry.path)
            if attempt_id is not None and over is None:
                over = await published()
            is_over = attempt_id is not None and over is not None and attempt_id in over
            if layout.is_upload_record(entry.path) and not is_over:
                paths.append(entry.path)
        return await self._read(layout, paths, unknown)

    async def _read(
        self, layout: JobLayout, paths: Sequence[StorePath], unknown: list[StorePath] | None
    ) -> list[PendingUpload]:
        """The uploads that the records at *paths* name; what is no record of the job names none."""
        found: list[PendingUpload] = []

        async def read(path: StorePath) -> None:
            try:
                standing = await recall(self._store, layout, path, UploadRecord)
                if standing is None:
                    return
                record = standing.record
                target = record.path(layout.destination)
            except NewerVersionError:
                if unknown is not None:
                    unknown.append(path)
                return
            except (RecordError, RequestError):
                return  # Nobody's record: it attributes nothing, and the job must end all the same.
            nonce = Nonce(record.nonce)
            found.append(PendingUpload(path=target, upload_id=record.upload_id, nonce=nonce))

        await for_each(paths, read, in_flight_max=self._store.in_flight_max)
        return found


def _jobs_among(
    children: Sequence[Entry | Directory], destination: DestinationLayout
) -> list[JobId]:
    found = (destination.job_of(child.path) for child in children if isinstance(child, Directory))
    return [job_id for job_id in found if job_id is not None]


def _job_of(upload: PendingUpload) -> JobId | None:
    return job_named_in(upload.path)


def _key(upload: PendingUpload) -> _Key:
    return upload.path, upload.upload_id
