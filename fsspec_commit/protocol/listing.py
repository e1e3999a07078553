"""Listings of the data files at a destination, without its work areas.

Another destination inside this one is recognized by its work area. Where directories are listed one
by one, a job in there may be over when its area is listed, and may have left no epoch when that was
looked for. So whoever is about to delete listed files looks for work areas once more.
"""

from collections.abc import AsyncIterator, Iterable
from typing import TypeAlias

from fsspec_commit.effects.ending import ending
from fsspec_commit.effects.parallel import for_each
from fsspec_commit.errors import RequestError
from fsspec_commit.layout import StorePath
from fsspec_commit.names import AREA, Partition, is_in_work_area, is_visible
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.directory_names import DirectoryNames
from fsspec_commit.store import Entry

Found: TypeAlias = tuple[str, Entry]


async def first_visible(job: BoundJob) -> str | None:
    """The name of some file that a reader would take for data, if there is one."""
    async with ending(files_below(job, job.layout.destination.root)) as files:
        async for name, _ in files:
            if is_visible(name):
                return name
    return None


async def files_below(job: BoundJob, path: StorePath) -> AsyncIterator[Found]:
    """Every file below the directory *path* with its relative name, except those of work areas.

    Raises:
        RequestError: There is another destination below it.
    """
    listing = job.store.list_tree(path, without=job.layout.destination.areas)
    async with ending(data_files(job, listing)) as files:
        async for found in files:
            yield found


async def data_files(job: BoundJob, listing: AsyncIterator[Entry]) -> AsyncIterator[Found]:
    """The files of a *listing* with their relative names; the listing is closed at the end.

    Raises:
        RequestError: One of them is in the work area of another destination.
    """
    layout = job.layout.destination
    async with ending(listing) as entries:
        async for entry in entries:
            name = layout.relative(entry.path)
            if is_in_work_area(name):
                raise nested_destination(job, Partition(name.split(f"/{AREA}/", 1)[0]))
            yield name, entry


async def refuse_nested(job: BoundJob, directories: DirectoryNames) -> None:
    """Refuse to delete files listed in *directories*, if a job of another destination wrote any.

    A job has a work area before its first file appears, and what it leaves there stays: so whoever
    has seen its file sees its area. A listing by pages, in the order of names, has shown the area
    if it was there at the beginning; there, one more request for each directory would be too many.

    Raises:
        RequestError: There is another destination below this one.
    """
    if job.walks:
        await refuse_areas_in(job, directories.with_those_above())


async def refuse_areas_in(job: BoundJob, directories: Iterable[str]) -> None:
    """Refuse to delete what is in one of *directories*, if that has a work area of its own.

    Raises:
        RequestError: One of them has.
    """

    async def look(name: str) -> None:
        areas = job.layout.destination.directory(Partition(f"{name}/{AREA}"))
        if await job.store.list_area(areas):
            raise nested_destination(job, Partition(name))

    await for_each(directories, look, in_flight_max=job.store.in_flight_max)


def nested_destination(job: BoundJob, inner: Partition) -> RequestError:
    """The refusal to delete files that belong to another destination, with its own work area."""
    message = (
        f"cannot commit to {job.record.destination!r}: another destination lies inside it, at "
        f"{inner!r}; give each its own directory"
    )
    return RequestError(
        message,
        kind="nested_destination",
        job_id=job.record.job_id,
        path=inner,
        stage="check",
    )
