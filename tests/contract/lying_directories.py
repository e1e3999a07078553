"""Stores that make directories, and remove empty ones; one of them as it should be done."""

from __future__ import annotations

import asyncio
import errno
from threading import Lock
from typing import TYPE_CHECKING, Any

import fsspec

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.memory import MemoryStore, tree

if TYPE_CHECKING:
    from fsspec_commit.store import MakesDirectories, RemovesEmptyDirectories

plain: Any = fsspec.filesystem("memory")


class _Making:
    async def make_directory(self, path: StorePath, *, within: StorePath) -> None:
        if plain.isfile(path):
            raise StoreError(f"{path!r} is a file", reply=Reply.REFUSED)
        if path not in plain.pseudo_dirs:
            tree.make_way(StorePath(f"{path}/any"), within)


class _Removing:
    are_made_by_writes = False

    async def remove_empty_directory(self, path: StorePath) -> None:
        with tree.LOCK:
            self._check(path)
            tree.remove_directories(filter(None, tree.directories_at(path)))

    def _check(self, path: StorePath) -> None:
        if path in tree.files():
            raise StoreError(f"{path!r} is a file", reply=Reply.REFUSED)
        if len(tree.directories_at(path)) > 1 or any(tree.below(path)):
            error = StoreError(f"{path!r} is not empty", reply=Reply.REFUSED)
            error.errno = errno.ENOTEMPTY
            raise error


# Memory has neither.
class Makes(MemoryStore):
    """Honest: makes directories beforehand, and removes empty ones."""

    directory_creation: MakesDirectories | None = _Making()  # type: ignore[assignment]
    empty_directories: RemovesEmptyDirectories | None = _Removing()  # type: ignore[assignment]


class _RemovingAll(_Removing):
    def _check(self, path: StorePath) -> None:
        for file, _ in list(tree.below(path)):
            del tree.files()[file]


class RemovesAll(Makes):
    """Removes a directory with what is in it."""

    empty_directories = _RemovingAll()


class _LookingBefore(_RemovingAll):
    async def remove_empty_directory(self, path: StorePath) -> None:
        super(_RemovingAll, self)._check(path)
        await asyncio.sleep(0.01)
        await super().remove_empty_directory(path)


class LooksBeforeItRemoves(Makes):
    """Looks whether it is empty, and removes it then with what has come meanwhile."""

    empty_directories = _LookingBefore()


class _MakingOver(_Making):
    async def make_directory(self, path: StorePath, *, within: StorePath) -> None:
        plain.store.pop(path, None)
        await super().make_directory(path, within=within)


class MakesOver(Makes):
    """Takes a file away that is where a directory is to be."""

    directory_creation = _MakingOver()


class _MakingAnew(_Making):
    async def make_directory(self, path: StorePath, *, within: StorePath) -> None:
        if plain.isdir(path):
            plain.rm(path, recursive=True)
        await super().make_directory(path, within=within)


class MakesAnew(Makes):
    """Empties a directory that is there."""

    directory_creation = _MakingAnew()


class _MakingOnce(_Making):
    # Else all of those who come at one moment may look before the first one makes it.
    _one_at_a_time = Lock()

    async def make_directory(self, path: StorePath, *, within: StorePath) -> None:
        with self._one_at_a_time:
            if plain.isdir(path):
                raise StoreError(f"{path!r} exists", reply=Reply.REFUSED)
            await super().make_directory(path, within=within)


class MakesOnce(Makes):
    """Refuses what another has just made."""

    directory_creation = _MakingOnce()


class _MakingNone(_Making):
    async def make_directory(self, path: StorePath, *, within: StorePath) -> None:
        pass


class MakesNone(Makes):
    """Leaves it to the files, as object stores would."""

    directory_creation = _MakingNone()
