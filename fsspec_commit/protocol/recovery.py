"""Other people's jobs: list them, finish them, abort them, clean up after them."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from fsspec_commit.effects import deletion
from fsspec_commit.effects.parallel import Progress
from fsspec_commit.effects.settled import SettledStore
from fsspec_commit.effects.standing import recall
from fsspec_commit.errors import (
    JobNotActiveError,
    PartialCommitError,
    RequestError,
    failing_as,
)
from fsspec_commit.ids import started
from fsspec_commit.layout import DestinationLayout, JobLayout, StorePath
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.commit import Finished, abort_job, finish_job
from fsspec_commit.protocol.job_state import JobState, job_layouts, read_record, read_state
from fsspec_commit.protocol.manifests import ChosenManifests, NewFiles, check_new_files
from fsspec_commit.protocol.overtaken import ended_by_another, finished_by_another, is_over
from fsspec_commit.records.job import Decision, JobRecord, Mode
from fsspec_commit.store import Directory


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
        deleted: Areas of jobs that were over already.
        shown: Jobs that only a person can settle, each with the reason.
        bytes: How much that is.
        dry_run: Whether nothing was done.
    """

    aborted: tuple[str, ...]
    deleted: tuple[str, ...]
    shown: tuple[str, ...]
    bytes: int
    dry_run: bool


async def jobs(store: SettledStore) -> AsyncIterator[JobInfo]:
    """Every job that has an area, oldest first; a finished job has none."""
    for layout in await job_layouts(store, DestinationLayout(store.root)):
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
        return len(state.decision.record.chosen)
    if state.state == "damaged":
        return None
    if not state.has_manifests:
        return 0
    tasks = await store.list_children(state.layout.manifests)
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
    decision = await recall(job.store, job.layout.decision, Decision)
    job_id = job.record.job_id
    if decision is None:
        if await is_over(job):
            raise await ended_by_another(job)
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
    return await check_new_files(job, ChosenManifests(job, decision.chosen))


async def clean(
    store: SettledStore,
    *,
    older_than: timedelta,
    dry_run: bool,
    bind: Callable[[JobRecord], BoundJob],
) -> CleanReport:
    """Remove what jobs that will never commit have left.

    A clock picks the candidates; only the fence decides: an undecided job gets its ``aborted``
    decision first, and one that commits at that moment is left alone. A decided, unfinished job
    is never touched, only shown.
    """
    found = _Found(store, dry_run=dry_run)
    destination = DestinationLayout(store.root)
    for child in await store.list_children(destination.areas):
        over = destination.is_gone(child.path) or destination.is_probe(child.path)
        if over and isinstance(child, Directory):
            await found.delete_remains(destination, child.path)
    now = store.ids.now()
    for layout in await job_layouts(store, destination):
        if now - started(layout.job_id) >= older_than:
            await found.settle(layout, bind)
    return found.report()


class _Found:
    """What ``clean`` has come across so far."""

    def __init__(self, store: SettledStore, *, dry_run: bool) -> None:
        self._store = store
        self._dry_run = dry_run
        self._aborted: list[str] = []
        self._deleted: list[str] = []
        self._shown: list[str] = []
        self._bytes = 0

    async def delete_remains(self, destination: DestinationLayout, path: StorePath) -> None:
        """Delete what a settled job or a probe has left."""
        self._bytes += await _bytes_below(self._store, path)
        self._deleted.append(destination.relative(path))
        if not self._dry_run:
            await self._store.delete_tree(path, deletion.of_remains(destination, path))

    async def settle(self, layout: JobLayout, bind: Callable[[JobRecord], BoundJob]) -> None:
        """Abort an undecided job, delete a void area, show what only a person can settle."""
        state = await read_state(self._store, layout)
        problem = await _untouchable(self._store, state)
        if problem is not None:
            self._shown.append(f"{layout.job_id}: {problem}")
            return
        size = await _bytes_below(self._store, layout.area)
        if state.state == "void":
            self._deleted.append(layout.job_id)
            if not self._dry_run:
                await self._store.delete_tree(layout.area, deletion.of_void_area(layout))
        elif self._dry_run or await _abort_if_undecided(self._store, layout, bind):
            self._aborted.append(layout.job_id)
        else:
            return
        self._bytes += size

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
    if state.state == "damaged":
        return f"damaged, {state.damage}"
    if state.state in {"decided", "published"}:
        return "committed but not finished, resume it"
    if state.state == "void":
        try:
            decision = await recall(store, state.layout.decision, Decision)
        except ValueError as error:
            return f"damaged, {error}"
        unpublished = await store.stat(state.layout.published) is None
        if decision is not None and decision.record.state == "committed" and unpublished:
            return "damaged, a committed decision stands but job.json is gone"
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


async def _bytes_below(store: SettledStore, path: StorePath) -> int:
    return sum([entry.size_bytes async for entry in store.list_tree(path)])
