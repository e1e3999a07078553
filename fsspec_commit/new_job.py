"""Where a new job begins: opening its destination, and choosing a committer that is safe there."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fsspec_commit.destination import OpenDestination, open_destination
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.errors import UnsafeStoreError
from fsspec_commit.ids import IdSource
from fsspec_commit.location import Location
from fsspec_commit.names import repeats_end
from fsspec_commit.options import JobOptions, record_of
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.driver import Driver
from fsspec_commit.protocol.remembered import FactsChangedError
from fsspec_commit.records.job import CommitterName
from fsspec_commit.selection import Selection, check_names, refused
from fsspec_commit.store import Confirm, OpenOptions

_log = logging.getLogger("fsspec_commit")


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job that a driver can start.

    Attributes:
        store: The opened store.
        selection: Which committer, and why.
        with_new_id: Binds the job to a new id, a different one at each call.
        confirms: Each asks whether remembered facts, from which the committer was chosen, still
            hold.
    """

    store: ConfirmedStore
    selection: Selection
    with_new_id: Callable[[], BoundJob]
    confirms: Sequence[Confirm] = ()


async def start_new_job(
    driver: Driver,
    location: Location,
    options: JobOptions,
    *,
    ids: IdSource,
    chosen: Callable[[Selection], None] = lambda _: None,
) -> bool:
    """Have *driver* start a job at *location*.

    Args:
        driver: A new driver.
        location: The destination.
        options: The job's options.
        ids: Where ids come from.
        chosen: Called with the selection before the job begins, and again if it begins anew.

    Returns:
        Whether this call has started the job (see `Driver.start`).

    Raises:
        UnsafeStoreError: No committer is safe here, or the requested one is not.
        StoreError: The store cannot be reached.
        DestinationExistsError: ``mode="error"``, and the destination holds data.
        CommitFailedError: The job could not be created.
    """
    _tell_of_repeated(location.url, options)
    new = await open_new_job(location, options, ids=ids)
    chosen(new.selection)
    try:
        return await driver.start(new.store, new.with_new_id, new.confirms)
    except FactsChangedError:
        _log.info("what was known of %r has changed: the job begins anew", location.url)
    new = await open_new_job(location, options, ids=ids, remembering=False)
    chosen(new.selection)
    return await driver.start(new.store, new.with_new_id)


def _tell_of_repeated(destination: str, options: JobOptions) -> None:
    """Log a warning of each declared partition that begins with the destination's own directory."""
    for partition in options.get("partitions", ()):
        name = partition.removesuffix("/")
        if repeats_end(destination, name, components=range(1, name.count("/") + 2)):
            _log.warning(
                "partitions holds %r, and they are relative to the destination %r: leave its own "
                "path out, unless this directory in itself is meant",
                partition,
                destination,
            )


async def open_new_job(
    location: Location, options: JobOptions, *, ids: IdSource, remembering: bool = True
) -> NewJob:
    """Open the store of *location*, and choose the committer of a job with *options*.

    With *remembering*, the facts may be those of an earlier job, which the new one confirms. If
    they lead to a refusal, the store is opened again, and asked for what holds. So it is if it
    would be probed, since the findings of a probe are kept.

    Raises:
        UnsafeStoreError: No committer is safe here, or the requested one is not.
        StoreError: The store cannot be reached.
    """
    confirms: list[Confirm] = []
    open_options = OpenOptions(
        durability=options.get("durability", "none"),
        single_writer=options.get("single_writer", False),
        concurrency=options.get("concurrency"),
        choosing=True,
        later=confirms.append if remembering else None,
    )
    destination = await open_destination(location, open_options, ids=ids)
    if confirms and destination.is_probed_first(probing=options.get("probe", True)):
        await destination.store.close()
        return await open_new_job(location, options, ids=ids, remembering=False)
    try:
        return await new_job_at(destination, options, ids=ids, confirms=confirms)
    except UnsafeStoreError:
        if not confirms:
            raise
    return await open_new_job(location, options, ids=ids, remembering=False)


async def new_job_at(
    destination: OpenDestination,
    options: JobOptions,
    *,
    ids: IdSource,
    confirms: Sequence[Confirm] = (),
) -> NewJob:
    """Choose the committer of a job with *options* at an opened destination.

    *confirms* are left to whoever starts the job, and asked while it begins.

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

    return NewJob(destination.store, selection, with_new_id, tuple(confirms))


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
