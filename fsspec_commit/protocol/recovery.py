"""The listing of jobs, and finishing a job that another driver has decided."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from fsspec_commit.effects.confirmed.reads import is_of_who_asks, refusals_as_damage
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.parallel import Progress
from fsspec_commit.effects.stored_records import damaged
from fsspec_commit.errors import (
    CommitStateUnknownError,
    JobNotActiveError,
    NewerVersionError,
    PartialCommitError,
    RecordError,
    RequestError,
    failing_as,
    unforeseen_as,
)
from fsspec_commit.ids import started
from fsspec_commit.layout import DestinationLayout
from fsspec_commit.protocol.bound_job import BoundJob, Check
from fsspec_commit.protocol.chosen import chosen_by
from fsspec_commit.protocol.commit import finish_job
from fsspec_commit.protocol.committed_tasks import CommittedTasks, committed_tasks
from fsspec_commit.protocol.elsewhere import Elsewhere
from fsspec_commit.protocol.job_records import read_record, standing_decision
from fsspec_commit.protocol.job_state import JobState, jobs_among, read_state, unusable_among
from fsspec_commit.protocol.manifests import ChosenManifests, NewFiles, check_new_files
from fsspec_commit.protocol.result import Finished
from fsspec_commit.protocol.superseded import ended_by_another, is_over
from fsspec_commit.records.job import Decision, JobRecord, Mode

ShownState: TypeAlias = Literal[
    "open", "committing", "decided", "published", "aborted", "damaged", "newer", "unknown"
]


@dataclass(frozen=True, kw_only=True)
class JobInfo:
    """One job that has an area at a destination.

    Attributes:
        job_id: The job.
        state: How far it has got. ``"damaged"``: a record cannot be read, so the job is left alone.
            ``"newer"``: likewise, since a newer version of this library wrote it. ``"unknown"``:
            the caller may not look at the job, or cannot reach it, and it may be at work.
        mode: Its mode.
        started: When it was started, by the clock of that machine.
        host: The machine that started it.
        tasks_committed: How many tasks have committed; ``None`` if that is not known.
        tasks: How many tasks it expects, if it was told.
        tasks_missing: Which of them have not committed, the first few ranges: ``"17, 63"``.
        committer: Its committer.
        damage: What cannot be read, if anything.
    """

    job_id: str
    state: ShownState
    mode: Mode | None
    started: datetime
    host: str
    tasks_committed: int | None
    committer: str | None = None
    damage: str | None = None
    tasks: int | None = None
    tasks_missing: str = ""


async def jobs(store: ConfirmedStore, check: Check) -> AsyncIterator[JobInfo]:
    """Every job that has an area, oldest first; a finished job has none.

    Something else at the path of an area is shown as a damaged job, before the others. A job that
    *check* refuses cannot be finished here, and is shown as damaged as well.
    """
    destination = DestinationLayout(store.root)
    areas = await store.list_area(destination.areas)
    for state in unusable_among(areas, destination):
        yield await _info(store, state, check)
    for layout in jobs_among(areas, destination):
        state = await read_state(store, layout)
        if state.state != "void":
            yield await _info(store, state, check)


async def _info(store: ConfirmedStore, state: JobState, check: Check) -> JobInfo:
    layout = state.layout
    record: JobRecord | None = None
    damage: ValueError | None = state.damage
    if damage is None:
        try:
            with refusals_as_damage():
                record = await read_record(store, layout)
            if record is not None:
                check(record)
        except ValueError as error:
            damage = error
    count, committed = await _tasks_committed(store, state)
    expected = None if record is None else record.tasks
    missing = ""
    if committed is not None and expected is not None:
        missing = committed.missing_of(expected)
    return JobInfo(
        job_id=layout.job_id,
        state=_shown(state, damage),
        mode=None if record is None else record.mode,
        started=started(layout.job_id),
        host="" if record is None else record.host,
        tasks_committed=count,
        committer=None if record is None else record.committer,
        damage=None if damage is None else str(damage),
        tasks=expected,
        tasks_missing=missing,
    )


def _shown(state: JobState, damage: Exception | None) -> ShownState:
    if isinstance(damage, NewerVersionError):
        return "newer"
    if isinstance(damage, RecordError) and is_of_who_asks(damage):
        return "unknown"
    return "damaged" if damage is not None or state.state == "void" else state.state


async def _tasks_committed(
    store: ConfirmedStore, state: JobState
) -> tuple[int | None, CommittedTasks | None]:
    """How many tasks have committed; and which, if the job has not decided."""
    if state.decision is not None and state.state != "aborted":
        return state.decision.record.task_count, None
    if state.state == "damaged":
        return None, None
    if not state.has_manifests:
        return 0, CommittedTasks(())
    committed = await committed_tasks(store, state.layout)
    return (None, None) if committed is None else (len(committed.ids), committed)


@unforeseen_as(CommitStateUnknownError, "resume")
async def resume_job(
    job: BoundJob,
    *,
    accept_loss: bool = False,
    announce: Callable[[int], None] = lambda _: None,
    progress: Progress | None = None,
    elsewhere: Elsewhere | None = None,
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
        decision.record.check_key(job.record)
    except RecordError as error:
        raise damaged(job.layout, job.layout.spec, str(error)) from error
    try:
        new = await _decided_files(job, decision.record)
    except PartialCommitError as error:
        if await is_over(job):
            raise await ended_by_another(job) from error
        raise
    announce(new.count)
    return await finish_job(
        job,
        decision,
        new,
        resuming=True,
        accept_loss=accept_loss,
        progress=progress,
        elsewhere=elsewhere,
    )


@failing_as(PartialCommitError, "resume")
async def _decided_files(job: BoundJob, decision: Decision) -> NewFiles:
    return await check_new_files(job, ChosenManifests(job, chosen_by(job, decision)))
