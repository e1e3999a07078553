"""A store that takes names of other case, or of another normal form, for one, as some disks do."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Directory, Entry, Store, Unusable
from fsspec_commit_stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


class FoldingStore:
    """The memory store, which finds whatever is called by the name that it was given first."""

    def __init__(self, store: Store) -> None:
        assert isinstance(store, MemoryStore)
        self._store = store
        self.files = _Folding(store.files, self._kept)
        self.directories = _Folding(store.directories, self._kept)
        self.direct = None
        self.at_once = self

    def __getattr__(self, name: str) -> Any:
        """All the rest."""
        found = getattr(self._store, name)
        return _folding(found, self._kept) if name in _VERBS else found

    async def stat(self, path: StorePath) -> Entry | Directory | None:
        """What stands at *path*, by the name that was asked for."""
        found = await self._store.stat(await self._kept(path))
        if isinstance(found, Entry):
            return Entry(path=path, size_bytes=found.size_bytes, token=found.token)
        return None if found is None else Directory(path)

    async def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        """Every file, by the name that is kept."""
        async for entry in self._store.list_tree(await self._kept(path), without=without):
            yield entry

    async def list_children(self, path: StorePath) -> AsyncIterator[Entry | Directory]:
        """What stands in a directory, by the names that are kept."""
        async for child in self._store.list_children(await self._kept(path)):
            yield child

    async def list_at_once(self, path: StorePath) -> list[Entry | Directory | Unusable]:
        """The same, as of one moment."""
        return [child async for child in self.list_children(path)]

    def writer(self, path: StorePath, **how: Any) -> Any:
        """Working files; their directories are new."""
        return self._store.writer(path, **how)

    async def _kept(self, path: StorePath) -> StorePath:
        """*path* as what stands there is called, as far as anything does."""
        kept = self._store.root
        for name in path.removeprefix(kept).split("/")[1:]:
            names = [
                child.path.rpartition("/")[2]
                async for child in self._store.list_children(StorePath(kept))
            ]
            same = (one for one in names if folded(one) == folded(name))
            kept = StorePath(f"{kept}/{next(same, name)}")
        return kept


_VERBS = {"read", "read_range", "put", "delete", "delete_tree"}


class _Folding:
    """Renames of names that are kept."""

    def __init__(self, ability: Any, kept: Callable[[StorePath], Any]) -> None:
        self._ability = ability
        self._kept = kept

    async def rename(self, source: StorePath, target: StorePath, **how: Any) -> None:
        """Of a file."""
        await self._ability.rename(await self._kept(source), await self._kept(target), **how)

    async def rename_directory(self, source: StorePath, target: StorePath, **how: Any) -> None:
        """Of a directory."""
        kept = await self._kept(source), await self._kept(target)
        await self._ability.rename_directory(*kept, **how)


def _folding(verb: Any, kept: Callable[[StorePath], Any]) -> Any:
    async def call(path: StorePath, *args: Any, **how: Any) -> Any:
        return await verb(await kept(path), *args, **how)

    return call


def folded(name: str) -> str:
    """What is the same for all names that are taken for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
