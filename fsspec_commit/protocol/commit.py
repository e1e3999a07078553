"""The sequence, top to bottom; every driver, resumer and simulator runs these functions.

Numbers are the steps of the protocol; ids on the right are the guarantees a step is for. Before
``decide`` nothing is visible and anything may say no. From the decision on, the job will be
committed, by this driver or by whoever resumes it: ``finish_job`` works from the decision alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fsspec_commit.effects import deletion
from fsspec_commit.effects.parallel import Progress
from fsspec_commit.effects.standing import establish
from fsspec_commit.errors import (
    CommitError,
    CommitFailedError,
    CommitStateUnknownError,
    JobNotActiveError,
    PartialCommitError,
    RecordError,
    RequestError,
    StoreError,
    failing_as,
)
from fsspec_commit.names import Target
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.chosen import ChosenTasks, by_batches, list_chosen
from fsspec_commit.protocol.claim import take_claim, withdraw_claim
from fsspec_commit.protocol.decision import decide
from fsspec_commit.protocol.deleting import delete_replaced
from fsspec_commit.protocol.file_names import FileNames
from fsspec_commit.protocol.job_records import standing_decision, standing_published
from fsspec_commit.protocol.late_deletes import (
    forget_late_deletes,
    leave_late_deletes,
    refuse_endangered,
)
from fsspec_commit.protocol.manifests import ChosenManifests, NewFiles, check_new_files
from fsspec_commit.protocol.messages import check_messages, collect_messages
from fsspec_commit.protocol.overtaken import (
    ended_by_another,
    finished_by_another,
    is_over,
    settled_by_another,
)
from fsspec_commit.protocol.replaced import (
    ReplacedFiles,
    list_replaced,
    may_write,
    recall_replaced,
)
from fsspec_commit.protocol.retire import begin_epoch, is_done, mark_done, too_slow
from fsspec_commit.protocol.sign_of_life import SignOfLife
from fsspec_commit.protocol.success import (
    beware_of_stale_success,
    prepare_success,
    publish_success,
    remove_stale_success,
    seen_success,
    withdraw_success,
)
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Claim, Decision, Published
from fsspec_commit.store import Directory, Entry

_RETIREMENTS_MAX = 4


@dataclass(frozen=True, slots=True)
class Prepared:
    """A decision that could be taken, the new files it would publish, what stood beside them."""

    decision: Decision
    new: NewFiles
    beside: tuple[Entry | Directory, ...]


@dataclass(frozen=True, slots=True)
class Finished:
    """What was done: the new files, the old ones that went, what could not be helped."""

    new: NewFiles
    task_count: int
    replaced_count: int = 0
    in_place: FileNames = field(default_factory=FileNames)
    warnings: tuple[str, ...] = ()


async def commit_job(
    job: BoundJob,
    messages: Sequence[object],
    *,
    wait_s: float = 60,
    deciding: Callable[[str], None] = lambda _: None,
    announce: Callable[[int], None] = lambda _: None,
    progress: Progress | None = None,
) -> Finished | None:
    """Make exactly the chosen attempts visible, or raise saying what was left.

    Args:
        job: The job, bound.
        messages: One message for every task; none with ``collect="store"``.
        wait_s: How long to wait for a conflicting job.
        deciding: Told the nonce of the decision just before it is taken; from then on the commit
            must not be cancelled.
        announce: Told how many files will be published.
        progress: Told as they are.

    Returns:
        ``None`` when the job had nothing to do and was dropped: ``mode="ignore"`` and data
        stands, or its idempotency key has committed.
    """
    alive = SignOfLife(job)
    try:
        prepared = await prepare_job(job, messages, wait_s=wait_s, alive=alive)  # 1-3
        if prepared is None:
            await abort_job(job, by="the job itself, which had nothing to do")
            return None
        deciding(prepared.decision.nonce)
        announce(prepared.new.count)
        decision = await _decide(job, prepared.decision)  # 4    P3 P7
    except CommitError as error:
        other = await settled_by_another(job, error)
        if other is None:
            raise
        raise other from error
    finally:
        await alive.end()
    return await finish_job(  # 5-7    P1 P9
        job, decision, prepared.new, beside=prepared.beside, progress=progress
    )


async def _decide(job: BoundJob, wanted: Decision) -> Standing[Decision]:
    try:
        return await decide(job.store, job.layout, wanted)
    except JobNotActiveError:
        await withdraw_success(job, wanted)
        raise


@failing_as(CommitFailedError)
async def prepare_job(
    job: BoundJob, messages: Sequence[object], *, wait_s: float, alive: SignOfLife
) -> Prepared | None:
    """Everything that may still say no; whatever it raises, the job stays open."""
    chosen = await _chosen(job, messages)
    new = await check_new_files(job, ChosenManifests(job, chosen))  # 1    P1 P2 P10
    _refuse_empty(job, new)
    held = await take_claim(  # 2    P11
        job, new.partitions, reusable_names=new.may_meet_others, wait_s=wait_s, alive=alive
    )
    claim = held.claim
    try:
        if await is_done(job) or not await may_write(job, new):
            await alive.end()
            await withdraw_claim(job, claim)
            return None
        await refuse_endangered(job, held, new)
        return Prepared(await _wanted(job, claim, new), new, held.beside)  # 3    P9
    except CommitError:
        await withdraw_claim(job, claim)
        raise


async def _chosen(job: BoundJob, messages: Sequence[object]) -> ChosenTasks:
    if job.record.collect == "store" and job.record.tasks is not None:
        return await list_chosen(job, collect_messages(job, job.record.tasks))
    return await list_chosen(job, by_batches(check_messages(job, messages)))


async def _wanted(job: BoundJob, claim: Claim, new: NewFiles) -> Decision:
    """The decision to take, with all that finishing the job will need."""
    chosen = new.manifests.chosen
    return Decision(
        nonce=job.store.ids.nonce(),
        job_id=job.record.job_id,
        state="committed",
        by=job.record.host,
        claim=claim,
        chosen=chosen.inline,
        chosen_list=chosen.listed,
        replaced=await list_replaced(job, claim, new),
        stale_success=await seen_success(job),
        success=await prepare_success(job, claim, new),
    )


async def finish_job(
    job: BoundJob,
    decision: Standing[Decision],
    new: NewFiles,
    *,
    beside: Sequence[Entry | Directory] | None = None,
    accept_loss: bool = False,
    progress: Progress | None = None,
) -> Finished:
    """Everything after the decision, from the decision alone; repeatable by anyone (P8).

    Args:
        job: The job, bound.
        decision: The committed decision that stands.
        new: What its manifests name.
        beside: What the driver that has just decided saw beside the areas; ``None`` for whoever
            resumes, who looks how far others have come.
        accept_loss: Publish what is left when sources are gone for good; then no old file is
            deleted and no marker written.
        progress: Told as files are published.

    Raises:
        PartialCommitError: Files may be visible and the rest will follow; resume.
        JobNotActiveError: A resumer has finished the job meanwhile (``outcome="committed"``).
    """
    try:
        return await _finish(
            job, decision, new, beside=beside, accept_loss=accept_loss, progress=progress
        )
    except PartialCommitError as error:
        if await is_over(job):
            raise finished_by_another(job) from error
        error.job_id = error.job_id or job.record.job_id
        error.add_note(f"delete nothing; finish with: {job.settle_command('resume')}")
        raise


@failing_as(PartialCommitError)
async def _finish(
    job: BoundJob,
    decision: Standing[Decision],
    new: NewFiles,
    *,
    beside: Sequence[Entry | Directory] | None,
    accept_loss: bool,
    progress: Progress | None,
) -> Finished:
    lost: list[Target] = []
    replaced = await recall_replaced(job, decision)
    published = None
    if beside is None:
        published = await standing_published(job.store, job.layout, decision)
    if published is None:
        await remove_stale_success(job, decision)
        await _publish(  # 5
            job,
            new,
            replaced,
            again=beside is None,
            lost=lost if accept_loss else None,
            progress=progress,
        )
        published = await _publication(job, decision, len(lost))
    else:
        beware_of_stale_success(job, decision)
    warnings = [f"lost: {name!r} is gone, and was left out" for name in lost]
    if not published.record.lost:
        await delete_replaced(job, published, replaced)  # 6    P9
        warnings += await publish_success(job, decision, accept_loss=accept_loss)  # 7
    await mark_done(job)
    if beside is None:
        beside = await job.store.list_usable(job.layout.destination.areas)
    await begin_epoch(job, published, beside)
    await forget_late_deletes(job, beside)
    warnings += await _retired(job, new, published, replaced)
    return Finished(
        new,
        new.manifests.chosen.count,
        replaced.count,
        replaced.in_place,
        tuple(warnings),
    )


async def _publish(
    job: BoundJob,
    new: NewFiles,
    replaced: ReplacedFiles,
    *,
    again: bool,
    lost: list[Target] | None,
    progress: Progress | None,
) -> None:
    done = 0

    def count(files: int) -> None:
        nonlocal done
        done += files
        if progress is not None:
            progress(files)

    try:
        await job.committer.publish(
            new.manifests,
            new.partitions,
            replaced,
            again=again,
            lost=None if lost is None else lost.append,
            progress=count,
        )
    except (StoreError, CommitStateUnknownError, PartialCommitError) as error:
        message = (
            f"{done} of {new.count} files are in place and the rest will follow; delete nothing; "
            f"finish with job.commit() or: {job.settle_command('resume')} ({error})"
        )
        raise PartialCommitError(
            message,
            done=done,
            remaining=new.count - done,
            job_id=job.record.job_id,
            path=error.path,
            stage="publish",
        ) from error


async def _publication(
    job: BoundJob, decision: Standing[Decision], lost: int
) -> Standing[Published]:
    """Say that every file is in place; a resumer's word stands as well as ours."""
    record = Published(
        nonce=job.store.ids.nonce(),
        job_id=job.record.job_id,
        decision=decision.record.nonce,
        lost=lost,
    )
    path = job.layout.published
    published = await establish(job.store, path, record, within=job.layout.area)
    published = published or await standing_published(job.store, job.layout, decision)
    if published is None:
        raise finished_by_another(job)
    return published


async def abort_job(job: BoundJob, *, by: str) -> None:
    """Decide that the job never happens, then remove what it left (P5, P6).

    The aborted decision comes first and stays until ``job.json`` is gone, so no late driver can
    make anything visible. Safe to repeat.

    Raises:
        JobNotActiveError: A committed decision stands, or the job is over.
        CommitFailedError: Nothing is visible, but not all could be removed; abort again.
    """
    aborted = await _aborted(job, by)
    if aborted is not None:
        await _remove_aborted(job, aborted)


async def _aborted(job: BoundJob, by: str) -> Standing[Decision] | None:
    """The aborted decision that stands, whoever took it; ``None`` when its job is over."""
    wanted = Decision(nonce=job.store.ids.nonce(), job_id=job.record.job_id, state="aborted", by=by)
    try:
        return await decide(job.store, job.layout, wanted)
    except JobNotActiveError as error:
        if error.outcome == "unknown":
            raise await ended_by_another(job) from error
        if error.outcome == "committed":
            error.add_note(f"if it is not finished, finish it: {job.settle_command('resume')}")
            raise
    try:
        return await standing_decision(job.store, job.layout)
    except JobNotActiveError:
        return None  # It was aborted, by whoever has removed its area since.


@failing_as(CommitFailedError)
async def _remove_aborted(job: BoundJob, aborted: Standing[Decision]) -> None:
    await job.removal.retire(job.layout, deletion.of_aborted(job.layout, aborted))


async def _retired(
    job: BoundJob, new: NewFiles, published: Standing[Published], replaced: ReplacedFiles
) -> list[str]:
    """Leave what later jobs must know, then remove the area; the data is right in any case."""
    for again in range(_RETIREMENTS_MAX):
        permit = await leave_late_deletes(job, published, replaced, again=again)
        ids = new.manifests.chosen.attempt_ids
        try:
            await job.removal.retire(job.layout, permit, published=ids)
        except deletion.PermitExpiredError:
            continue
        except (StoreError, CommitStateUnknownError, RecordError) as error:
            left = f"the work area was not removed ({error})"
            return [f"{left}; `fsspec-commit resume` or `clean` removes it"]
        return []
    raise too_slow(job)


def _refuse_empty(job: BoundJob, new: NewFiles) -> None:
    if new.count or job.record.allow_empty or job.record.partitions:
        return
    message = (
        f"cannot commit job {job.record.job_id} to {job.record.destination!r}: no file was "
        "written through its tasks; open files with task.open() or pass "
        "filesystem=task.filesystem, a plain path goes to the working directory "
        "(allow_empty=True if this is meant)"
    )
    raise RequestError(message, kind="empty_job", job_id=job.record.job_id, stage="check")
