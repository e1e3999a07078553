"""Stores in memory that do not do what they declare."""

from __future__ import annotations

import asyncio
import errno
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store import Capabilities, Directory, Entry, Expect, Expectation, Token, Writer
from fsspec_commit.testing.wrapped import WrappedStore
from fsspec_commit_stores.memory import CAPABILITIES, MemoryStore
from tests.unit.store.probing import refuse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.ids import Nonce
    from fsspec_commit.layout import StorePath

T = TypeVar("T")


class LyingPuts(MemoryStore, ABC):
    """Puts that expect something else than they were asked to."""

    async def put(
        self,
        path: StorePath,
        data: bytes,
        *,
        expecting: Expectation,
        within: StorePath | None,
        nonce: Nonce | None = None,
    ) -> Token:
        lie = await self.instead_of(expecting, path)
        return await super().put(path, data, expecting=lie, within=within, nonce=nonce)

    @abstractmethod
    async def instead_of(self, expecting: Expectation, path: StorePath) -> Expectation:
        """What a put of *path* expects, when it is asked to expect *expecting*."""


class Overwriting(LyingPuts):
    """An exclusive create that overwrites."""

    async def instead_of(self, expecting: Expectation, path: StorePath) -> Expectation:
        return Expect.ANYTHING if expecting is Expect.ABSENT else expecting


class CheckingFirst(LyingPuts):
    """An exclusive create that looks, waits, and then overwrites."""

    async def instead_of(self, expecting: Expectation, path: StorePath) -> Expectation:
        if expecting is not Expect.ABSENT:
            return expecting
        if await self.stat(path) is not None:
            raise refuse(path)
        await asyncio.sleep(0)
        return Expect.ANYTHING


class Stumbling(LyingPuts):
    """An exclusive create that overwrites, and fails where another one is under way."""

    _under_way: ClassVar[set[StorePath]] = set()

    async def instead_of(self, expecting: Expectation, path: StorePath) -> Expectation:
        if expecting is not Expect.ABSENT:
            return expecting
        if path in self._under_way:
            raise refuse(path)
        self._under_way.add(path)
        await asyncio.sleep(0)
        self._under_way.remove(path)
        return Expect.ANYTHING


class KeepingTombs(LyingPuts):
    """An exclusive create that a deleted file is in the way of."""

    _tombs: ClassVar[set[StorePath]] = set()

    async def instead_of(self, expecting: Expectation, path: StorePath) -> Expectation:
        if expecting is Expect.ABSENT and path in self._tombs:
            raise refuse(path)
        return expecting

    async def delete(self, path: StorePath, *, expecting: Expectation) -> None:
        await super().delete(path, expecting=expecting)
        self._tombs.add(path)


class IgnoringTokens(LyingPuts):
    """A replacement that takes any token."""

    async def instead_of(self, expecting: Expectation, path: StorePath) -> Expectation:
        return expecting if isinstance(expecting, Expect) else Expect.ANYTHING


class RefusingTokens(LyingPuts):
    """A replacement on condition is refused always."""

    async def instead_of(self, expecting: Expectation, path: StorePath) -> Expectation:
        if not isinstance(expecting, Expect):
            raise refuse(path)
        return expecting


class DeletingAnything(MemoryStore):
    """A deletion that takes any token."""

    async def delete(self, path: StorePath, *, expecting: Expectation) -> None:
        await super().delete(path, expecting=Expect.ANYTHING)


class DeletingNothing(MemoryStore):
    """A deletion on condition that says yes and does nothing."""

    async def delete(self, path: StorePath, *, expecting: Expectation) -> None:
        if isinstance(expecting, Expect):
            await super().delete(path, expecting=expecting)


class Lagging:
    """Answers the listing *verb* with what its last answer should have been."""

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._listed: list[Entry | Directory] = []

    async def __call__(self, verb: str, path: StorePath, call: Callable[[], Awaitable[Any]]) -> Any:
        if verb != self._verb:
            return await call()
        before, self._listed = self._listed, await call()
        return before


class StaleChildren(WrappedStore):
    """A listing of a directory that shows what the last one should have shown."""

    def __init__(self, root: StorePath) -> None:
        super().__init__(MemoryStore(root), Lagging("list_children"))


class StaleTree(WrappedStore):
    """The same of a listing of a tree."""

    def __init__(self, root: StorePath, declared: Capabilities = CAPABILITIES) -> None:
        store = MemoryStore(root)
        store.capabilities = declared
        super().__init__(store, Lagging("list_tree"))


class ListingNoTokens(WrappedStore):
    """Listings of what cannot be told from another content."""

    def __init__(self, root: StorePath) -> None:
        super().__init__(MemoryStore(root), self._refuse)

    async def _refuse(self, verb: str, path: StorePath, call: Callable[[], Awaitable[Any]]) -> Any:
        answer = await call()
        if verb == "list_children" and answer:
            error = StoreError(f"cannot list {path!r}: no etags", path=path, reply=Reply.REFUSED)
            error.errno = errno.EINVAL
            raise error
        return answer


class KeepingDeleted(WrappedStore):
    """Listings that go on showing a deleted file."""

    def __init__(self, root: StorePath) -> None:
        super().__init__(MemoryStore(root), self._keep)
        self._ghosts: list[Entry] = []

    async def _keep(self, verb: str, path: StorePath, call: Callable[[], Awaitable[Any]]) -> Any:
        there = await self.store.stat(path) if verb == "delete" else None
        answer = await call()
        if isinstance(there, Entry):
            self._ghosts = [there]
        return [*answer, *self._ghosts] if verb == "list_children" else answer


class OldTokens(WrappedStore):
    """Listings that show the first token of a name for ever."""

    def __init__(self, root: StorePath) -> None:
        super().__init__(MemoryStore(root), self._age)

    async def _age(self, verb: str, path: StorePath, call: Callable[[], Awaitable[Any]]) -> Any:
        answer = await call()
        if verb not in {"list_tree", "list_children"}:
            return answer
        return [
            Entry(path=entry.path, size_bytes=entry.size_bytes, token=Token("first"))
            for entry in answer
            if isinstance(entry, Entry)
        ]


class WritingInPlace(MemoryStore):
    """A writer whose file is seen while it is written."""

    def writer(
        self, path: StorePath, *, within: StorePath, nonce: Nonce | None = None
    ) -> Writer[Entry]:
        return _InPlace(self, path, within)


class _InPlace:
    def __init__(self, store: MemoryStore, path: StorePath, within: StorePath) -> None:
        self._store, self._path, self._within, self._data = store, path, within, b""

    async def write(self, data: bytes) -> None:
        self._data += data
        await self._store.put(
            self._path, self._data, expecting=Expect.ANYTHING, within=self._within
        )

    async def finish(self) -> Entry:
        entry = await self._store.stat(self._path)
        assert isinstance(entry, Entry)
        return entry

    async def discard(self) -> None:
        await self._store.delete(self._path, expecting=Expect.ANYTHING)


class OneWriteAtATime(WrappedStore):
    """A store that takes one change of a name in so many seconds, as GCS does; it tells no lie."""

    CHANGES: ClassVar = {"create", "put", "delete", "rename", "rename_directory"}

    def __init__(self, root: StorePath, interval_s: float) -> None:
        super().__init__(MemoryStore(root), self._limit)
        self._interval_s = interval_s
        self._free_s: dict[StorePath, float] = {}

    async def _limit(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb not in self.CHANGES:
            return await call()
        moment_s = asyncio.get_running_loop().time()
        if moment_s < self._free_s.get(path, 0.0):
            raise StoreError(
                f"{path!r} was written just now",
                reply=Reply.NOT_DONE,
                path=path,
                retry_after_s=self._interval_s,
            )
        answer = await call()
        self._free_s[path] = moment_s + self._interval_s
        return answer


class Unwritable(WrappedStore):
    """A store that may only be read."""

    def __init__(self, root: StorePath) -> None:
        super().__init__(MemoryStore(root), self._read_only)

    async def _read_only(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb in {"create", "put"}:
            raise refuse(path)
        return await call()
