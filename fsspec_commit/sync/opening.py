"""Opening a destination for the length of one operation."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from fsspec_commit.destination import OpenDestination, open_destination
from fsspec_commit.effects.stored_records import damaged
from fsspec_commit.errors import UnsafeStoreError
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.layout import DestinationLayout
from fsspec_commit.location import DestinationLike, Location, locate
from fsspec_commit.records.job import JobRecord
from fsspec_commit.store import OpenOptions
from fsspec_commit.sync.afterwards import quiet

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

T = TypeVar("T")


@asynccontextmanager
async def opened(
    destination: DestinationLike,
    storage_options: Mapping[str, object] | None,
    filesystem: "AbstractFileSystem | None",
    options: OpenOptions,
) -> AsyncIterator[OpenDestination]:
    """Open what the caller names, and close it at the end of the block."""
    location = locate(destination, storage_options, filesystem)
    async with closing(await open_when_quiet(location, options)) as to:
        yield to


async def open_when_quiet(location: Location, options: OpenOptions) -> OpenDestination:
    """Open a destination, after waiting for what earlier commits of this process still remove.

    Raises:
        StoreError: The store cannot be reached.
    """
    await quiet()
    return await open_destination(location, options, ids=SYSTEM_IDS)


@asynccontextmanager
async def closing(to: OpenDestination) -> AsyncIterator[OpenDestination]:
    """Close *to* at the end of the block."""
    try:
        yield to
    finally:
        await to.store.close()


def or_damaged(to: OpenDestination, bind: Callable[[JobRecord], T], record: JobRecord) -> T:
    """Call *bind*, a method of the destination, with the record of a job that has begun.

    Raises:
        RecordError: The record names a committer for which this store lacks an ability.
    """
    try:
        return bind(record)
    except UnsafeStoreError as error:
        layout = DestinationLayout(to.store.root).job(record.job_id)
        why = f"this store cannot do what the committer {record.committer!r} takes"
        raise damaged(layout, layout.spec, why) from error
