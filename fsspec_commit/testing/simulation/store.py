"""A simulated store as one process opens it: each verb sends the requests of its family."""

import asyncio
import errno
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Self, TypeVar

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import (
    AtomicRename,
    Capabilities,
    Content,
    Directory,
    Entry,
    Expect,
    Expectation,
    OpenOptions,
    Store,
    Token,
    Unusable,
    Writer,
    later_page,
)
from fsspec_commit.store.opening import Ask
from fsspec_commit.testing.simulation.bucket import Bucket, refused
from fsspec_commit.testing.simulation.families import Family
from fsspec_commit.testing.simulation.ordering import Order
from fsspec_commit.testing.simulation.process import Process
from fsspec_commit.testing.simulation.renames import SimulatedRenames
from fsspec_commit.testing.simulation.uploads import SimulatedUploads

T = TypeVar("T")
Shown = TypeVar("Shown", Entry, Entry | Directory)

_PAGE_ENTRIES_MAX = 1_000
_SHORT_PAGES = 0.25
"""The share of pages that could be long, but are as short as those of other listings."""


class SimulatedStore:
    """One destination, as one process sees it.

    Args:
        root: The destination.
        bucket: Its state.
        family: What kind of store it is.
        process: Sends the requests.
        ask: Repeats requests for the later pages of a listing, as adapters do.
        order: In what order pages show what there is.
    """

    in_flight_max = unverified_endpoint = bulk = direct = None
    files_max = 12

    def __init__(
        self,
        root: StorePath,
        bucket: Bucket,
        family: Family,
        process: Process,
        *,
        ask: Ask,
        order: Order,
    ) -> None:
        self.root = root
        self.capabilities: Capabilities = family.capabilities
        self._bucket = bucket
        self._family = family
        self._request = process.request
        self._random = process.random
        self._ask = ask
        self._order = order
        paged = family.has_directories and family.page_entries is not None
        self.in_order = self if family.lists_in_order else None
        self.at_once = self
        renames = SimulatedRenames(root, bucket, family, process)
        self.files = None if bucket.habits.renames is AtomicRename.NONE else renames
        self.directories = renames if family.has_directories else None
        self.empty_directories = renames if family.removes_empty else None
        # A rename finds a directory missing at the price of a request, where listings are paged.
        self.directory_creation = renames if paged else None
        self.bulk_deletion = None if family.has_directories else self
        self.uploads = (
            SimulatedUploads(bucket, family, process, ask, order) if bucket.habits.uploads else None
        )

    @classmethod
    async def open(cls, url: str, options: OpenOptions) -> Self:
        """Refuse: a simulation makes its stores."""
        raise TypeError(f"{cls.__name__} is made by a simulation, not for {url!r}, {options}")

    async def stat(self, path: StorePath) -> Entry | Directory | None:
        """The file or directory at *path*."""
        return await self._request("stat", path, lambda: self._found(path))

    async def read(self, path: StorePath, *, limit_bytes: int) -> Content | None:
        """The whole file at *path*."""

        def read() -> Content | None:
            entry, there = self._bucket.entry(path), self._bucket.get(path)
            if entry is None or there is None:
                return None
            if entry.size_bytes > limit_bytes:
                raise refused(path, f"longer than {limit_bytes} bytes")
            return Content(entry, there.data)

        return await self._request("read", path, read)

    async def read_range(self, path: StorePath, *, start: int, length: int) -> bytes | None:
        """At most *length* bytes from *start*."""

        def read() -> bytes | None:
            there = self._bucket.get(path)
            return None if there is None else there.data[start : start + length]

        return await self._request("read_range", path, read)

    async def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        """Every file below *path*: in pages, or directory by directory in no order."""
        if self._family.page_entries is None:
            async for entry in self._walked(path, without):
                yield entry
            return
        after, size, order = "", self._family.page_entries, self._order

        def page() -> list[Entry]:
            keys = [
                key
                for key in self._keys(f"{path}/")
                if order(key) > after and (without is None or not key.startswith(f"{without}/"))
            ]
            return _entries(self._bucket, keys[:size])

        while True:
            entries = await self._page("list_tree", path, page, is_later=bool(after))
            for entry in self._told_apart(entries, after, size):
                yield entry
            if len(entries) < size:
                return
            after = order(entries[-1].path)

    async def list_in_order(
        self, path: StorePath, first: StorePath, last: StorePath
    ) -> tuple[list[StorePath], bool] | None:
        """A page of the files in the directories *first* to *last* of *path*, by name."""
        size = self._family.page_entries

        def page() -> tuple[list[StorePath], bool]:
            found = self._bucket.keys(f"{path}/")
            keys = [key for key in found if f"{first}/" <= key < f"{last}0"]
            return keys[:size], size is None or len(keys) <= size

        return await self._request("list_tree", path, page)

    async def list_children(self, path: StorePath) -> AsyncIterator[Entry | Directory]:
        """Everything directly in *path*."""
        size = self._family.page_entries
        if size is None:
            children = await self._request("list_children", path, lambda: self._children(path))
            self._random.shuffle(children)
            for child in children:
                yield child
            return
        after = ""

        def page() -> list[Entry | Directory]:
            return [child for child in self._children(path) if self._place(child) > after][:size]

        while True:
            children = await self._page("list_children", path, page, is_later=bool(after))
            for child in self._told_apart(children, after, size):
                yield child
            if len(children) < size:
                return
            after = self._place(children[-1])

    async def list_at_once(self, path: StorePath) -> list[Entry | Directory | Unusable] | None:
        """Everything directly in *path*, if that is on the first page, which may be short."""
        children = await self._request("list_children", path, lambda: self._children(path))
        size = self._family.page_entries
        if size is None:
            return [*children]
        is_short = self._random.random() < _SHORT_PAGES
        return [*children] if len(children) <= (size if is_short else _PAGE_ENTRIES_MAX) else None

    def writer(
        self, path: StorePath, *, within: StorePath, nonce: Nonce | None = None
    ) -> Writer[Entry]:
        """Write the file *path*, which appears when it is finished."""
        return _Writer(self, path, within, nonce)

    async def put(
        self,
        path: StorePath,
        data: bytes,
        *,
        expecting: Expectation,
        within: StorePath | None,
        nonce: Nonce | None = None,
    ) -> Token:
        """Write a small file whole."""
        verb = "create" if expecting is Expect.ABSENT else "put"
        return await self.place(verb, path, data, expecting=expecting, within=within, nonce=nonce)

    async def delete(self, path: StorePath, *, expecting: Expectation) -> None:
        """Delete one file."""
        await self._request("delete", path, lambda: self._bucket.delete(path, expecting))

    async def delete_files(self, paths: Sequence[StorePath], *, within: StorePath) -> None:  # noqa: ARG002  # no directories stay
        """Delete files by a request each, all at once."""
        deleting = (self.delete(path, expecting=Expect.ANYTHING) for path in paths)
        for answer in await asyncio.gather(*deleting, return_exceptions=True):
            if answer is not None:
                raise answer

    async def delete_tree(self, path: StorePath) -> None:
        """Delete everything below *path*: at once, or file by file."""
        if not self._family.deletes_trees:
            kept = self._bucket.kept(path)
            listed = await self._request("list_tree", path, lambda: self._keys(f"{kept}/"))
            for key in listed:
                await self.delete(key, expecting=Expect.ANYTHING)
        if self.directories is not None:
            await self._request("delete_tree", path, lambda: self._bucket.delete_directory(path))

    def go_by(self, facts: Capabilities) -> None:
        """Do nothing: tokens have one form."""

    async def close(self) -> None:
        """Do nothing: nothing was opened."""

    async def place(
        self,
        verb: str,
        path: StorePath,
        data: bytes,
        *,
        expecting: Expectation,
        within: StorePath | None,
        nonce: Nonce | None,
    ) -> Token:
        """Write a file; the directory that must be there is looked for as the family does."""
        bucket, parent = self._bucket, StorePath(path.rpartition("/")[0])
        if within is None and self._family.makes_area_first:
            await self._request("make_directory", parent, lambda: bucket.make_directory(parent))
            within = parent

        def put() -> Token:
            if within is not None and self._family.checks_area:
                self._check_stands(within, path)
            return bucket.put(path, data, nonce, expecting)

        return await self._request(verb, path, put)

    def _check_stands(self, within: StorePath, path: StorePath) -> None:
        if self._bucket.kept(within) not in self._bucket.directories:
            raise refused(path, f"{within!r} is gone", errno.ENOENT)

    def _found(self, path: StorePath) -> Entry | Directory | None:
        there = self._bucket.entry(path)
        if there is not None:
            return there
        kept = self._bucket.kept(path)
        is_directory = kept in self._bucket.directories or self._bucket.keys(f"{kept}/")
        return Directory(path) if is_directory else None

    def _children(self, path: StorePath) -> list[Entry | Directory]:
        """Everything directly in *path*, in the order of a page."""
        found: dict[str, Entry | Directory] = {}
        prefix = f"{self._bucket.kept(path)}/"
        length = len(prefix)
        for key in self._bucket.keys(prefix):
            name, slash, _ = key[length:].partition("/")
            if slash:
                if f"{name}/" not in found:
                    found[f"{name}/"] = Directory(StorePath(f"{path}/{name}"))
            elif (entry := self._bucket.entry(StorePath(f"{path}/{name}"))) is not None:
                found[name] = entry
        for directory in self._bucket.directories:
            name = directory[length:]
            if directory.startswith(prefix) and "/" not in name:
                found.setdefault(f"{name}/", Directory(StorePath(f"{path}/{name}")))
        return sorted(found.values(), key=self._place)

    def _keys(self, prefix: str) -> list[StorePath]:
        """Every path that begins with *prefix*, in the order of a page."""
        keys = self._bucket.keys(prefix)
        return keys if self._family.lists_by_name else sorted(keys, key=self._order)

    def _place(self, child: Entry | Directory) -> str:
        """Where a page shows *child*; flat stores sort a directory as a prefix with a slash."""
        return self._order(f"{child.path}/" if isinstance(child, Directory) else child.path)

    async def _walked(self, path: StorePath, without: StorePath | None) -> AsyncIterator[Entry]:
        directories = [path]
        while directories:
            directory = directories.pop()
            children = await self._request(
                "list_tree", directory, partial(self._children, directory)
            )
            self._random.shuffle(children)
            for child in children:
                if isinstance(child, Entry):
                    yield child
                elif child.path != without:
                    directories.append(child.path)

    def _told_apart(self, page: Sequence[Shown], after: str, size: int) -> Iterable[Shown]:
        """What is on a page, which begins *after* a place; in no order, more may follow it."""
        is_sorted = self._family.lists_by_name
        is_one_of_several = after or (len(page) == size and not is_sorted)
        return later_page(page, is_sorted=is_sorted) if is_one_of_several else page

    async def _page(
        self, verb: str, path: StorePath, page: Callable[[], T], *, is_later: bool
    ) -> T:
        def asked() -> Awaitable[T]:
            return self._request(verb, path, page, is_later_page=is_later)

        return await (self._ask(asked) if is_later else asked())


class _Writer:
    """Collects bytes, and writes the file when it is finished."""

    def __init__(
        self, store: SimulatedStore, path: StorePath, within: StorePath, nonce: Nonce | None
    ) -> None:
        self._store = store
        self._path = path
        self._within = within
        self._nonce = nonce
        self._data: bytearray | None = bytearray()

    async def write(self, data: bytes) -> None:
        self._open().extend(data)

    async def finish(self) -> Entry:
        data = bytes(self._open())
        try:
            token = await self._store.place(
                "finish",
                self._path,
                data,
                expecting=Expect.ANYTHING,
                within=self._within,
                nonce=self._nonce,
            )
        except StoreError as error:
            error.can_go_on = error.reply is Reply.NOT_DONE
            raise
        self._data = None
        return Entry(path=self._path, size_bytes=len(data), token=token, nonce=self._nonce)

    async def discard(self) -> None:
        self._data = None

    def _open(self) -> bytearray:
        if self._data is None:
            raise ValueError(f"I/O operation on the closed file {self._path!r}")
        return self._data


def _entries(bucket: Bucket, keys: Iterable[StorePath]) -> list[Entry]:
    found = (bucket.entry(key) for key in keys)
    return [entry for entry in found if entry is not None]


_store: type[Store] = SimulatedStore
