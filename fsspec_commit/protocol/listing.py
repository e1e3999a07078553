"""Listings of the data files at a destination, without its work areas.

Another destination inside this one is recognized by its work area. Where directories are listed one
by one, a job in there may be over when its area is listed, and may have left no epoch when that was
looked for. A listing by pages shows each page as of another moment: a work area may have come into
being when the page that would have shown it was there already. So whoever is about to delete listed
files looks for work areas once more.
"""

from collections.abc import AsyncIterator, Iterator
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


class SeenApart:
    """The directories of which a paged listing may have shown a file, but an earlier work area.

    What one page shows is of one moment. A page that begins in a directory leaves open what has
    come into being in it, or in one above it, since the page before; a directory above that is
    listed by itself was listed before. Where names come in no order, only a single page is certain.
    """

    def __init__(self) -> None:
        self._directories = DirectoryNames()
        self._last = ""

    def note(self, name: str, entry: Entry) -> None:
        """Note a file that was listed, also one that stays: it may begin a page."""
        if entry.begins_page:
            self.add(name.rpartition("/")[0])

    def add(self, directory: str) -> None:
        """Add *directory*, and those above it."""
        if directory != self._last:
            self._directories.update([directory])
            self._last = directory

    def __iter__(self) -> Iterator[str]:
        return self._directories.with_those_above()


async def refuse_nested(job: BoundJob, emptied: DirectoryNames, apart: SeenApart) -> None:
    """Refuse to delete files that were listed, if a job of another destination wrote any.

    A job has a work area before its first file appears, and what it leaves there stays: so whoever
    has seen its file sees its area. Where pages are listed, one more request for each directory
    would be too many: there it is one for each that was not shown at one moment.

    Args:
        job: The job.
        emptied: The directories that the files are in.
        apart: Of a listing by pages, the directories that it has not shown at one moment.

    Raises:
        RequestError: There is another destination below this one.
    """

    async def look(name: str) -> None:
        areas = job.layout.destination.directory(Partition(f"{name}/{AREA}"))
        if await is_used(job, areas):
            raise nested_destination(job, Partition(name))

    directories = emptied.with_those_above() if job.walks else apart
    await for_each(directories, look, in_flight_max=job.store.in_flight_max)


async def is_used(job: BoundJob, areas: StorePath) -> bool:
    """Whether the directory *areas* holds a work area, or an epoch, which one leaves behind.

    One of them is there from the first file of a destination on. Where names come in no order, a
    listing by several pages may show neither: the epoch came after its page, and the area went
    before its own. The next listing shows that epoch, unless another one takes its place by then.
    """
    store = job.store
    if job.walks:
        return bool(await store.list_area(areas))
    listed = await store.list_at_once(areas)
    if listed is None:
        listed = await store.list_area(areas) or await store.list_area(areas)
    return bool(listed)


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
