"""A place opened for a new job: a committer that is safe there, and the job as data, bound."""

from collections.abc import Callable
from dataclasses import dataclass

from fsspec_commit.destination import Destination, open_destination
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.ids import IdSource
from fsspec_commit.location import Place
from fsspec_commit.options import JobOptions, record_of
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.records.job import CommitterName
from fsspec_commit.selection import Selection, check_names, refused
from fsspec_commit.store import OpenOptions


@dataclass(frozen=True, slots=True)
class Opening:
    """What a driver starts a job from.

    Attributes:
        store: The opened store.
        selection: Which committer, and why.
        next_job: The job under an id that nobody has: each call takes another one.
    """

    store: ConfirmedStore
    selection: Selection
    next_job: Callable[[], BoundJob]


async def open_for_new_job(where: Place, options: JobOptions, *, ids: IdSource) -> Opening:
    """Open the store of a place, and choose the committer of a job with *options*.

    Raises:
        UnsafeStoreError: No committer is safe here, or not the one asked for.
        StoreError: It cannot be reached.
    """
    opening = OpenOptions(
        durability=options.get("durability", "none"),
        single_writer=options.get("single_writer", False),
        concurrency=options.get("concurrency"),
        choosing=True,
    )
    destination = await open_destination(where, opening, ids=ids)
    try:
        selection, committer = await _safe(destination, options)
    except BaseException:  # There is no job yet that is to be aborted through it.
        await destination.store.close()
        raise

    def next_job() -> BoundJob:
        record = record_of(options, where.url, committer, selection.capabilities, ids)
        return destination.bind(record)

    return Opening(destination.store, selection, next_job)


async def _safe(destination: Destination, options: JobOptions) -> tuple[Selection, CommitterName]:
    """What is safe for a job with *options*, or the refusal."""
    selection = await destination.select(
        options.get("committer", "auto"), probing=options.get("probe", True)
    )
    if selection.committer is None:
        raise refused(selection, destination.place.url)
    check_names(selection, options.get("names", "unique"))
    return selection, selection.committer
