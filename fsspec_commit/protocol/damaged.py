"""Damaged jobs, which only a person can settle: removed on request, never by a driver."""

from fsspec_commit.effects import deletion
from fsspec_commit.effects.confirmed.reads import is_of_who_asks, refusals_as_damage
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.ending import ending
from fsspec_commit.effects.retirement import Retirement
from fsspec_commit.effects.stored_records import establish, recall
from fsspec_commit.errors import (
    CommitStateUnknownError,
    JobNotActiveError,
    NewerVersionError,
    RecordError,
    RequestError,
    failing_as,
)
from fsspec_commit.layout import DestinationLayout, JobLayout, StorePath
from fsspec_commit.protocol.bound_job import Check
from fsspec_commit.protocol.chosen import named_manifests, read_chosen
from fsspec_commit.protocol.job_records import read_record, recall_listed
from fsspec_commit.protocol.job_state import JobState, read_state, unusable_among
from fsspec_commit.records import Standing
from fsspec_commit.records.job import ChosenList, Decision

_MANIFESTS_MAX = 100_000
"""The most manifests in a void area that are compared with those that a decision names."""


async def damage_of(store: ConfirmedStore, state: JobState, check: Check) -> RecordError | None:
    """What is damaged in a job, if anything; the decision counts even if the job is over."""
    if state.damage is not None:
        return state.damage
    try:
        with refusals_as_damage():
            if state.state != "void":
                record = await read_record(store, state.layout)
                if record is not None:
                    check(record)
                return None
            decision = await recall(store, state.layout, state.layout.decision, Decision)
            if decision is None or not await _is_unpublished(store, state.layout, decision.record):
                return None
            # An area loses its decision before ``published``, and a late manifest stays.
            if await recall_listed(store, state.layout, state.layout.decision, Decision) is None:
                return None
    except RecordError as error:
        return error
    return RecordError("a committed decision stands but job.json is gone")


async def _is_unpublished(store: ConfirmedStore, layout: JobLayout, decision: Decision) -> bool:
    """Whether a decision in a void area may be the only record of files that are not in place.

    If nothing is left that the decision could publish, it comes from a request that was given up
    and carried out after the job had finished, or from a driver that slept until then. Manifests
    that it does not name come from attempts that were late as well.
    """
    if decision.state != "committed" or not decision.task_count:
        return False
    if await store.stat(layout.published) is not None:
        return False
    listed = decision.chosen_list
    if listed is not None and await store.stat(layout.chosen_list(listed.nonce)) is None:
        return False
    standing = set[StorePath]()
    async with ending(store.list_tree(layout.manifests)) as manifests:
        async for manifest in manifests:
            if len(standing) == _MANIFESTS_MAX:
                return True  # So many do not come from late attempts.
            standing.add(manifest.path)
    if listed is None:
        return not standing.isdisjoint(named_manifests(layout, decision))
    return bool(standing) and await _lists_any(store, layout, listed, standing)


async def _lists_any(
    store: ConfirmedStore, layout: JobLayout, listed: ChosenList, standing: set[StorePath]
) -> bool:
    """Whether a list of chosen attempts names any of the manifests that stand.

    Raises:
        RecordError: What stands in its place is not the list that was decided on.
    """
    try:
        async with ending(read_chosen(store, layout, listed)) as batches:
            async for batch in batches:
                named = {layout.attempt(one.task_id, one.attempt_id).manifest for one in batch}
                if not named.isdisjoint(standing):
                    return True
    except RecordError:
        # The list may have been removed while it was read.
        if await store.stat(layout.chosen_list(listed.nonce)) is not None:
            raise
    return False


def _not_there(layout: JobLayout) -> JobNotActiveError:
    message = (
        f"no job {layout.job_id} is there: it was finished, aborted or removed before, or never "
        "was; `jobs` lists those that are"
    )
    return JobNotActiveError(message, job_id=layout.job_id, outcome="unknown", stage="clean")


@failing_as(CommitStateUnknownError, "clean")
async def remove_damaged(
    store: ConfirmedStore,
    destination: DestinationLayout,
    job_id: str,
    *,
    check: Check,
    retirement: Retirement,
    accept_loss: bool,
    dry_run: bool,
) -> int:
    """Remove what a damaged job has left, if it cannot have committed.

    An undecided job is fenced first. A job whose decision cannot be read may have committed, so
    removing it takes *accept_loss*: files that are in place stay.

    Returns:
        The size of its area in bytes.

    Raises:
        RequestError: The job is not damaged, or only seems to be, to a caller that may not read it;
            or it may have committed, or is a newer version's. Nothing was changed.
        JobNotActiveError: The job has no area, or was decided meanwhile.
        CommitStateUnknownError: The store did not say what state the job is in.
    """
    layout = destination.job(job_id)
    size_bytes = await store.bytes_below(layout.area)
    areas = await store.list_area(destination.areas)
    if any(state.layout == layout for state in unusable_among(areas, destination)):
        # A link, say: nothing behind it is looked at, where a job may have committed all the same.
        if not dry_run:
            await _leave_word(store, layout)
            await store.delete_tree(layout.area, deletion.of_unusable_area(layout))
        return size_bytes
    if layout.area not in {child.path for child in areas}:
        raise _not_there(layout)
    damage = await damage_of(store, await read_state(store, layout), check)
    if damage is None:
        message = f"job {job_id} is not damaged: resume, abort or clean it like any other"
        raise RequestError(message, kind="not_damaged", job_id=job_id, stage="clean")
    if isinstance(damage, NewerVersionError):
        message = f"job {job_id} is not damaged: {damage}; nothing was removed"
        raise RequestError(message, kind="newer_version", job_id=job_id, stage="clean")
    if is_of_who_asks(damage):
        message = f"job {job_id} cannot be looked at: {damage}; nothing was removed"
        raise RequestError(message, kind="not_damaged", job_id=job_id, stage="clean")
    doubt = await _doubt(store, layout)
    if doubt is not None and not accept_loss:
        raise _perhaps_committed(layout, doubt)
    if dry_run:
        return size_bytes
    if doubt is None:
        permit = deletion.of_aborted(layout, await _fenced(store, layout))
    else:
        await _leave_word(store, layout)
        permit = deletion.of_given_up(layout, doubt)
    rest = await retirement.retire(layout, permit)
    await rest()
    return size_bytes


async def _leave_word(store: ConfirmedStore, layout: JobLayout) -> None:
    """Record that a job was given up, so that its files are not taken for its whole output."""
    destination = layout.destination
    await store.create(destination.lost(layout.job_id), b"", within=destination.areas)


async def _doubt(store: ConfirmedStore, layout: JobLayout) -> str | None:
    """Why a damaged job may have committed, if it may; a job that certainly has is refused."""
    try:
        decision = await recall_listed(store, layout, layout.decision, Decision)
    except RecordError as error:
        return f"its decision cannot be read ({error})"
    if decision is None or decision.record.state == "aborted":
        return None
    if layout.spec in {child.path for child in await store.list_area(layout.area)}:
        message = (
            f"job {layout.job_id} is damaged, and it is committed: put back the record that is "
            "damaged, and resume it; nothing was removed"
        )
        raise RequestError(message, kind="committed", job_id=layout.job_id, stage="clean")
    return "a committed decision stands in it, and its job.json is gone"


def _perhaps_committed(layout: JobLayout, why: str) -> RequestError:
    message = (
        f"job {layout.job_id} may have committed: {why}; a part of its files may be in place, and "
        "what is not is only in its work area; put back what is damaged, or remove it for good "
        "with accept_loss (--accept-loss)"
    )
    return RequestError(message, kind="perhaps_committed", job_id=layout.job_id, stage="clean")


async def _fenced(store: ConfirmedStore, layout: JobLayout) -> Standing[Decision]:
    """The aborted decision that fences the job; made here if there is none."""
    wanted = Decision(
        nonce=store.ids.nonce(), job_id=layout.job_id, state="aborted", by="clean, as damaged"
    )
    fence = await establish(store, layout.decision, wanted, within=layout.area)
    fence = fence or await recall(store, layout, layout.decision, Decision)
    if fence is None or fence.record.state != "aborted":
        message = f"job {layout.job_id} was decided just now; look at it again"
        raise JobNotActiveError(message, job_id=layout.job_id, outcome="unknown", stage="clean")
    return fence
