"""The commit point: one exclusive create, by whoever comes first (P7)."""

from fsspec_commit.effects import deletion
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.stored_records import establish
from fsspec_commit.effects.void_areas import delete_emptied
from fsspec_commit.errors import (
    CommitStateUnknownError,
    JobNotActiveError,
    failing_as,
    unforeseen_as,
)
from fsspec_commit.layout import JobLayout
from fsspec_commit.protocol.job_records import over, read_record, standing_decision
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Decision


@unforeseen_as(CommitStateUnknownError, "decide")
async def decide(store: ConfirmedStore, layout: JobLayout, wanted: Decision) -> Standing[Decision]:
    """Make *wanted* the job's decision.

    The create is repeated until some record stands; absence proves nothing. The caller who has
    created the decision then reads ``job.json``: in an area without it the decision means nothing,
    since the job was finished or aborted before.

    Raises:
        JobNotActiveError: Another decision stands, or the job is over; the error says which.
        CommitStateUnknownError: The store did not say; the decision must be read again later.
    """
    ours = await establish(store, layout.decision, wanted, within=layout.area)
    return await _confirmed(store, layout, ours)


@failing_as(CommitStateUnknownError, "decide")
async def _confirmed(
    store: ConfirmedStore, layout: JobLayout, ours: Standing[Decision] | None
) -> Standing[Decision]:
    """This caller's decision, if it counts; that is unknown as long as the store does not say."""
    if ours is None:
        raise settled_as(layout, await standing_decision(store, layout))
    if await read_record(store, layout) is None:
        await _take_back(store, layout)
        raise settled_as(layout, None)
    return ours


async def _take_back(store: ConfirmedStore, layout: JobLayout) -> None:
    """Delete this caller's decision if it means nothing: it is listed, without a ``job.json``.

    If it is not listed, there is nothing to delete, or the answer did not come from the store.
    """
    listed = {child.path for child in await store.list_area(layout.area)}
    if layout.spec in listed:
        message = f"{layout.spec!r} was not found, but is listed: an answer may not be the store's"
        raise CommitStateUnknownError(message, job_id=layout.job_id, path=layout.spec)
    if layout.decision in listed:
        await store.delete_or_leave(layout.decision, deletion.of_own_decision(layout))
        await delete_emptied(store, layout)


def settled_as(layout: JobLayout, other: Standing[Decision] | None) -> JobNotActiveError:
    """The error of a caller whose job was settled by *other*, or is over without a trace.

    *other* comes from :func:`~fsspec_commit.protocol.job_records.standing_decision`.
    """
    job_id = layout.job_id
    if other is None:
        return over(layout)
    by = f" by {other.record.by}" if other.record.by else ""
    if other.record.state == "aborted":
        message = f"job {job_id} was aborted{by}; nothing of it is visible, run it again"
        return JobNotActiveError(message, job_id=job_id, stage="decide")
    message = f"job {job_id} was committed{by}; do not run it again"
    return JobNotActiveError(message, job_id=job_id, outcome="committed", stage="decide")
