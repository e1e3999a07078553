"""The old files of the partitions that are replaced: those of exactly these directories.

Two names may still mean one directory, where a file system folds case or Unicode forms; or one
value, since readers decode percent-escapes. Files are deleted by exact names. So a job is refused,
before its decision, if it would add a second spelling of a value beside rows that stay, or would
write into a directory that has another name.
"""

import asyncio
from collections.abc import AsyncIterator, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from fsspec_commit.effects.ending import ending
from fsspec_commit.effects.merging import merged
from fsspec_commit.effects.parallel import all_of
from fsspec_commit.errors import RequestError
from fsspec_commit.layout import StorePath
from fsspec_commit.names import (
    AREA,
    Partition,
    is_visible,
    partition_key,
)
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.branches import (
    TooMuchError,
    at_most_few,
    files_that_stay,
    listings_ahead,
    listings_at_once,
    old_files,
)
from fsspec_commit.protocol.directory_names import DirectoryNames, to_look_up
from fsspec_commit.protocol.file_names import FileNames, NameIndex, SomeOf, names_alike
from fsspec_commit.protocol.listing import Found, SeenApart, is_used, nested_destination
from fsspec_commit.protocol.partition_spots import (
    Level,
    Spot,
    Ways,
    decoded,
    decoded_path,
    name_in,
)
from fsspec_commit.store import Directory, Entry, Unusable

_LISTINGS_AT_ONCE_MIN, _LISTINGS_AT_ONCE_MAX = 4, 32
_LISTED_MAX = 4096
"""The listing of a directory with wanted ones below is held while its names are compared: beyond
this many entries at once, such directories are listed one by one."""


@dataclass(slots=True)
class FilesOutside:
    """Files directly in the destination, in no partition, which stay and are read as data.

    Attributes:
        first: The first of them, by name.
        count: How many there are.
        declared: Files, wherever they are, that were declared as if they were partitions.
    """

    first: str = ""
    count: int = 0
    declared: list[str] = field(default_factory=list)

    def add(self, name: str) -> None:
        """Count one file."""
        self.first = min(self.first or name, name)
        self.count += 1

    def warnings(self) -> tuple[str, ...]:
        """The warnings about them in the job's result."""
        told = tuple(
            f"no partition: {name!r} in partitions=[…] is a file, which stays; name its directory"
            for name in sorted(self.declared)
        )
        if not self.count:
            return told
        others = f" and {self.count - 1:,} more" if self.count > 1 else ""
        stays = "stays" if self.count == 1 else "stay"
        warning = (
            f"not in a partition: {self.first!r}{others} {stays}, and readers of the whole dataset "
            'read that as well; move it elsewhere, or replace everything with mode="overwrite"'
        )
        return (warning, *told)


async def old_files_of_partitions(
    job: BoundJob,
    written: Iterable[Partition],
    directories: Container[str],
    outside: FilesOutside,
    apart: SeenApart,
) -> AsyncIterator[Found]:
    """The files of *written* partitions without their subdirectories, of declared ones with them.

    Also every file that has the name of one of the *directories* of new files. Files that are in no
    partition, or declared for one, are added to *outside*, and to *apart* the directories that a
    paged listing has not shown at the moment at which it has shown a file there.

    Raises:
        RequestError: A partition exists under another spelling, and its rows would be mixed; or
            there is another destination in a partition, or above it.
    """
    async with ending(_Walk(job, written, directories, outside, apart).files()) as files:
        async for found in files:
            yield found


class _Walk:
    """Walks down only where a partition, or another spelling of one, may be."""

    def __init__(
        self,
        job: BoundJob,
        written: Iterable[Partition],
        directories: Container[str],
        outside: FilesOutside,
        apart: SeenApart,
    ) -> None:
        self._job = job
        self._layout = job.layout.destination
        self._partitions = written
        self._written = to_look_up(written)
        self._declared = {Partition(name) for name in job.record.partitions}
        self._directories = directories
        self._outside = outside
        self._apart = apart
        self._wanted = DirectoryNames()
        self._wanted.update(chain(written, self._declared))
        self._index = NameIndex.of(self._wanted.with_those_above())
        self._found = SomeOf(self._index)
        self._last_found = ""
        self._spelled_otherwise: dict[str, str] = {}
        self._staying = DirectoryNames()
        self._opening = asyncio.Lock()
        self._at_once = _LISTINGS_AT_ONCE_MIN
        self._at_once_max = _LISTINGS_AT_ONCE_MIN if job.looks_ahead else _LISTINGS_AT_ONCE_MAX

    async def files(self) -> AsyncIterator[Found]:
        """Every file to be deleted; at the end, refuse a value that would have two spellings."""
        level = Level()
        level.add([Spot("", "")])
        while level:
            whole, above, below = Level(), Level(), Level()
            # `_lowest` fills `whole` while the lowest are read; `whole` is read after them.
            for spots in (self._lowest(level, whole, above), iter(whole)):
                async with ending(self._files_of(spots)) as files:
                    async for found in files:
                        yield found
            async with ending(self._files_among(above, below)) as files:
                async for found in files:
                    yield found
            level = below
        self._refuse_spelled_twice()

    def _lowest(self, level: Iterable[Spot], whole: Level, above: Level) -> Iterator[Spot]:
        """The spots with nothing wanted below; add declared ones to *whole*, others to *above*."""
        for spot in level:
            if spot.wanted in self._declared:
                whole.add([spot])
            elif any(self._wanted.children(spot.wanted)):
                above.add([spot])
            else:
                yield spot

    async def _files_of(self, spots: Iterator[Spot]) -> AsyncIterator[Found]:
        """The files to be deleted in *spots*, which are listed concurrently."""
        few = list(islice(spots, 2))
        if len(few) == 1:
            async with ending(self._files_in(few[0])) as files:
                async for found in files:
                    yield found
            return
        coming = chain(few, spots)
        at_once = (listings_ahead if self._job.looks_ahead else listings_at_once)(self._job.store)
        listing = merged(lambda: next(coming, None), self._files_in, in_flight_max=at_once)
        async with ending(listing) as batches:
            async for batch in batches:
                for found in batch:
                    yield found

    async def _files_in(self, spot: Spot) -> AsyncIterator[Found]:
        """The files to be deleted in a directory that may hold any number."""
        if spot.wanted in self._declared:
            if spot.is_spelled_otherwise:
                await self._note_what_stays(spot)
                return
            listing = old_files(self._job, self._apart, self._path(spot), opening=self._opening)
            async with ending(listing) as files:
                async for name, entry in files:
                    if self._takes(spot, name):
                        self._apart.add(spot.above)
                        yield name, entry
            return
        entries = self._job.store.children(self._path(spot))
        if self._job.looks_ahead:
            entries = at_most_few(entries)
        async with ending(entries) as children:
            async for child in children:
                name = self._layout.relative(child.path)
                if isinstance(child, Directory):
                    await self._refuse_nested(spot, name)
                    continue
                self._note(spot, name, child)
                if self._is_there(spot, name):
                    self._apart.add(spot.above)
                    yield name, child

    async def _note_what_stays(self, spot: Spot) -> None:
        """Note the files below another spelling; another destination may be there as well."""
        listing = files_that_stay(self._job, self._path(spot), opening=self._opening)
        async with ending(listing) as names:
            async for name in names:
                self._takes(spot, name)

    async def _files_among(self, above: Iterable[Spot], below: Level) -> AsyncIterator[Found]:
        """The files to be deleted in directories *above* wanted ones; adds those to *below*."""
        coming = iter(above)
        while spots := list(islice(coming, self._at_once)):
            listed = await self._list_all(spots)
            is_little = sum(map(len, listed)) <= _LISTED_MAX
            more = min(2 * self._at_once, self._at_once_max)
            self._at_once = more if is_little else 1
            for spot, children in zip(spots, listed, strict=True):
                ways = await self._ways(spot, children)
                for child in children:
                    name = self._layout.relative(child.path)
                    if isinstance(child, Directory):
                        await self._refuse_nested(spot, name)
                        below.add(ways.of(name))
                        continue
                    self._note(spot, name, child)
                    if self._is_there(spot, name):
                        self._apart.add(spot.above)
                        yield name, child
                    elif name in self._declared and child.size_bytes:
                        # An empty one may stand for a directory, as some programs have it.
                        self._outside.declared.append(name)
            listed, children = [], []  # They may be long: not held while the next are listed.

    def _note(self, spot: Spot, name: str, entry: Entry) -> None:
        """Note a file that begins a page, unless the directory stays with all that is in it."""
        if not spot.is_spelled_otherwise:
            self._apart.note(name, entry)

    async def _list_all(self, spots: Sequence[Spot]) -> list[list[Entry | Directory]]:
        """List the directories concurrently, since each costs a round trip."""

        async def children(spot: Spot) -> list[Entry | Directory]:
            path = self._path(spot)
            if not self._job.looks_ahead:
                return await self._job.store.list_children(path)
            listed = await self._job.store.list_at_once(path)
            if listed is None:
                raise TooMuchError
            return [child for child in listed if not isinstance(child, Unusable)]

        return await all_of(spots, children, in_flight_max=_LISTINGS_AT_ONCE_MAX)

    def _is_there(self, spot: Spot, name: str) -> bool:
        """Whether a file is to be deleted, or stands where a directory is needed."""
        if spot.wanted in self._written:
            return self._takes(spot, name)
        if name in self._directories:
            return True
        if not spot.name and is_visible(name):
            self._outside.add(name)
        return False

    async def _refuse_nested(self, spot: Spot, name: str) -> None:
        """Refuse a directory with a work area that is not empty: another destination."""
        if name == AREA or spot.is_spelled_otherwise or name.rpartition("/")[2] != AREA:
            return
        if await is_used(self._job, self._layout.directory(Partition(name))):
            raise nested_destination(self._job, Partition(spot.name))

    async def _ways(self, spot: Spot, children: Sequence[Entry | Directory]) -> "Ways":
        """Match the directories below *spot* with the wanted ones.

        Raises:
            RequestError: The store takes the name of one of them for that of a new directory.
        """
        wanted = FileNames()
        wanted.extend(self._wanted.children(spot.wanted))
        if not len(wanted):
            return Ways(spot, self._index, {})
        listed = to_look_up(map(self._last_name, children))
        missing = FileNames()
        missing.extend(name for name in wanted if name not in listed)

        def names() -> Iterator[str]:
            return chain(map(self._last_name, children), missing)

        if len(missing) and not spot.is_spelled_otherwise:
            await self._refuse_folded(spot, names_alike(names, partition_key), listed)
        return Ways(spot, self._index, names_alike(names, decoded))

    def _last_name(self, child: Entry | Directory) -> str:
        return self._layout.relative(child.path).rpartition("/")[2]

    def _takes(self, spot: Spot, name: str) -> bool:
        """Whether a file is to be deleted; if not, its directory is noted as another spelling."""
        directory = name.rpartition("/")[0]
        if not spot.is_spelled_otherwise:
            if is_visible(name) and directory != self._last_found:
                self._found.add(spot.wanted)
                self._found.add(directory)
                self._last_found = directory
            return True
        if is_visible(name) and not self._goes(directory):
            self._spelled_otherwise[spot.wanted] = spot.name
            if spot.wanted in self._declared:
                self._staying.update([directory])
        return False

    def _goes(self, directory: str) -> bool:
        return directory in self._written or any(
            f"{directory}/".startswith(f"{declared}/") for declared in self._declared
        )

    def _path(self, spot: Spot) -> StorePath:
        return self._layout.directory(Partition(spot.name))

    async def _refuse_folded(
        self, spot: Spot, alike: Mapping[tuple[str, ...], Sequence[str]], listed: Container[str]
    ) -> None:
        """Refuse a directory that is not listed but exists, under another name.

        The store is asked only if a similar name is listed, which is rare.
        """
        for names in alike.values():
            others = [name for name in names if name in listed]
            for name in names if others else ():
                wanted = name_in(spot.wanted, name)
                path = self._layout.directory(Partition(wanted))
                if name not in listed and await self._job.store.stat(path) is not None:
                    raise self._folded(wanted, name_in(spot.name, others[-1]))

    def _refuse_spelled_twice(self) -> None:
        """Refuse a partition whose only rows so far are under another spelling, and would stay.

        If both spellings have rows, their owner tells them apart, or reads both in any case.
        """
        self._note_spelled_otherwise_below()
        for wanted, other in sorted(self._spelled_otherwise.items()):
            if not self._found.holds(wanted):
                raise self._spelled_twice(wanted, other)

    def _note_spelled_otherwise_below(self) -> None:
        """Note which partitions below declared ones are written beside rows of the same value."""
        if not len(self._staying):
            return
        for names in names_alike(self._written_and_staying, decoded_path).values():
            staying = [name for name in names if name not in self._written]
            for name in names if staying else ():
                if name in self._written:
                    self._spelled_otherwise[name] = staying[-1]

    def _written_and_staying(self) -> Iterator[str]:
        return chain(self._partitions, self._staying)

    def _folded(self, name: str, other: str) -> RequestError:
        why = (
            "stands there, and this store takes both names for one, so rows of the one would be "
            f"read as the other's; write {other!r}, or rename it first"
        )
        return self._refusal(f"write {name!r} to", other, why)

    def _spelled_twice(self, wanted: str, other: str) -> RequestError:
        why = (
            "holds rows that readers take for the same value, and they would stay beside the new "
            f"ones; replace them as well with partitions=[{other!r}], or write under that name"
        )
        return self._refusal(f"replace partition {wanted!r} of", other, why)

    def _refusal(self, what: str, other: str, why: str) -> RequestError:
        return RequestError(
            f"cannot {what} {self._job.record.destination!r}: {other!r} {why}",
            kind="partition_spelled_otherwise",
            job_id=self._job.record.job_id,
            path=other,
            stage="check",
        )
