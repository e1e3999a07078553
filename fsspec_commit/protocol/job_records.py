"""Reading the records of a job, which another process may have written.

The absence of a record ends a job, or lets it be aborted. So one answer is not enough to believe
it, since it may not have come from the store: a listing must agree.
"""

from collections.abc import Awaitable, Collection
from typing import TypeVar

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.stored_records import damaged, recall
from fsspec_commit.errors import (
    CommitStateUnknownError,
    JobNotActiveError,
    RecordError,
    failing_as,
)
from fsspec_commit.layout import JobLayout, StorePath
from fsspec_commit.records import Record, Standing
from fsspec_commit.records.job import Decision, JobRecord, Published
from fsspec_commit.store import Directory

R = TypeVar("R", bound=Record)
T = TypeVar("T")

_LOOKS_MAX = 4


async def read_record(store: ConfirmedStore, layout: JobLayout) -> JobRecord | None:
    """``job.json``, or ``None`` if the job is over or never was.

    Raises:
        CommitStateUnknownError: It is listed, but cannot be read.
    """
    standing = await recall_listed(store, layout, layout.spec, JobRecord)
    return None if standing is None else standing.record


async def list_records(
    store: ConfirmedStore, layout: JobLayout, shown: Collection[StorePath] | None = None
) -> frozenset[StorePath] | None:
    """List the area, which includes ``job.json``; ``None`` if the job is over or never was.

    Args:
        store: Where the job is.
        layout: The job.
        shown: What the area has just shown, if that is known.

    Raises:
        CommitStateUnknownError: ``job.json`` can be read, but is not listed.
    """
    for _ in range(_LOOKS_MAX):
        if shown is None:
            shown = [child.path for child in await store.list_area(layout.area)]
        if layout.spec in shown:
            return frozenset(shown)
        shown = None
        if await read_record(store, layout) is None:
            return None
    raise not_answered(layout, layout.spec, "stands and is not listed")


async def list_conclusively(
    store: ConfirmedStore, layout: JobLayout
) -> frozenset[StorePath] | None:
    """What :func:`list_records` returns; a decision not in it did not stand when this was called.

    A listing of several moments may show ``job.json`` and then, when the job is over, no decision.
    So ``job.json`` is looked for after that; what it says does not matter.

    Raises:
        CommitStateUnknownError: Whether ``job.json`` stands is not known.
    """
    listed = await store.list_at_once(layout.area)
    shown = None if listed is None else frozenset(child.path for child in listed)
    if shown is not None and layout.spec in shown:
        return shown
    children = await list_records(store, layout, shown)
    if children is None or layout.decision in children:
        return children
    try:
        is_over = await read_record(store, layout) is None
    except RecordError:
        is_over = False
    return None if is_over else children


async def recall_listed(
    store: ConfirmedStore, layout: JobLayout, path: StorePath, kind: type[R]
) -> Standing[R] | None:
    """A record of a job; ``None`` if it is neither found nor listed.

    Raises:
        RecordError: It cannot be decoded, or is a directory.
        CommitStateUnknownError: It is listed, but not found.
    """
    for _ in range(_LOOKS_MAX):
        standing = await recall(store, layout, path, kind)
        if standing is not None:
            return standing
        listed = [child for child in await store.list_area(layout.area) if child.path == path]
        if not listed:
            return None
        if all(isinstance(child, Directory) for child in listed):
            raise damaged(layout, path, "it is a directory")
    raise not_answered(layout, path, "is listed and cannot be found")


def not_answered(layout: JobLayout, path: StorePath, what: str) -> CommitStateUnknownError:
    """The error for two answers that contradict each other."""
    message = (
        f"{path!r} {what}: the answer may come from a proxy and not from the store; check what is "
        "between you and the store, and try again"
    )
    return CommitStateUnknownError(message, path=path, job_id=layout.job_id)


async def reached(opening: Awaitable[T]) -> T:
    """What *opening* opens, for a caller that did not begin the job.

    Raises:
        CommitStateUnknownError: The store cannot be reached, so nothing is known about the job.
        ImportError: The store needs a package that is not installed, which the message names.
    """
    opened = await _opened_or_missing(opening)
    if isinstance(opened, ImportError):
        raise opened
    return opened


@failing_as(CommitStateUnknownError, "open")
async def _opened_or_missing(opening: Awaitable[T]) -> T | ImportError:
    try:
        return await opening
    except ImportError as missing:
        return missing


@failing_as(CommitStateUnknownError, "open")
async def begun_record(store: ConfirmedStore, layout: JobLayout) -> JobRecord | None:
    """``job.json``, for a caller that did not begin the job and cannot know whether it committed.

    Raises:
        CommitStateUnknownError: The store did not say.
        RecordError: The record is damaged (``outcome="unknown"``).
    """
    return await read_record(store, layout)


@failing_as(CommitStateUnknownError, "decide")
async def standing_decision(store: ConfirmedStore, layout: JobLayout) -> Standing[Decision] | None:
    """The decision of a job that is not over; ``None`` while there is none.

    This is the only way to read somebody else's decision. ``job.json`` is read after it, never
    before: where a record can be created in an area that is gone, a decision that came too late
    stands until its author deletes it, and for long if the author has died. Since ``job.json`` is
    never created again, one that stands afterwards stood when the decision was created.

    Raises:
        CommitStateUnknownError: The store did not say.
        JobNotActiveError: The job is over, and it is not known how it ended.
    """
    decision = await recall_listed(store, layout, layout.decision, Decision)
    if await read_record(store, layout) is None:
        raise over(layout)
    return decision


async def standing_published(
    store: ConfirmedStore, layout: JobLayout, decision: Standing[Decision]
) -> Standing[Published] | None:
    """The record that every file of *decision* is in place, if it stands.

    Raises:
        RecordError: It is about another decision, or cannot be read. This matters: the record
            permits the deletion of old files.
    """
    published = await recall(store, layout, layout.published, Published)
    if published is not None:
        try:
            published.record.check_decision(decision.record)
        except RecordError as error:
            raise damaged(layout, layout.published, str(error)) from error
    return published


def over(layout: JobLayout) -> JobNotActiveError:
    """The error for a job without ``job.json``: no record says how it ended."""
    message = (
        f"job {layout.job_id} was finished or aborted by somebody else; look at the destination "
        "before you run it again"
    )
    return JobNotActiveError(message, job_id=layout.job_id, outcome="unknown", stage="decide")
