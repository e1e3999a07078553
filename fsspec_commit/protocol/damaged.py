"""Damaged jobs, which only a person can settle: removed on their word, never by a driver."""

from collections.abc import Callable
from typing import TypeAlias

from fsspec_commit.effects import deletion
from fsspec_commit.effects.confirmed.reads import refusals_as_damage
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.removal import Retirement
from fsspec_commit.effects.stored_records import establish, recall
from fsspec_commit.errors import (
    CommitStateUnknownError,
    JobNotActiveError,
    RecordError,
    RequestError,
    failing_as,
)
from fsspec_commit.layout import DestinationLayout, JobLayout
from fsspec_commit.protocol.job_records import read_record, recall_listed
from fsspec_commit.protocol.job_state import JobState, read_state, unusable_among
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Decision, JobRecord

Check: TypeAlias = Callable[[JobRecord], None]
"""Raises `RecordError` of a record that says what this store cannot do; changes nothing."""


async def damage_of(store: ConfirmedStore, state: JobState, check: Check) -> str | None:
    """What of a job nobody can go by, if anything; where it is over, its decision still counts."""
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
    except RecordError as error:
        return str(error)
    return "a committed decision stands but job.json is gone"


async def _is_unpublished(store: ConfirmedStore, layout: JobLayout, decision: Decision) -> bool:
    """Whether a decision in a void area may be all that knows of files which are not in place.

    Where nothing is left that it could publish from, it is the echo of a request that was given
    up, and carried out when its job had long been finished.
    """
    if decision.state != "committed" or await store.stat(layout.published) is not None:
        return False
    return bool(decision.task_count) and await store.stat(layout.manifests) is not None


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
    """Remove what a damaged job has left, where it cannot have committed.

    An undecided one is fenced first, like any other. One whose decision cannot be read may have
    committed: a part of its files may be in place, and stays so; that takes *accept_loss*.

    Returns:
        How many bytes its area held.

    Raises:
        RequestError: It is not damaged, or may have committed; nothing was changed.
        JobNotActiveError: It has no area, or was decided meanwhile.
        CommitStateUnknownError: The store did not say what it is.
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
    if await damage_of(store, await read_state(store, layout), check) is None:
        message = f"job {job_id} is not damaged: resume, abort or clean it like any other"
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
    await retirement.retire(layout, permit)
    return size_bytes


async def _leave_word(store: ConfirmedStore, layout: JobLayout) -> None:
    """Say that a job was given up: what is in place of it must not be taken for all of it."""
    destination = layout.destination
    await store.create(destination.lost(layout.job_id), b"", within=destination.areas)


async def _doubt(store: ConfirmedStore, layout: JobLayout) -> str | None:
    """Why a damaged job may have committed, if it may; one that certainly has is refused."""
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
    """The aborted decision, which no driver can get past; taken here where there was none."""
    wanted = Decision(
        nonce=store.ids.nonce(), job_id=layout.job_id, state="aborted", by="clean, as damaged"
    )
    fence = await establish(store, layout.decision, wanted, within=layout.area)
    fence = fence or await recall(store, layout, layout.decision, Decision)
    if fence is None or fence.record.state != "aborted":
        message = f"job {layout.job_id} was decided just now; look at it again"
        raise JobNotActiveError(message, job_id=layout.job_id, outcome="unknown", stage="clean")
    return fence
