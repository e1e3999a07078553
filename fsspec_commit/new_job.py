"""Where a new job begins: its destination is opened, and a committer that is safe there chosen."""

from collections.abc import Callable
from dataclasses import dataclass

from fsspec_commit.destination import OpenDestination, open_destination
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.ids import IdSource
from fsspec_commit.location import Location
from fsspec_commit.options import JobOptions, record_of
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.records.job import CommitterName
from fsspec_commit.selection import Selection, check_names, refused
from fsspec_commit.store import OpenOptions


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job that a driver can start.

    Attributes:
        store: The opened store.
        selection: Which committer, and why.
        with_new_id: Binds the job to an id of its own, another one at each call.
    """

    store: ConfirmedStore
    selection: Selection
    with_new_id: Callable[[], BoundJob]


async def open_new_job(location: Location, options: JobOptions, *, ids: IdSource) -> NewJob:
    """Open the store of *location*, and choose the committer of a job with *options*.

    Raises:
        UnsafeStoreError: No committer is safe here, or the requested one is not.
        StoreError: The store cannot be reached.
    """
    open_options = OpenOptions(
        durability=options.get("durability", "none"),
        single_writer=options.get("single_writer", False),
        concurrency=options.get("concurrency"),
        choosing=True,
    )
    destination = await open_destination(location, open_options, ids=ids)
    return await new_job_at(destination, options, ids=ids)


async def new_job_at(destination: OpenDestination, options: JobOptions, *, ids: IdSource) -> NewJob:
    """Choose the committer of a job with *options* at an opened destination.

    Raises:
        UnsafeStoreError: No committer is safe here, or the requested one is not. The store is
            closed after any failure.
    """
    try:
        selection, committer = await _safe(destination, options)
    except BaseException:  # There is no job yet that would have to be aborted.
        await destination.store.close()
        raise

    def with_new_id() -> BoundJob:
        url = destination.location.url
        record = record_of(options, url, committer, selection.capabilities, ids)
        return destination.bind(record)

    return NewJob(destination.store, selection, with_new_id)


async def _safe(
    destination: OpenDestination, options: JobOptions
) -> tuple[Selection, CommitterName]:
    """Select a committer that is safe for a job with *options*, or refuse."""
    selection = await destination.select(
        options.get("committer", "auto"), probing=options.get("probe", True)
    )
    if selection.committer is None:
        raise refused(selection, destination.location.url)
    check_names(selection, options.get("names", "unique"))
    return selection, selection.committer
