"""Stores that make directories beforehand, one of them as it should be done."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

import fsspec

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit_stores import memory
from fsspec_commit_stores.memory import MemoryStore

if TYPE_CHECKING:
    from fsspec_commit.store import MakesDirectories

plain: Any = fsspec.filesystem("memory")


class _Making:
    async def make_directory(self, path: StorePath, *, within: StorePath) -> None:
        if plain.isfile(path):
            raise StoreError(f"{path!r} is a file", reply=Reply.REFUSED)
        if path not in plain.pseudo_dirs:
            memory._make_way(StorePath(f"{path}/any"), within)


class Makes(MemoryStore):
    """Honest: makes directories beforehand."""

    directory_creation: MakesDirectories | None = _Making()  # type: ignore[assignment]  # memory has none


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
