"""Uploads that their job will never complete: found, attributed to it, aborted.

An upload belongs to the job that recorded it in its area, or else to the job that its key names.
An upload that neither attributes is never aborted, only shown: it may be anybody's. A record wins
over a name, because files of one job may be copied by another under their exact names.

A name does not say at which destination its job is: there may be others above and below. Nor does a
record prove anything: whoever may write to a job's area can forge one. So an upload that another
job has recorded as well is left to that job.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fsspec_commit.effects import deletion
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.confirmed.uploads import ConfirmedUploads
from fsspec_commit.effects.deletion import Permit
from fsspec_commit.effects.parallel import both, for_each
from fsspec_commit.effects.recorded_uploads import (
    PublishedIds,
    RecordedUploads,
    UploadKey,
    job_ids_among,
    key_of,
    nothing_published,
)
from fsspec_commit.ids import JobId
from fsspec_commit.layout import DestinationLayout, JobLayout, StorePath
from fsspec_commit.names import job_named_in
from fsspec_commit.store import PendingUpload


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Uploads that belong, or may belong, to jobs of other destinations, and are not aborted."""

    theirs: frozenset[UploadKey]
    doubtful: frozenset[UploadKey]

    def is_theirs(self, upload: PendingUpload) -> bool:
        """Whether a job of another destination has begun *upload*, and may complete it."""
        return key_of(upload) in self.theirs

    def may_be_theirs(self, upload: PendingUpload) -> bool:
        """Whether it is unknown if *upload* is theirs: the store refuses to show the jobs there."""
        return key_of(upload) in self.doubtful


@dataclass(frozen=True, slots=True)
class Strays:
    """Pending uploads that no job with an area is known to have recorded.

    Attributes:
        found: Each with the job that its key names, if it names one.
        are_certain: Whether every record of every job was read, so that none names them.
    """

    found: list[tuple[JobId | None, PendingUpload]]
    are_certain: bool


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
        self._recorded = RecordedUploads(store)
        self._uploads = uploads
        self._listable = listable

    async def abort_of(
        self, layout: JobLayout, permit: Permit, *, published: PublishedIds = nothing_published
    ) -> None:
        """Abort the uploads left by a job whose area may be deleted.

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
            found = await self._only_ours(layout, await self._recorded.of(layout, published))
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
        recorded = await self._recorded.of_all(destination, if_allowed=True)
        found = [(_job_of(one), one) for one in pending if key_of(one) not in recorded.keys]
        return Strays(found, are_certain=recorded.is_whole)

    async def unrecorded(
        self, destination: DestinationLayout, found: Sequence[PendingUpload]
    ) -> list[PendingUpload]:
        """Those of *found* that hold no byte, and that certainly no job with an area recorded."""
        recorded = await self._recorded.of_all(destination, if_allowed=True)
        if not recorded.is_whole:
            return []
        return [
            one
            for one in found
            if key_of(one) not in recorded.keys and await self._uploads.is_empty(one)
        ]

    async def elsewhere(
        self,
        destination: DestinationLayout,
        named: Sequence[tuple[JobId, PendingUpload]],
        *,
        if_allowed: bool = False,
    ) -> "Elsewhere":
        """Which of the *named* uploads may be of jobs at destinations above or below this one.

        Lists the areas once in each directory that one of the uploads is below. An upload was begun
        while its job had an area, and listed before these areas are: if there is none, the job is
        over. An empty listing may not have come from the store: ``job.json`` is looked for as well.

        Args:
            destination: Where the uploads were listed.
            named: Uploads, with the jobs that their keys name.
            if_allowed: Whether uploads count as doubtful that may be of a job that may not be
                looked at; otherwise they raise an error, after which the caller can ask again.

        Raises:
            StoreError: A job there may not be looked at.
        """
        others = {
            other.root: other for _, one in named for other in destination.others_above(one.path)
        }
        found: dict[StorePath, set[JobId] | None] = {}
        recorded = set[UploadKey]()

        async def look(other: DestinationLayout) -> None:
            areas = await self._store.list_children_if_allowed(other.areas)
            found[other.root] = None if areas is None else set(job_ids_among(areas, other))

        await for_each([*others.values()], look, in_flight_max=self._store.in_flight_max)
        for root, jobs in found.items():
            theirs = [others[root].job(job_id) for job_id in jobs or ()]
            of_each = [
                await self._recorded.of_another(job, if_allowed=if_allowed) for job in theirs
            ]
            recorded.update(*(of_one.keys for of_one in of_each))
            if not all(of_one.is_whole for of_one in of_each):
                found[root] = None
        unlisted = {
            other.job(job_id).spec: None
            for job_id, one in named
            for other in destination.others_above(one.path)
            if found[other.root] is not None and key_of(one) not in recorded
        }
        stands: dict[StorePath, bool | None] = {}

        async def seek(spec: StorePath) -> None:
            stands[spec] = await self._store.stands_if_allowed(spec)

        await for_each([*unlisted], seek, in_flight_max=self._store.in_flight_max)
        certain, doubtful = set[UploadKey](), set[UploadKey]()
        for job_id, one in named:
            above = [*destination.others_above(one.path)]
            jobs_above = [found[other.root] for other in above]
            begun = [stands.get(other.job(job_id).spec, False) for other in above]
            listed = any(job_id in (jobs or ()) for jobs in jobs_above)
            if key_of(one) in recorded or listed or True in begun:
                certain.add(key_of(one))
            elif None in jobs_above or None in begun:
                doubtful.add(key_of(one))
        return Elsewhere(frozenset(certain), frozenset(doubtful))

    async def _ours_among(
        self, layout: JobLayout, pending: Sequence[PendingUpload], published: PublishedIds
    ) -> list[PendingUpload]:
        """Those that the job has recorded, or that are named after it; not what others recorded."""
        unnamed = [upload for upload in pending if _job_of(upload) is None]
        named = [upload for upload in pending if _job_of(upload) is not None]
        if unnamed:
            recorded = {key_of(upload) for upload in await self._recorded.of(layout, published)}
            unnamed = [upload for upload in unnamed if key_of(upload) in recorded]
        return await self._unrecorded_by_others(layout, unnamed + named)

    async def _only_ours(
        self, layout: JobLayout, recorded: Sequence[PendingUpload]
    ) -> list[PendingUpload]:
        """Those of *recorded* that are not other jobs', where no listing shows what is pending.

        One that is named after another job may be of a job at another destination, too.
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

        Where records of a newer version cannot be read, uploads that are named after a job stay:
        one may upload a copy of a file of that job, for another job. `clean` aborts them later.

        Raises:
            StoreError: Another job may not be looked at. Ours must keep its records until then: if
                they went, nothing would say whose these uploads are.
        """
        if not found:
            return []
        markers_alone = all(upload.path == layout.destination.success for upload in found)
        others = await self._recorded.of_all(
            layout.destination, but=layout, markers_alone=markers_alone
        )
        return [
            upload
            for upload in found
            if key_of(upload) not in others.keys and (others.is_whole or _job_of(upload) is None)
        ]

    async def _below(
        self, destination: DestinationLayout, wanted: Callable[[PendingUpload], bool]
    ) -> list[PendingUpload]:
        return await self._uploads.pending(destination.root, wanted)


def _job_of(upload: PendingUpload) -> JobId | None:
    return job_named_in(upload.path)
