"""Other people's jobs: list them, finish them, abort them, clean up after them."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from fsspec_commit.effects import deletion
from fsspec_commit.effects.leftover_uploads import LeftoverUploads
from fsspec_commit.effects.parallel import Progress
from fsspec_commit.effects.removal import Retirement
from fsspec_commit.effects.settled import SettledStore
from fsspec_commit.effects.void_areas import delete_taken_area, delete_void_area
from fsspec_commit.errors import (
    JobNotActiveError,
    PartialCommitError,
    RequestError,
    failing_as,
)
from fsspec_commit.ids import JobId, started
from fsspec_commit.layout import DestinationLayout, JobLayout, StorePath
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.chosen import chosen_by
from fsspec_commit.protocol.commit import Finished, abort_job, finish_job
from fsspec_commit.protocol.damaged import damage_of, remove_damaged
from fsspec_commit.protocol.hadoop import hadoop_areas
from fsspec_commit.protocol.job_records import read_record, standing_decision
from fsspec_commit.protocol.job_state import JobState, jobs_among, read_state, unusable_among
from fsspec_commit.protocol.late_deletes import ended_late_deletes
from fsspec_commit.protocol.manifests import ChosenManifests, NewFiles, check_new_files
from fsspec_commit.protocol.overtaken import ended_by_another, finished_by_another, is_over
from fsspec_commit.records.job import Decision, JobRecord, Mode
from fsspec_commit.store import Directory, PendingUpload, Unusable


@dataclass(frozen=True, kw_only=True)
class JobInfo:
    """One job that has an area at a destination.

    Attributes:
        job_id: The job.
        state: How far it is. ``"damaged"``: a record cannot be read, so nothing is done to it.
        mode: Its mode.
        started: When, by the clock of the machine that started it.
        host: That machine.
        tasks_committed: How many tasks have committed; ``None`` when that is not known.
        committer: The committer it is bound to.
        damage: What cannot be read, if anything.
    """

    job_id: str
    state: Literal["open", "committing", "decided", "published", "aborted", "damaged"]
    mode: Mode | None
    started: datetime
    host: str
    tasks_committed: int | None
    committer: str | None = None
    damage: str | None = None


@dataclass(frozen=True, kw_only=True)
class CleanReport:
    """What ``clean`` removed, or under ``dry_run`` would remove.

    Attributes:
        aborted: Undecided jobs that were fenced and aborted.
        deleted: Areas of jobs that were over already, and pending uploads of such jobs.
        shown: Jobs that only a person can settle, pending uploads that cannot be attributed to
            any job, and what Hadoop's own jobs have left, each with the reason.
        bytes: How much that is.
        dry_run: Whether nothing was done.
    """

    aborted: tuple[str, ...]
    deleted: tuple[str, ...]
    shown: tuple[str, ...]
    bytes: int
    dry_run: bool


async def jobs(store: SettledStore) -> AsyncIterator[JobInfo]:
    """Every job that has an area, oldest first; a finished job has none.

    What stands in place of an area is shown as a damaged job, before the others.
    """
    destination = DestinationLayout(store.root)
    areas = await store.list_area(destination.areas)
    for state in unusable_among(areas, destination):
        yield await _info(store, state)
    for layout in jobs_among(areas, destination):
        state = await read_state(store, layout)
        if state.state != "void":
            yield await _info(store, state)


async def _info(store: SettledStore, state: JobState) -> JobInfo:
    layout = state.layout
    record: JobRecord | None = None
    damage = state.damage
    if damage is None:
        try:
            record = await read_record(store, layout)
        except ValueError as error:
            damage = str(error)
    shown = "damaged" if damage is not None or state.state == "void" else state.state
    return JobInfo(
        job_id=layout.job_id,
        state=shown,
        mode=None if record is None else record.mode,
        started=started(layout.job_id),
        host="" if record is None else record.host,
        tasks_committed=await _tasks_committed(store, state),
        committer=None if record is None else record.committer,
        damage=damage,
    )


async def _tasks_committed(store: SettledStore, state: JobState) -> int | None:
    if state.decision is not None and state.state != "aborted":
        return state.decision.record.task_count
    if state.state == "damaged":
        return None
    if not state.has_manifests:
        return 0
    tasks = await store.list_area(state.layout.manifests)
    return sum(isinstance(task, Directory) for task in tasks)


async def resume_job(
    job: BoundJob,
    *,
    accept_loss: bool = False,
    announce: Callable[[int], None] = lambda _: None,
    progress: Progress | None = None,
) -> Finished:
    """Finish a job whose committed decision stands; safe to repeat, by anyone (P8).

    Raises:
        RequestError: The job has not decided; its driver may still commit it.
        JobNotActiveError: It was aborted, or is over.
        PartialCommitError: It is still not finished.
    """
    job_id = job.record.job_id
    try:
        decision = await standing_decision(job.store, job.layout)
    except JobNotActiveError as error:
        raise await ended_by_another(job) from error
    if decision is None:
        message = (
            f"job {job_id} has not decided; its driver may still commit it; abort it with: "
            f"{job.settle_command('abort')}"
        )
        raise RequestError(message, kind="not_decided", job_id=job_id, stage="resume")
    if decision.record.state == "aborted":
        message = (
            f"job {job_id} was aborted and cannot be resumed; remove what it left with: "
            f"{job.settle_command('abort')}"
        )
        raise JobNotActiveError(message, job_id=job_id, stage="resume")
    try:
        new = await _decided_files(job, decision.record)
    except PartialCommitError as error:
        if await is_over(job):
            raise finished_by_another(job) from error
        raise
    announce(new.count)
    return await finish_job(job, decision, new, accept_loss=accept_loss, progress=progress)


@failing_as(PartialCommitError)
async def _decided_files(job: BoundJob, decision: Decision) -> NewFiles:
    return await check_new_files(job, ChosenManifests(job, chosen_by(job, decision)))


async def clean(
    store: SettledStore,
    *,
    older_than: timedelta,
    dry_run: bool,
    bind: Callable[[JobRecord], BoundJob],
    retirement: Retirement,
    leftovers: LeftoverUploads | None,
    damaged: Collection[str] = (),
    accept_loss: bool = False,
) -> CleanReport:
    """Remove what jobs that will never commit have left.

    A clock picks the candidates; only the fence decides: an undecided job gets its ``aborted``
    decision first, and one that commits at that moment is left alone. A decided, unfinished job
    is never touched, only shown.

    Those that are named as *damaged* are removed first, if they are, and cannot have committed.

    Pending uploads of jobs that are over are aborted, also of those whose area is gone. What
    neither a record nor a name attributes to a job is shown, and so is what Hadoop's own
    committers have left: their jobs alone may settle it.
    """
    found = _Found(store, leftovers, dry_run=dry_run)
    destination = DestinationLayout(store.root)
    for job_id in damaged:
        size = await store.bytes_below(destination.job(job_id).area)
        await remove_damaged(
            store,
            destination,
            job_id,
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
    usable = await store.list_usable(destination.areas)
    for path, permit in ended_late_deletes(destination, usable, now).items():
        await found.delete_remains(path, permit)
    for layout in jobs_among(usable, destination):
        if now - started(layout.job_id) >= older_than:
            await found.settle(layout, bind)
    await found.abort_strays(destination, lambda job_id: now - started(job_id) >= older_than)
    await found.show_hadoops()
    return found.report()


class _Found:
    """What ``clean`` has come across so far."""

    def __init__(
        self, store: SettledStore, leftovers: LeftoverUploads | None, *, dry_run: bool
    ) -> None:
        self._store = store
        self._leftovers = leftovers
        self._dry_run = dry_run
        self._left_alone: set[str] = set()
        self._named: set[str] = set()
        self._aborted: list[str] = []
        self._deleted: list[str] = []
        self._shown: list[str] = []
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
        self._bytes += await self._store.bytes_below(path)
        self._deleted.append(DestinationLayout(self._store.root).relative(path))
        if not self._dry_run:
            await self._store.delete_tree(path, permit)

    def removed_damaged(self, job_id: str, size_bytes: int) -> None:
        """Count a damaged job that was removed on a person's word."""
        self._deleted.append(job_id)
        self._bytes += size_bytes
        self._named.add(job_id)

    def show_unusable(self, destination: DestinationLayout, child: Unusable) -> None:
        """Show what is neither a file nor a directory: nothing of ours is like that."""
        job_id = destination.job_of(child.path)
        if job_id in self._named:
            return
        if job_id is not None:
            self._left_alone.add(job_id)
        self._shown.append(f"{destination.relative(child.path)}: damaged, {child.refusal}")

    async def settle(self, layout: JobLayout, bind: Callable[[JobRecord], BoundJob]) -> None:
        """Abort an undecided job, delete a void area, show what only a person can settle."""
        if layout.job_id in self._named:
            return
        state = await read_state(self._store, layout)
        problem = await _untouchable(self._store, state)
        if problem is not None:
            self._shown.append(f"{layout.job_id}: {problem}")
            self._left_alone.add(layout.job_id)
            return
        size = await self._store.bytes_below(layout.area)
        if state.state == "void":
            if not self._dry_run and not await self._delete_void(layout):
                return
            self._deleted.append(layout.job_id)
        elif self._dry_run or await _abort_if_undecided(self._store, layout, bind):
            self._aborted.append(layout.job_id)
        else:
            return
        self._bytes += size

    async def _settle_taken(self, layout: JobLayout, path: StorePath) -> None:
        """Go on where a ``clean`` died that had taken a void area away."""
        size = await self._store.bytes_below(path)
        if self._dry_run or await delete_taken_area(self._store, layout, path):
            self._deleted.append(layout.destination.relative(path))
            self._bytes += size

    async def _delete_void(self, layout: JobLayout) -> bool:
        if self._leftovers is not None:
            await self._leftovers.abort_of(layout, deletion.of_void_area(layout))
        return await delete_void_area(self._store, layout)

    async def abort_strays(
        self, destination: DestinationLayout, is_old: Callable[[JobId], bool]
    ) -> None:
        """Abort the uploads of old jobs that are over; show those that are nobody's."""
        if self._leftovers is None:
            return
        strays = await self._leftovers.strays(
            destination, lambda job_id: job_id is None or is_old(job_id)
        )
        by_job: dict[JobId, list[PendingUpload]] = {}
        of_probes: list[PendingUpload] = []
        for job_id, upload in strays:
            if destination.is_in_probe(upload.path):
                of_probes.append(upload)
            elif job_id is None:
                name = destination.relative(upload.path)
                self._shown.append(f"{name}: a pending upload that no job is known to have begun")
            else:
                by_job.setdefault(job_id, []).append(upload)
        self._deleted += [f"upload of {destination.relative(one.path)}" for one in of_probes]
        if not self._dry_run:
            await self._leftovers.abort_of_probes(destination, of_probes)
        over = {
            destination.job(job_id): uploads
            for job_id, uploads in sorted(by_job.items())
            if job_id not in self._left_alone and not await self._is_live(destination.job(job_id))
        }
        await self._abort_of_jobs_over(self._leftovers, destination, over)

    async def _abort_of_jobs_over(
        self,
        leftovers: LeftoverUploads,
        destination: DestinationLayout,
        over: Mapping[JobLayout, Sequence[PendingUpload]],
    ) -> None:
        """Abort uploads whose job has no area here, unless it may be another destination's."""
        named = [(layout.job_id, upload) for layout, found in over.items() for upload in found]
        elsewhere = await leftovers.elsewhere(destination, named)
        for layout, found in over.items():
            ours: list[PendingUpload] = []
            for upload in found:
                name = destination.relative(upload.path)
                if elsewhere.may_be_theirs(upload):
                    where = "a directory above or below which cannot be listed"
                    self._shown.append(f"{name}: a pending upload, maybe of a job at {where}")
                elif not elsewhere.is_theirs(upload):
                    self._deleted.append(f"upload of {name}")
                    ours.append(upload)
            if not self._dry_run:
                await leftovers.abort(layout, deletion.of_void_area(layout), ours)

    async def show_hadoops(self) -> None:
        """Show what Hadoop's own jobs have left, or are still at work on."""
        self._shown += [
            f"{area.name}: of a job of Hadoop's {area.committer} committer, never touched"
            for area in await hadoop_areas(self._store)
        ]

    async def _is_live(self, layout: JobLayout) -> bool:
        return await self._store.stat(layout.spec) is not None

    def report(self) -> CleanReport:
        """All of it."""
        return CleanReport(
            aborted=tuple(self._aborted),
            deleted=tuple(self._deleted),
            shown=tuple(self._shown),
            bytes=self._bytes,
            dry_run=self._dry_run,
        )


async def _untouchable(store: SettledStore, state: JobState) -> str | None:
    """Why only a person can settle this job, if so."""
    damage = await damage_of(store, state)
    if damage is not None:
        return f"damaged, {damage}"
    if state.state in {"decided", "published"}:
        return "committed but not finished, resume it"
    return None


async def _abort_if_undecided(
    store: SettledStore, layout: JobLayout, bind: Callable[[JobRecord], BoundJob]
) -> bool:
    record = await read_record(store, layout)
    if record is None:
        return False
    try:
        await abort_job(bind(record), by="clean")
    except JobNotActiveError:
        return False
    return True
