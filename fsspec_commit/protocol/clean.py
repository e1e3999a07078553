"""Clean up after jobs that will never commit: `clean` on the command line."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import chain

from fsspec_commit.effects import deletion
from fsspec_commit.effects.confirmed.reads import is_of_who_asks
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.leftover_uploads import LeftoverUploads, Strays
from fsspec_commit.effects.retirement import Retirement
from fsspec_commit.effects.void_areas import delete_taken_area, delete_void_area
from fsspec_commit.errors import (
    CommitError,
    JobNotActiveError,
    NewerVersionError,
    RecordError,
    Reply,
    StoreError,
)
from fsspec_commit.hadoop.jobs import HadoopArea, written_by_hadoop
from fsspec_commit.ids import JobId, started
from fsspec_commit.layout import DestinationLayout, JobLayout, StorePath
from fsspec_commit.protocol.abort import abort_job
from fsspec_commit.protocol.bound_job import Bind, Check
from fsspec_commit.protocol.damaged import damage_of, remove_damaged
from fsspec_commit.protocol.job_records import read_record
from fsspec_commit.protocol.job_state import JobState, jobs_among, read_state
from fsspec_commit.protocol.late_deletes import ended_late_deletes
from fsspec_commit.protocol.marker_uploads import abandoned_markers
from fsspec_commit.store import Directory, PendingUpload, Unusable


@dataclass(frozen=True, kw_only=True)
class CleanReport:
    """What ``clean`` has removed or, with ``dry_run``, would remove.

    Attributes:
        aborted: Undecided jobs that were fenced and aborted.
        deleted: Areas of jobs that were over already, and pending uploads of such jobs.
        shown: Jobs that only a person can settle, pending uploads that cannot be attributed to
            any job, and what Hadoop's own jobs have left, each with the reason.
        not_removed: What the store refused to remove, each with the reason; empty with
            ``dry_run``, which tries nothing.
        bytes: The size of what was removed, or would be.
        dry_run: Whether nothing was done.
    """

    aborted: tuple[str, ...]
    deleted: tuple[str, ...]
    shown: tuple[str, ...]
    not_removed: tuple[str, ...]
    bytes: int
    dry_run: bool


async def clean(
    store: ConfirmedStore,
    *,
    older_than: timedelta,
    dry_run: bool,
    bind: Bind,
    check: Check,
    retirement: Retirement,
    leftovers: LeftoverUploads | None,
    damaged: Collection[str] = (),
    accept_loss: bool = False,
) -> CleanReport:
    """Remove what jobs that will never commit have left.

    A clock picks the candidates; only the fence decides: an undecided job gets an ``aborted``
    decision first, and one that commits at that moment is left alone. A decided, unfinished job
    is never touched, only shown.

    The jobs in *damaged* are removed first, if they are damaged and cannot have committed.

    Pending uploads of jobs that are over are aborted, and what S3A has recorded of them is deleted,
    even if their area is gone. So are empty uploads of ``_SUCCESS`` that no job can complete, if
    they were begun at least *older_than* ago. Uploads that neither a record nor a name attributes
    to a job are only shown, and so is what Hadoop's own committers have left.
    """
    found = _Found(store, retirement, leftovers, dry_run=dry_run)
    destination = DestinationLayout(store.root)
    for job_id in damaged:
        size = await remove_damaged(
            store,
            destination,
            job_id,
            check=check,
            retirement=retirement,
            accept_loss=accept_loss,
            dry_run=dry_run,
        )
        found.removed_damaged(job_id, size)
    for child in await store.list_area(destination.areas):
        if isinstance(child, Unusable):
            found.show_unusable(destination, child)
        elif isinstance(child, Directory):
            await found.settle_remains(destination, child.path)
    now = store.ids.now()

    def is_old(begun: datetime) -> bool:
        return now - begun >= older_than

    usable = await store.list_usable(destination.areas)
    for path, permit in ended_late_deletes(destination, usable, now).items():
        await found.delete_remains(path, permit)
    for layout in jobs_among(usable, destination):
        if is_old(started(layout.job_id)):
            await found.settle(layout, bind, check)
    await found.abort_strays(destination, is_old)
    written = await written_by_hadoop(store)
    old = [one for one in written.for_ours if is_old(started(one.job_id))]
    await found.delete_magic(old)
    found.show_hadoops(written.areas)
    return found.report()


class _Found:
    """What ``clean`` has found and removed so far."""

    def __init__(
        self,
        store: ConfirmedStore,
        retirement: Retirement,
        leftovers: LeftoverUploads | None,
        *,
        dry_run: bool,
    ) -> None:
        self._store = store
        self._retirement = retirement
        self._leftovers = leftovers
        self._dry_run = dry_run
        self._left_alone: set[str] = set()
        self._named: set[str] = set()
        self._aborted: list[str] = []
        self._deleted: list[str] = []
        self._shown: list[str] = []
        self._not_removed: list[str] = []
        self._bytes = 0

    async def settle_remains(self, destination: DestinationLayout, path: StorePath) -> None:
        """Delete a directory that a settled job, a probe or another ``clean`` has left."""
        taken = destination.taken_from(path)
        if taken is not None:
            await self._settle_taken(destination.job(taken), path)
        elif destination.is_gone(path) or destination.is_probe(path):
            await self.delete_remains(path, deletion.of_remains(destination, path))

    async def delete_remains(self, path: StorePath, permit: deletion.Permit) -> None:
        """Delete what a settled job or a probe has left."""
        name = DestinationLayout(self._store.root).relative(path)
        size = await self._store.bytes_below(path)
        if await self._removed(name, partial(self._delete, path, permit)):
            self._deleted.append(name)
            self._bytes += size

    async def _delete(self, path: StorePath, permit: deletion.Permit) -> bool:
        await self._store.delete_tree(path, permit)
        return True

    async def _removed(self, name: str, remove: Callable[[], Awaitable[bool]]) -> bool:
        """Whether *remove* removes it, or would; a refusal is noted and does not stop the rest."""
        if self._dry_run:
            return True
        try:
            return await remove()
        except RecordError as error:
            self._shown.append(f"{name}: damaged, {error}")
            return False
        except CommitError as error:
            refusal = error if isinstance(error, StoreError) else error.__cause__
            if not isinstance(refusal, StoreError) or refusal.reply is not Reply.REFUSED:
                raise
            self._not_removed.append(f"{name}: {refusal}")
            return False

    def removed_damaged(self, job_id: str, size_bytes: int) -> None:
        """Count a damaged job that was removed at a person's request."""
        self._deleted.append(job_id)
        self._bytes += size_bytes
        self._named.add(job_id)

    def show_unusable(self, destination: DestinationLayout, child: Unusable) -> None:
        """Show what is neither a file nor a directory, and so not this library's."""
        job_id = destination.job_of(child.path)
        if job_id in self._named:
            return
        if job_id is not None:
            self._left_alone.add(job_id)
        self._shown.append(f"{destination.relative(child.path)}: damaged, {child.refusal}")

    async def settle(self, layout: JobLayout, bind: Bind, check: Check) -> None:
        """Abort an undecided job, delete a void area, show what only a person can settle."""
        if layout.job_id in self._named:
            return
        state = await read_state(self._store, layout)
        problem = await _untouchable(self._store, state, check)
        if problem is not None:
            self._shown.append(f"{layout.job_id}: {problem}")
            self._left_alone.add(layout.job_id)
            return
        size = await self._store.bytes_below(layout.area)
        if state.state != "void" and self._leftovers is not None:
            size += await self._store.bytes_below(layout.magic_directory)
        if state.state == "void":
            settled, remove = self._deleted, partial(self._delete_void, layout)
        else:
            settled, remove = self._aborted, partial(_abort_if_undecided, self._store, layout, bind)
        if await self._removed(layout.job_id, remove):
            settled.append(layout.job_id)
            self._bytes += size

    async def _settle_taken(self, layout: JobLayout, path: StorePath) -> None:
        """Continue for a process that had renamed an area away to inspect it, and died."""
        size = await self._store.bytes_below(path)
        name = layout.destination.relative(path)
        if self._dry_run and await self._store.stat(layout.spec_in(path)) is not None:
            self._shown.append(f"{name}: the area of a job, renamed for inspection; it is put back")
            return
        if await self._removed(name, partial(delete_taken_area, self._store, layout, path)):
            self._deleted.append(name)
            self._bytes += size

    async def _delete_void(self, layout: JobLayout) -> bool:
        if self._leftovers is not None:
            await self._leftovers.abort_of(layout, deletion.of_void_area(layout))
        return await delete_void_area(self._store, layout, self._retirement)

    async def abort_strays(
        self, destination: DestinationLayout, is_old: Callable[[datetime], bool]
    ) -> None:
        """Abort the uploads of old jobs that are over; show those of no known job."""
        if self._leftovers is None:
            return
        strays = await self._leftovers.strays(
            destination, lambda job_id: job_id is None or is_old(started(job_id))
        )
        by_job: dict[JobId, list[PendingUpload]] = {}
        of_probes: list[PendingUpload] = []
        of_none: list[PendingUpload] = []
        for job_id, upload in strays.found:
            if destination.is_in_probe(upload.path):
                of_probes.append(upload)
            elif job_id is None:
                of_none.append(upload)
            else:
                by_job.setdefault(job_id, []).append(upload)
        await self._abort_of_none(self._leftovers, destination, of_none, is_old, strays)
        self._deleted += [f"upload of {destination.relative(one.path)}" for one in of_probes]
        if not self._dry_run:
            await self._leftovers.abort_of_probes(destination, of_probes)
        over = {
            destination.job(job_id): uploads
            for job_id, uploads in sorted(by_job.items())
            if job_id not in self._left_alone and not await self._may_live(destination.job(job_id))
        }
        if strays.are_certain:
            await self._abort_of_jobs_over(self._leftovers, destination, over)
        else:
            self._show_pending(destination, chain(*over.values()), strays)

    async def _abort_of_none(
        self,
        leftovers: LeftoverUploads,
        destination: DestinationLayout,
        found: Sequence[PendingUpload],
        is_old: Callable[[datetime], bool],
        strays: Strays,
    ) -> None:
        """Abort old uploads of the marker that nobody will complete; show all others."""
        markers = [
            upload
            for upload in found
            if upload.path == destination.success
            and upload.begun is not None
            and is_old(upload.begun)
        ]
        over = await abandoned_markers(self._store, leftovers, destination, markers)
        self._deleted += [f"upload of {destination.relative(one.path)}" for one in over]
        self._show_pending(destination, (one for one in found if one not in over), strays)
        if not self._dry_run:
            await leftovers.abort_markers(destination, over)

    def _show_pending(
        self, destination: DestinationLayout, found: Iterable[PendingUpload], strays: Strays
    ) -> None:
        whose = "that no job is known to have begun"
        if not strays.are_certain:
            whose = "which may be of a job whose records cannot be read"
        self._shown += [
            f"{destination.relative(upload.path)}: a pending upload {whose}" for upload in found
        ]

    async def _abort_of_jobs_over(
        self,
        leftovers: LeftoverUploads,
        destination: DestinationLayout,
        over: Mapping[JobLayout, Sequence[PendingUpload]],
    ) -> None:
        """Abort uploads whose job has no area here, unless they may be another destination's."""
        named = [(layout.job_id, upload) for layout, found in over.items() for upload in found]
        elsewhere = await leftovers.elsewhere(destination, named, if_allowed=True)
        for layout, found in over.items():
            ours: list[PendingUpload] = []
            for upload in found:
                name = destination.relative(upload.path)
                if elsewhere.may_be_theirs(upload):
                    where = "at a directory above or below that cannot be looked at"
                    self._shown.append(f"{name}: a pending upload, maybe of a job {where}")
                elif not elsewhere.is_theirs(upload):
                    self._deleted.append(f"upload of {name}")
                    ours.append(upload)
            if not self._dry_run:
                await leftovers.abort(layout, deletion.of_void_area(layout), ours)

    async def delete_magic(self, jobs: Sequence[JobLayout]) -> None:
        """Delete what S3A has written, beside their areas, for those of *jobs* that are over."""
        for layout in jobs:
            if layout.job_id in self._left_alone or await self._may_live(layout):
                continue
            permit = deletion.of_magic_directory(layout, deletion.of_void_area(layout))
            await self.delete_remains(layout.magic_directory, permit)

    def show_hadoops(self, areas: Sequence[HadoopArea]) -> None:
        """Show what Hadoop's own jobs have left, or are still writing."""
        self._shown += [
            f"{area.name}: of a job of Hadoop's {area.committer} committer, never touched"
            if area.damage is None
            else f"{area.name}: of Hadoop's jobs, cannot be looked at, {area.damage}"
            for area in areas
        ]

    async def _may_live(self, layout: JobLayout) -> bool:
        """Whether a job may not be over; if the store refuses to say, the job is shown."""
        stands = await self._store.stands_if_allowed(layout.spec)
        if stands is None:
            self._shown.append(f"{layout.job_id}: cannot be looked at")
            self._left_alone.add(layout.job_id)
        return stands is not False

    def report(self) -> CleanReport:
        """The report."""
        return CleanReport(
            aborted=tuple(self._aborted),
            deleted=tuple(self._deleted),
            shown=tuple(self._shown),
            not_removed=tuple(self._not_removed),
            bytes=self._bytes,
            dry_run=self._dry_run,
        )


async def _untouchable(store: ConfirmedStore, state: JobState, check: Check) -> str | None:
    """Why only a person can settle this job, if so."""
    damage = await damage_of(store, state, check)
    if isinstance(damage, NewerVersionError):
        return str(damage)
    if damage is not None:
        what = "cannot be looked at" if is_of_who_asks(damage) else "damaged"
        return f"{what}, {damage}"
    if state.state in {"decided", "published"}:
        return "committed but not finished, resume it"
    return None


async def _abort_if_undecided(store: ConfirmedStore, layout: JobLayout, bind: Bind) -> bool:
    record = await read_record(store, layout)
    if record is None:
        return False
    try:
        await abort_job(bind(record), by="clean")
    except JobNotActiveError:
        return False
    return True
