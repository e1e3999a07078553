"""Reads of a store, paced and counted; a read changes nothing, so it is repeated until answered."""

import asyncio
import errno
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from typing import TypeVar

from fsspec_commit.effects.confirm import unclassified
from fsspec_commit.effects.confirmed.counted import Counted
from fsspec_commit.effects.ending import close, ending
from fsspec_commit.errors import (
    CommitError,
    CommitStateUnknownError,
    RecordError,
    Reply,
    StoreError,
)
from fsspec_commit.layout import StorePath
from fsspec_commit.records import RECORD_BYTES_MAX
from fsspec_commit.store import Capabilities, Directory, Entry, Unusable

T = TypeVar("T")

_BREATH = 1_000
"""After this many entries of a listing without a wait, the loop runs other tasks."""
_OF_WHO_ASKS = {errno.EACCES, errno.EPERM, errno.ETIMEDOUT, errno.ECONNABORTED, errno.EHOSTUNREACH}
"""Reasons of a refusal that lie with the caller, or with the connection."""


@contextmanager
def refusals_as_damage() -> Iterator[None]:
    """For reading other people's records: one that the store refuses to return counts as damaged.

    Raises:
        RecordError: The store refuses to return a record.
    """
    try:
        yield
    except (StoreError, CommitStateUnknownError) as error:
        refusal = _refusal_behind(error)
        if refusal is None:
            raise
        message = str(refusal)
        if refusal.errno in _OF_WHO_ASKS:
            message += "; nothing says that it is damaged: ask as somebody who may read it"
        raise RecordError(message, path=refusal.path) from error


def is_of_who_asks(damage: RecordError) -> bool:
    """Whether a record counts as damaged only because the caller may not, or cannot, reach it."""
    refusal = _refusal_behind(damage.__cause__)
    return refusal is not None and refusal.errno in _OF_WHO_ASKS


def _refusal_behind(error: BaseException | None) -> StoreError | None:
    """The refusal that *error* is, or that it was raised for."""
    cause = error.__cause__ if isinstance(error, CommitStateUnknownError) else error
    return cause if isinstance(cause, StoreError) and cause.reply is Reply.REFUSED else None


class StoreReads(Counted):
    """Every read of a store by the committers and the protocol."""

    @property
    def root(self) -> StorePath:
        """The destination as the store names it."""
        return self._store.root

    @property
    def capabilities(self) -> Capabilities:
        """What the store is declared to do."""
        return self._store.capabilities

    async def stat(self, path: StorePath) -> Entry | Directory | None:
        """The file or directory at *path*, if there is one."""
        return await self._ask("op_get_file_status", lambda: self._store.stat(path))

    async def is_known_missing(self, path: StorePath) -> bool:
        """Whether nothing stands at *path*; no, if the store refuses to say."""
        with suppress(StoreError):
            return await self.stat(path) is None
        return False

    async def is_not_found(self, path: StorePath, *, limit_bytes: int) -> bool:
        """Whether a read finds no file at *path*; no, if the store does not say.

        Where there are no directories, :meth:`is_known_missing` would look for one as well.
        """
        with suppress(StoreError):
            return await self.read(path, limit_bytes=limit_bytes) is None
        return False

    async def read(self, path: StorePath, *, limit_bytes: int = RECORD_BYTES_MAX) -> bytes | None:
        """The whole file at *path*, if there is one."""
        content = await self._ask(
            "op_open", lambda: self._store.read(path, limit_bytes=limit_bytes)
        )
        return None if content is None else content.data

    async def read_range(self, path: StorePath, *, start: int, length: int) -> bytes | None:
        """At most *length* bytes from *start*; ``None`` if there is no such file."""
        return await self._ask(
            "op_open", lambda: self._store.read_range(path, start=start, length=length)
        )

    def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        """Every file below the directory *path* except those below *without*, in any order.

        The request is repeated until the listing begins, and not later, when it would repeat files.
        """
        return self._listed("op_list_files", lambda: self._store.list_tree(path, without=without))

    async def children(self, path: StorePath) -> AsyncIterator[Entry | Directory]:
        """What :meth:`list_children` returns, for a directory that may be too long to be held.

        The request is repeated until the listing begins, and not later.

        Raises:
            StoreError: Something there is neither a file nor a directory.
        """
        listing = self._listed("op_list_status", lambda: self._store.list_children(path))
        async with aclosing(listing):
            async for child in listing:
                if isinstance(child, Unusable):
                    raise child.refusal
                yield child

    async def _listed(
        self, name: str, begin: Callable[[], AsyncIterator[T]]
    ) -> AsyncGenerator[T, None]:
        """A listing as it arrives; the loop runs other tasks meanwhile."""

        async def begun() -> tuple[AsyncIterator[T], T | None]:
            listing = begin()
            return listing, await anext(listing, None)

        listing, first = await self._ask(name, begun)
        listed = 1
        try:
            if first is None:
                return
            yield first
            async for entry in listing:
                yield entry
                listed += 1
                if listed % _BREATH == 0:
                    await asyncio.sleep(0)
        except CommitError:
            raise
        except Exception as error:
            raise unclassified(error) from error
        finally:
            await close(listing)

    async def paths_of_few(self, path: StorePath, *, files_max: int) -> list[StorePath] | None:
        """Every file below the directory *path*; ``None`` if there are more than *files_max*.

        Names alone are listed where that is possible: a listing that shows the versions of a bucket
        takes a permission of its own. Then directory markers that somebody made are among them,
        whose names end in a slash.
        """
        paths, is_whole = await self.list_in_order(path, path, path) or ([], False)
        if is_whole or len(paths) >= files_max:
            return paths if is_whole and len(paths) <= files_max else None
        found: list[StorePath] = []
        async with ending(self.list_tree(path)) as listing:
            async for entry in listing:
                if len(found) == files_max:
                    return None
                found.append(entry.path)
        return found

    @property
    def lists_in_order(self) -> bool:
        """Whether :meth:`list_in_order` may have an answer."""
        return self._store.in_order is not None

    async def list_in_order(
        self, path: StorePath, first: StorePath, last: StorePath
    ) -> tuple[list[StorePath], bool] | None:
        """The first files in the directories *first* to *last* of *path*, and whether that is all.

        ``None`` if they cannot be listed in order.
        """
        ability = self._store.in_order
        if ability is None:
            return None
        try:
            return await self._ask(
                "op_list_files", lambda: ability.list_in_order(path, first, last)
            )
        except StoreError as error:
            if error.reply is not Reply.REFUSED:
                raise
            return None

    async def read_or_refusal(
        self, path: StorePath, *, limit_bytes: int
    ) -> bytes | StoreError | None:
        """The whole file at *path*, or why nobody can read it: it is no file, or too long.

        Raises:
            StoreError: The read failed, or is not allowed, which says nothing about the file.
        """
        try:
            return await self.read(path, limit_bytes=limit_bytes)
        except StoreError as error:
            if error.reply is not Reply.REFUSED or error.errno in _OF_WHO_ASKS:
                raise
            return error

    async def bytes_below(self, path: StorePath) -> int:
        """The size of all files below *path* that may be listed."""
        total = 0
        try:
            async for entry in self.list_tree(path):
                total += entry.size_bytes
        except StoreError as error:
            if error.reply is not Reply.REFUSED:
                raise
        return total

    async def list_area(self, path: StorePath) -> list[Entry | Directory | Unusable]:
        """Everything directly in a directory of records, including what is no file or directory.

        Something odd that somebody else has put there must not hide the records.
        """

        async def listing() -> list[Entry | Directory | Unusable]:
            return [child async for child in self._store.list_children(path)]

        return await self._ask("op_list_status", listing)

    @property
    def lists_at_once(self) -> bool:
        """Whether :meth:`list_at_once` may have an answer."""
        return self._store.at_once is not None

    async def list_at_once(self, path: StorePath) -> list[Entry | Directory | Unusable] | None:
        """What :meth:`list_area` returns, as of one moment; ``None`` if that is not certain.

        It is certain only where one answer shows all. A refusal gives ``None``, too: whoever lists
        the directory in another way gets it.
        """
        ability = self._store.at_once
        if ability is None:
            return None
        try:
            return await self._ask("op_list_status", lambda: ability.list_at_once(path))
        except StoreError as error:
            if error.reply is not Reply.REFUSED:
                raise
            return None

    async def list_usable(self, path: StorePath) -> list[Entry | Directory]:
        """Every file and directory that :meth:`list_area` shows."""
        return [one for one in await self.list_area(path) if not isinstance(one, Unusable)]

    async def list_children(self, path: StorePath) -> list[Entry | Directory]:
        """Every file and directory directly in the directory *path*.

        Raises:
            StoreError: Something there is neither a file nor a directory.
        """
        children: list[Entry | Directory] = []
        for child in await self.list_area(path):
            if isinstance(child, Unusable):
                raise child.refusal
            children.append(child)
        return children

    async def list_children_if_allowed(self, path: StorePath) -> list[Entry | Directory] | None:
        """What :meth:`list_children` returns; ``None`` if the store refuses to list *path*."""
        try:
            return await self.list_children(path)
        except StoreError as error:
            if error.reply is not Reply.REFUSED:
                raise
            return None

    async def stands_if_allowed(self, path: StorePath) -> bool | None:
        """Whether anything stands at *path*; ``None`` if the store refuses to say."""
        try:
            return await self.stat(path) is not None
        except StoreError as error:
            if error.reply is not Reply.REFUSED:
                raise
            return None
