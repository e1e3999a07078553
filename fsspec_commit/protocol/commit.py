"""The sequence, top to bottom; every driver, resumer and simulator runs these functions.

Numbers are the steps of the protocol; ids on the right are the guarantees a step is for. Before
``decide`` nothing is visible and anything may say no. From the decision on, the job will be
committed, by this driver or by whoever resumes it: ``finish_job`` works from the decision alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fsspec_commit.effects import deletion
from fsspec_commit.effects.parallel import Progress
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
    unforeseen_as,
)
from fsspec_commit.names import SUCCESS
from fsspec_commit.protocol.aborting import abort_job
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.chosen import ChosenTasks, by_batches, list_chosen
from fsspec_commit.protocol.claim import take_claim, withdraw_claim
from fsspec_commit.protocol.committed_tasks import empty_job, forgotten_messages
from fsspec_commit.protocol.decision import decide
from fsspec_commit.protocol.deleting import delete_replaced
from fsspec_commit.protocol.file_names import FileNames
from fsspec_commit.protocol.job_records import standing_published
from fsspec_commit.protocol.late_deletes import (
    forget_late_deletes,
    leave_late_deletes,
    refuse_endangered,
)
from fsspec_commit.protocol.manifests import ChosenManifests, NewFiles, check_new_files
from fsspec_commit.protocol.messages import check_messages, collect_messages
from fsspec_commit.protocol.old_partitions import FilesOutside
from fsspec_commit.protocol.overtaken import (
    is_over,
    over_after_deciding,
    settled_by_another,
)
from fsspec_commit.protocol.publishing import publish_files, say_published
from fsspec_commit.protocol.replaced import (
    ReplacedFiles,
    list_replaced,
    may_write,
    recall_replaced,
)
from fsspec_commit.protocol.retire import begin_epoch, is_done, mark_done, mark_lost, too_slow
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

if TYPE_CHECKING:
    from fsspec_commit.names import Target

_RETIREMENTS_MAX = 4
_LOOKED_FOR_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Prepared:
    """A decision that could be taken, the new files it would publish, what stood beside them.

    Also what the caller may not have meant.
    """

    decision: Decision
    new: NewFiles
    beside: tuple[Entry | Directory, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """What was done: the new files, the old ones that went, what could not be helped."""

    new: NewFiles
    task_count: int
    replaced_count: int = 0
    in_place: FileNames = field(default_factory=FileNames)
    warnings: tuple[str, ...] = ()


@unforeseen_as(CommitStateUnknownError, "decide")
async def commit_job(
    job: BoundJob,
    messages: Sequence[object],
    *,
    wait_s: float = 60,
    deciding: Callable[[str, FileNames], None] = lambda *_: None,
    announce: Callable[[int], None] = lambda _: None,
    progress: Progress | None = None,
    others: bool = False,
) -> Finished | None:
    """Make exactly the chosen attempts visible, or raise saying what was left.

    Args:
        job: The job, bound.
        messages: One message for every task; none with ``collect="store"``.
        wait_s: How long to wait for a conflicting job.
        deciding: Told the nonce of the decision, and the files it would publish, just before it is
            taken; from then on the commit must not be cancelled.
        announce: Told how many files will be published.
        progress: Told as they are.
        others: Some messages are of tasks elsewhere: whether all of them came is looked for.

    Returns:
        ``None`` when the job had nothing to do and was dropped: ``mode="ignore"`` and data
        stands, or its idempotency key has committed.
    """
    alive = SignOfLife(job)
    try:
        prepared = await prepare_job(
            job, messages, wait_s=wait_s, alive=alive, others=others
        )  # 1-3
        if prepared is None:
            await abort_job(job, by="the job itself, which had nothing to do")
            return None
        deciding(prepared.decision.nonce, prepared.new.names)
        announce(prepared.new.count)
        decision = await _decide(job, prepared.decision)  # 4    P3 P7
    except CommitError as error:
        other = await settled_by_another(job, error)
        if other is None:
            _name_command(job, error)
            raise
        raise other from error
    finally:
        await alive.end()
    finished = await finish_job(  # 5-7    P1 P9
        job, decision, prepared.new, beside=prepared.beside, progress=progress
    )
    return replace(finished, warnings=(*prepared.warnings, *finished.warnings))


def _name_command(job: BoundJob, error: CommitError) -> None:
    """Say what to do where it is not known whether the job has decided."""
    if error.outcome == "unknown" and not isinstance(error, JobNotActiveError | RecordError):
        command = job.settle_command("resume")
        error.job_id = error.job_id or job.record.job_id
        error.add_note(f"delete nothing; call job.commit() again, or finish it with: {command}")


async def _decide(job: BoundJob, wanted: Decision) -> Standing[Decision]:
    try:
        return await decide(job.store, job.layout, wanted)
    except JobNotActiveError:
        await withdraw_success(job, wanted)
        raise


@failing_as(CommitFailedError, "prepare")
async def prepare_job(
    job: BoundJob,
    messages: Sequence[object],
    *,
    wait_s: float,
    alive: SignOfLife,
    others: bool = False,
) -> Prepared | None:
    """Everything that may still say no; whatever it raises, the job stays open."""
    chosen = await _chosen(job, messages)
    new = await check_new_files(job, ChosenManifests(job, chosen))  # 1    P1 P2 P10
    if not (new.count or job.record.allow_empty or job.record.partitions):
        raise empty_job(job, await forgotten_messages(job, messages))
    left_out = await _left_out(job, messages) if others else ()
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
        outside = FilesOutside()
        wanted = await _wanted(job, claim, new, outside)  # 3    P9
        return Prepared(wanted, new, held.beside, (*left_out, *outside.warnings()))
    except CommitError:
        await withdraw_claim(job, claim)
        raise


async def _chosen(job: BoundJob, messages: Sequence[object]) -> ChosenTasks:
    if job.record.collect == "store" and job.record.tasks is not None:
        return await list_chosen(job, collect_messages(job, job.record.tasks))
    try:
        return await list_chosen(job, by_batches(check_messages(job, messages)))
    except RequestError as error:
        asked_for = max(len(messages), job.record.tasks or 0)
        if error.kind == "missing_tasks" and asked_for <= _LOOKED_FOR_MAX:
            forgotten = await forgotten_messages(job, messages)
            error.add_note(forgotten or "none of these tasks has committed")
        raise


async def _left_out(job: BoundJob, messages: Sequence[object]) -> tuple[str, ...]:
    """What is said where a part of what tasks have committed is committed, maybe on purpose."""
    if job.record.tasks is not None or len(messages) > _LOOKED_FOR_MAX:
        return ()  # None is missing; or to hold the names of so many would cost too much.
    forgotten = await forgotten_messages(job, messages)
    return () if forgotten is None else (f"left out: {forgotten}",)


async def _wanted(job: BoundJob, claim: Claim, new: NewFiles, outside: FilesOutside) -> Decision:
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
        replaced=await list_replaced(job, claim, new, outside),
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
        JobNotActiveError: A resumer has finished the job meanwhile (``outcome="committed"``), or
            it is not known whether one has (``"unknown"``).
    """
    try:
        return await _finish(
            job, decision, new, beside=beside, accept_loss=accept_loss, progress=progress
        )
    except PartialCommitError as error:
        if await is_over(job):
            raise await over_after_deciding(job, new.names) from error
        error.job_id = error.job_id or job.record.job_id
        error.add_note(f"delete nothing; finish with: {job.settle_command('resume')}")
        raise


@failing_as(PartialCommitError, "finish")
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
        await publish_files(  # 5
            job,
            new,
            replaced,
            again=beside is None,
            lost=lost if accept_loss else None,
            progress=progress,
        )
        published = await say_published(job, decision, len(lost))
    else:
        beware_of_stale_success(job, decision)
    warnings = _losses(published.record, lost)
    if not published.record.lost:
        warnings += await delete_replaced(job, published, replaced)  # 6    P9
        warnings += await publish_success(job, decision, accept_loss=accept_loss)  # 7
    await mark_done(job)
    if published.record.lost:
        await mark_lost(job)
    if beside is None:
        beside = await job.store.list_usable(job.layout.destination.areas)
    await begin_epoch(job, published, beside)
    await forget_late_deletes(job, beside)
    warnings += await _retired(job, new, published, replaced)
    return Finished(
        new,
        new.manifests.chosen.count,
        len(replaced.in_place) if published.record.lost else replaced.count,
        replaced.in_place,
        tuple(warnings),
    )


def _losses(published: Published, lost: Sequence[str]) -> list[str]:
    """What is said of files that were left out; where another has left them out, how many."""
    if published.lost and not lost:
        others = f"lost: {published.lost} of the files were left out by who resumed the job before"
        return [f"{others}; no old file is deleted, and no {SUCCESS} written"]
    left_out = "is gone, or no longer what its task wrote, and was left out"
    return [f"lost: {name!r} {left_out}" for name in lost]


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
