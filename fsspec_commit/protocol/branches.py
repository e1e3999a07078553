"""A tree that turns out to be long is listed by its branches, several at once.

A page names the next one, so the pages of one listing come one after the other: a million files are
a thousand round trips in a row. The branches of a directory can be listed side by side. But each
branch takes at least one request, and one page of a single listing may cover a thousand branches.
So a tree is first listed as one; only if that listing is long, and there are few branches for so
many files, is it given up, and the branches are listed instead.

What is directly in a directory, and what is below it, are then seen at different moments, as where
directories are listed one by one. So each of these directories is looked into once more for a work
area of another destination, when all files are listed, and so is each in which a page begins
(:class:`~fsspec_commit.protocol.listing.SeenApart`).
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple, TypeVar

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.ending import close, ending
from fsspec_commit.effects.merging import merged
from fsspec_commit.effects.parallel import all_of
from fsspec_commit.layout import StorePath
from fsspec_commit.names import AREA, Partition
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.listing import Found, SeenApart, data_files, files_below
from fsspec_commit.store import Entry

T = TypeVar("T")

LONG = 2_048
"""A tree of fewer files is listed as one; up to this many are held until that is known."""
AT_ONCE_MAX = 16
"""The most trees, or branches of one, listed at once; each holds a page of its listing."""
BRANCH_FILES_MIN = 250
"""With fewer files in a branch, on average, there would be many more requests than pages."""
AHEAD_ENTRIES_MAX = 500
"""Per tree or directory: listing more than this twice costs more than the round trip saved."""
_AHEAD_MAX = 4
"""How many directories are listed at a time ahead of the look, which lists them once more."""
_BRANCHES_MAX = 10_000
"""A directory with more children than this is not split, and none of them are held."""
_SAMPLES_MAX = 16
_SAMPLE_MAX = 1_000
_NO_NAMES = {"", ".", ".."}


async def old_files(
    job: BoundJob,
    apart: SeenApart,
    path: StorePath | None = None,
    *,
    opening: asyncio.Lock | None = None,
) -> AsyncIterator[Found]:
    """Every file below *path*, or of the destination, with its relative name, in any order.

    Those of the destination's work areas are left out.

    Args:
        job: The job.
        apart: To it the directories are added that a paged listing has not shown at one moment.
        path: A directory; ``None`` stands for the destination.
        opening: Held while a tree is listed by its branches, so only one of several trees is.

    Raises:
        RequestError: Another destination lies below it.
        TooMuchError: The job looks ahead, and there is more than is worth listing twice.
    """
    layout = job.layout.destination
    top = layout.root if path is None else path
    if job.walks:
        async with ending(files_below(job, top)) as files:
            async for found in files:
                yield found
        return
    branches = _branches(job, layout.areas, opening)
    entries = branches.files_below(top)
    if job.looks_ahead:
        entries = at_most_few(entries)
    async with ending(data_files(job, entries)) as files:
        async for name, entry in files:
            apart.note(name, entry)
            yield name, entry
    for one in branches.opened:
        apart.add(layout.relative(one))


async def files_that_stay(
    job: BoundJob, path: StorePath, *, opening: asyncio.Lock
) -> AsyncIterator[str]:
    """The relative name of every file below the directory *path*, in any order.

    None of them is deleted, so another destination may lie there. A work area directly in *path*
    is left out.

    Args:
        job: The job.
        path: A directory.
        opening: As for :func:`old_files`.

    Raises:
        TooMuchError: The job looks ahead, and there is more than is worth listing twice.
    """
    layout = job.layout.destination
    areas = layout.directory(Partition(f"{layout.relative(path)}/{AREA}"))
    if job.walks:
        entries = job.store.list_tree(path, without=areas)
    else:
        entries = _branches(job, areas, opening).files_below(path)
    if job.looks_ahead:
        entries = at_most_few(entries)
    async with ending(entries) as files:
        async for entry in files:
            yield layout.relative(entry.path)


def _branches(job: BoundJob, without: StorePath, opening: asyncio.Lock | None) -> "Branches":
    at_once = 1 if job.looks_ahead else listings_at_once(job.store)
    return Branches(job.store, without=without, opening=opening, at_once=at_once)


class TooMuchError(Exception):
    """There is more to list than is worth listing twice.

    Whoever looks ahead handles it; users of the library never see it.
    """


async def at_most_few(found: AsyncIterator[T]) -> AsyncIterator[T]:
    """The entries of *found*, which is listed ahead of a look, if they are few.

    Raises:
        TooMuchError: There are more than is worth listing twice.
    """
    seen = 0
    async with ending(found) as entries:
        async for entry in entries:
            seen += 1
            if seen > AHEAD_ENTRIES_MAX:
                raise TooMuchError
            yield entry


def listings_at_once(store: ConfirmedStore) -> int:
    """How many listings may be open at once, each with a page on its way.

    Pages after the first are not among the calls that the store counts as in flight. So it is at
    most half as many as these: one of several trees may itself be listed by as many branches.
    """
    return min(AT_ONCE_MAX, (store.in_flight_max + 1) // 2)


def listings_ahead(store: ConfirmedStore) -> int:
    """How many listings ahead of the look there is room for beside those of the look."""
    return min(_AHEAD_MAX, store.in_flight_max - 2 * listings_at_once(store))


class Branches:
    """Lists a tree, and its branches by themselves if that pays.

    Args:
        store: Where the tree is. Its listings are paged: there is nothing to gain elsewhere.
        without: A directory that is left out.
        opening: Held while branches are listed by themselves.
        at_once: How many are listed at once; with 1, no branch is listed by itself.

    Attributes:
        opened: The directories whose branches were listed by themselves, so that what is directly
            in one was seen at another moment than what is below.
    """

    def __init__(
        self,
        store: ConfirmedStore,
        *,
        without: StorePath,
        opening: asyncio.Lock | None = None,
        at_once: int | None = None,
    ) -> None:
        self.opened: list[StorePath] = []
        self._store = store
        self._without = without
        self._opening = opening or asyncio.Lock()
        self._at_once = at_once or listings_at_once(store)

    async def files_below(self, path: StorePath) -> AsyncIterator[Entry]:
        """Every file below *path* except those below the directory that is left out, once."""
        async with self._begun(path) as begun:
            if self._at_once > 1 and await begun.has_long_branches():
                async with self._opening:
                    opened = await self._opened(path)
                    if opened is not None:
                        await begun.give_up()
                        async with ending(self._all_of(opened)) as files:
                            async for entry in files:
                                yield entry
                        return
            async for entry in begun.entries():
                yield entry

    async def _all_of(self, opened: "_Opened") -> AsyncIterator[Entry]:
        """What is directly in a directory, and then what is in its branches, as it arrives."""
        for entry in opened.files:
            yield entry
        waiting = [*reversed(opened.directories)]

        def take() -> StorePath | None:
            return waiting.pop() if waiting else None

        def below(branch: StorePath) -> AsyncIterator[Entry]:
            return self._below(branch, waiting)

        async with ending(merged(take, below, in_flight_max=self._at_once)) as batches:
            async for batch in batches:
                for entry in batch:
                    yield entry

    async def _below(self, branch: StorePath, waiting: list[StorePath]) -> AsyncIterator[Entry]:
        """The files of one branch, except those of its own branches if these go into *waiting*.

        Branches that were added last are listed first, so that few are waiting.
        """
        async with self._begun(branch) as begun:
            opened = await self._opened(branch) if await begun.has_long_branches() else None
            if opened is None:
                async for entry in begun.entries():
                    yield entry
                return
        waiting += reversed(opened.directories)
        for entry in opened.files:
            yield entry

    @asynccontextmanager
    async def _begun(self, path: StorePath) -> "AsyncIterator[_Begun]":
        async with ending(self._store.list_tree(path, without=self._without)) as listing:
            yield _Begun(path, listing)

    async def _opened(self, path: StorePath) -> "_Opened | None":
        """What is directly in *path*, or in the only directory there; ``None`` if not to be split.

        Then the listing of the tree as one, which has begun, goes on.
        """
        passed = [path]
        while (opened := await self._children(passed[-1])) is not None:
            if opened.files or len(opened.directories) != 1:
                break
            passed += opened.directories
        if opened is None or not await self._are_long(opened.directories):
            return None
        self.opened += passed
        return opened

    async def _children(self, path: StorePath) -> "_Opened | None":
        """What is directly in *path*; ``None`` if it is too much, or a name means no directory."""
        directories, files = dict[StorePath, None](), list[Entry]()
        async with ending(self._store.children(path)) as children:
            async for child in children:
                if isinstance(child, Entry):
                    files.append(child)
                elif child.path != self._without:
                    above, _, name = child.path.rpartition("/")
                    if above != path or name in _NO_NAMES:
                        # `a//b` is in no directory that every store could list.
                        return None
                    directories[child.path] = None
                if len(directories) + len(files) > _BRANCHES_MAX:
                    return None
        return _Opened(list(directories), files)

    async def _are_long(self, directories: Sequence[StorePath]) -> bool:
        """Whether the branches are long enough; if they are many, a few of them are sampled."""
        if not directories:
            return False
        if len(directories) <= _SAMPLES_MAX:
            return True

        async def length(branch: StorePath) -> int:
            found = 0
            async with ending(self._store.list_tree(branch, without=self._without)) as files:
                async for _ in files:
                    found += 1
                    if found == _SAMPLE_MAX:
                        break
            return found

        step = len(directories) / _SAMPLES_MAX
        samples = [directories[int(number * step)] for number in range(_SAMPLES_MAX)]
        lengths = await all_of(samples, length, in_flight_max=self._at_once)
        return sum(lengths) >= BRANCH_FILES_MIN * len(samples)


class _Opened(NamedTuple):
    """What is directly in a directory."""

    directories: list[StorePath]
    files: list[Entry]


class _Begun:
    """A listing, the beginning of which is held until it is known whether it goes on."""

    def __init__(self, path: StorePath, listing: AsyncIterator[Entry]) -> None:
        self._prefix = f"{path}/"
        self._listing = listing
        self._held: list[Entry] = []
        self._is_whole = False

    async def has_long_branches(self) -> bool:
        """Whether it is long, and its beginning is mostly in few directories, with no work area.

        A caller refuses a listing with a work area in it, which a second listing might not show.
        """
        async for entry in self._listing:
            self._held.append(entry)
            if len(self._held) == LONG:
                break
        else:
            self._is_whole = True
            return False
        begin = len(self._prefix)
        below = [name for entry in self._held if "/" in (name := entry.path[begin:])]
        branches = {name.partition("/")[0] for name in below}
        return (
            2 * len(below) >= len(self._held)
            and len(branches) * BRANCH_FILES_MIN <= len(below)
            and not any(AREA in name.split("/") for name in below)
        )

    async def give_up(self) -> None:
        """Forget what is held, and list no more."""
        self._held, self._is_whole = [], True
        await close(self._listing)

    async def entries(self) -> AsyncIterator[Entry]:
        """Every entry, from the first one on."""
        held, self._held = self._held, []
        for entry in held:
            yield entry
        if not self._is_whole:
            async for entry in self._listing:
                yield entry
