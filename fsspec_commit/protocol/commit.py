"""The sequence of a commit; every driver, resumer and simulator runs these functions.

Numbers are the steps of the protocol; ids on the right are the guarantees that a step is for.
Before ``decide`` nothing is visible, and any step may refuse. After the decision the job will be
committed, by this driver or by a resumer: ``finish_job`` works from the decision alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from fsspec_commit.effects.parallel import Progress, both, failure_or
from fsspec_commit.errors import (
    CommitError,
    CommitFailedError,
    CommitStateUnknownError,
    JobNotActiveError,
    PartialCommitError,
    RecordError,
    failing_as,
    unforeseen_as,
)
from fsspec_commit.protocol.abort import abort_job
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.check import check_output, left_out
from fsspec_commit.protocol.claim import HeldClaim, take_claim, withdraw_claim
from fsspec_commit.protocol.decision import decide
from fsspec_commit.protocol.deleting import delete_replaced, look_early
from fsspec_commit.protocol.early_look import EarlyLook
from fsspec_commit.protocol.elsewhere import Elsewhere
from fsspec_commit.protocol.file_names import FileNames
from fsspec_commit.protocol.job_records import standing_published
from fsspec_commit.protocol.late_deletes import forget_late_deletes, refuse_endangered
from fsspec_commit.protocol.list_ahead import ListAhead
from fsspec_commit.protocol.looks import Looks, looks_of, still_stands
from fsspec_commit.protocol.manifests import NewFiles
from fsspec_commit.protocol.marker_under_way import MarkerUnderWay
from fsspec_commit.protocol.marks import (
    begin_epoch,
    forget_epochs,
    mark_done,
    mark_lost,
)
from fsspec_commit.protocol.publish import (
    Placing,
    losses,
    make_directories,
    publish_files,
    say_published,
)
from fsspec_commit.protocol.replaced import may_write, recall_replaced
from fsspec_commit.protocol.result import Finished
from fsspec_commit.protocol.retire import Later, immediately, retire_job
from fsspec_commit.protocol.sign_of_life import SignOfLife
from fsspec_commit.protocol.streamed_list import ShortList
from fsspec_commit.protocol.success import (
    beware_of_stale_success,
    publish_success,
    remove_stale_success,
    withdraw_success,
)
from fsspec_commit.protocol.superseded import (
    is_over,
    over_after_deciding,
    settled_by_another,
)
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Claim, Decision, Published
from fsspec_commit.store import Directory, Entry

if TYPE_CHECKING:
    from datetime import datetime

    from fsspec_commit.names import Target


@dataclass(frozen=True, slots=True)
class Prepared:
    """A decision to be made, its files, old and new, what is beside the areas, and warnings."""

    decision: Decision
    new: NewFiles
    old: ShortList
    beside: tuple[Entry | Directory, ...]
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
    begun_here: bool = True,
    elsewhere: Elsewhere | None = None,
    later: Later = immediately,
) -> Finished | None:
    """Make exactly the chosen attempts visible, or raise an error that says what was left.

    Args:
        job: The job, bound.
        messages: One message for every task; none with ``collect="store"``.
        wait_s: How long to wait for a conflicting job.
        deciding: Called with the nonce of the decision, and the files it will publish, just before
            it is made; from then on the commit must not be cancelled.
        announce: Called with the number of files to be published, as soon as that is decided.
        progress: Called as files are published.
        others: Some tasks ran elsewhere, so it is checked that no message is missing.
        begun_here: This driver has started the job; another one may have decided it.
        elsewhere: Workers elsewhere that publish files, and remove those that are replaced.
        later: Runs the removal of what is left of the area, or schedules it.

    Returns:
        What was done; ``None`` if the job had nothing to do and was dropped: ``mode="ignore"`` and
        there is data, or its idempotency key has committed.
    """
    alive = SignOfLife(job)
    try:
        prepared = await prepare_job(  # 1-3
            job, messages, wait_s=wait_s, alive=alive, others=others
        )
        if prepared is None:
            await abort_job(job, by="the job itself, which had nothing to do")
            return None
        deciding(prepared.decision.nonce, prepared.new.names)
        decision = await _decide(job, prepared.decision)  # 4    P3 P7
        announce(prepared.new.count)
    except CommitError as error:
        other = await settled_by_another(job, error, begun_here=begun_here)
        if other is None:
            _name_command(job, error)
            raise
        raise other from error
    finally:
        await alive.end()
    finished = await finish_job(  # 5-7
        job,
        decision,
        prepared.new,
        old=prepared.old,
        resuming=False,
        beside=prepared.beside,
        progress=progress,
        elsewhere=elsewhere,
        later=later,
    )
    return replace(finished, warnings=(*prepared.warnings, *finished.warnings))


@failing_as(CommitFailedError, "prepare")
async def prepare_job(
    job: BoundJob,
    messages: Sequence[object],
    *,
    wait_s: float,
    alive: SignOfLife,
    others: bool = False,
) -> Prepared | None:
    """Do every step that may still refuse; if one raises, the job stays open."""
    new = await check_output(job, messages)  # 1    P1 P2 P10
    unasked = await left_out(job, messages) if others else ()
    async with (
        MarkerUnderWay(job, new) as marker,
        ListAhead(job, new) as ahead,
        EarlyLook(job, ahead) as early,
    ):
        looks = looks_of(job, new, early, ahead)
        held = await take_claim(  # 2    P11
            job,
            new.partitions,
            reusable_names=new.may_meet_others,
            wait_s=wait_s,
            alive=alive,
            marker=marker,
            early=early,
        )
        try:
            prepared = await _prepare(job, held, new, looks=looks, ahead=ahead, marker=marker)
            if prepared is None:
                await alive.end()
                await _withdraw(job, held.claim, early, ahead)
                return None
            return replace(prepared, warnings=(*unasked, *prepared.warnings))
        except CommitError:
            await _withdraw(job, held.claim, early, ahead)
            raise


async def _withdraw(job: BoundJob, claim: Claim, early: EarlyLook, ahead: ListAhead) -> None:
    """Withdraw *claim*, and a second one if there is one; looks end first, so that none follows."""
    await early.end()
    other = await failure_or(ahead.withdraw())
    await withdraw_claim(job, claim)
    if isinstance(other, CommitError):
        raise other


async def _prepare(
    job: BoundJob,
    held: HeldClaim,
    new: NewFiles,
    *,
    looks: Looks,
    ahead: ListAhead,
    marker: MarkerUnderWay,
) -> Prepared | None:
    """What to decide under the claim that is held; ``None`` if there is nothing to do."""
    claim = held.claim
    data = partial(looks.data, claim)
    if await looks.is_done(claim) or not await may_write(job, new, data):  # 3    P9
        return None
    await refuse_endangered(job, held, new)
    found, old = await looks.old_files(claim), ShortList()
    claim, replaced = await ahead.finish(claim, found.list, old)
    await marker.is_ready(claim)
    stale = await still_stands(job, found.stale or await looks.stale(claim))
    chosen = new.manifests.chosen
    wanted = Decision(
        nonce=job.store.ids.nonce(),
        job_id=job.record.job_id,
        state="committed",
        by=job.record.host,
        claim=claim,
        chosen=chosen.inline,
        chosen_list=chosen.listed,
        replaced=replaced,
        stale_success=stale,
        success=await marker.prepared(claim, stale),
    )
    return Prepared(wanted, new, old, held.beside, found.outside.warnings())


async def finish_job(
    job: BoundJob,
    decision: Standing[Decision],
    new: NewFiles,
    *,
    old: ShortList | None = None,
    resuming: bool,
    beside: Sequence[Entry | Directory] = (),
    accept_loss: bool = False,
    progress: Progress | None = None,
    elsewhere: Elsewhere | None = None,
    later: Later = immediately,
) -> Finished:
    """Do everything after the decision, from the decision alone; repeatable by anyone (P8).

    Args:
        job: The job, bound.
        decision: The committed decision that stands.
        new: The files in its manifests.
        old: The list of those that they replace, if the driver has just written it.
        resuming: Whether an earlier driver may have done a part of it.
        beside: The driver's listing of all areas and what stands beside them; a resumer makes its
            own.
        accept_loss: Publish what is left if sources are gone for good; then no old file is deleted
            and no marker written.
        progress: Called as files are published.
        elsewhere: Workers elsewhere that publish files, and remove those that are replaced.
        later: Runs the removal of what is left of the area, or schedules it.

    Raises:
        PartialCommitError: Some files may be visible, and the rest will follow; resume.
        JobNotActiveError: A resumer has finished the job meanwhile (``outcome="committed"``), or
            it is not known whether one has (``"unknown"``).
    """
    placing = Placing(job, new.count, progress)
    try:
        return await _finish(
            job,
            decision,
            new,
            old=old or ShortList(),
            resuming=resuming,
            beside=beside,
            accept_loss=accept_loss,
            placing=placing,
            elsewhere=elsewhere,
            later=later,
        )
    except PartialCommitError as error:
        if await is_over(job):
            raise await over_after_deciding(job, new.names) from error
        left = placing.failed(error) if placing.is_under_way else error
        left.job_id = left.job_id or job.record.job_id
        left.add_note(f"delete nothing; finish with: {job.settle_command('resume')}")
        if left is error:
            raise
        raise left from error.__cause__ or error


@failing_as(PartialCommitError, "finish")
async def _finish(
    job: BoundJob,
    decision: Standing[Decision],
    new: NewFiles,
    *,
    old: ShortList,
    resuming: bool,
    beside: Sequence[Entry | Directory],
    accept_loss: bool,
    placing: Placing,
    elsewhere: Elsewhere | None,
    later: Later,
) -> Finished:
    lost: list[Target] = []
    published: Standing[Published] | None = None
    stood: datetime | None = None
    replaced = await recall_replaced(job, decision, new.reusable, old)
    if resuming:
        published = await standing_published(job.store, job.layout, decision)
    if published is None:
        await both(remove_stale_success(job, decision), make_directories(job, new, placing))
        await publish_files(  # 5    P1
            job,
            new,
            replaced,
            resuming=resuming,
            lost=lost if accept_loss else None,
            placing=placing,
            elsewhere=elsewhere,
        )
        said, stood = await both(say_published(job, decision, len(lost)), look_early(job, replaced))
        published = said
    else:
        beware_of_stale_success(job, decision)
    warnings = losses(published.record, lost)
    if published.record.lost:
        await mark_lost(job)
    else:
        warnings += await delete_replaced(job, published, replaced, stood, elsewhere)  # 6    P9
    if resuming:
        beside = await job.store.list_usable(job.layout.destination.areas)
    unmarked, _ = await both(  # 7    P1 P7
        _mark(job, decision, published, accept_loss=accept_loss), begin_epoch(job, beside)
    )
    warnings += unmarked
    await forget_late_deletes(job, beside)
    _, left = await both(
        forget_epochs(job, published, beside), retire_job(job, new, published, replaced, later)
    )
    return Finished(
        new,
        new.manifests.chosen.count,
        len(replaced.in_place) if published.record.lost else replaced.count,
        replaced.in_place,
        (*warnings, *left),
    )


async def _mark(
    job: BoundJob,
    decision: Standing[Decision],
    published: Standing[Published],
    *,
    accept_loss: bool,
) -> tuple[str, ...]:
    """Publish ``_SUCCESS``, then record that the key has committed; return warnings.

    Whoever runs the job again with its key, and finds that record, is told that there is nothing to
    do, and does nothing: ``_SUCCESS`` must stand by then.
    """
    unmarked = await publish_success(job, decision, published, accept_loss=accept_loss)
    await mark_done(job)
    return unmarked


async def _decide(job: BoundJob, wanted: Decision) -> Standing[Decision]:
    try:
        return await decide(job.store, job.layout, wanted)
    except JobNotActiveError:
        await withdraw_success(job, wanted)
        raise


def _name_command(job: BoundJob, error: CommitError) -> None:
    """Add to *error* what to do, if it is not known whether the job has decided."""
    if error.outcome == "unknown" and not isinstance(error, JobNotActiveError | RecordError):
        command = job.settle_command("resume")
        error.job_id = error.job_id or job.record.job_id
        error.add_note(f"delete nothing; call job.commit() again, or finish it with: {command}")
