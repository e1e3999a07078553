"""Stores whose listings lie, each in one way, to show that the contract finds it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsspec_commit.layout import StorePath
from fsspec_commit_stores.memory import CAPABILITIES, MemoryStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fsspec_commit.store import Directory, Entry


class ListsByPrefix(MemoryStore):
    """The same for listings."""

    async def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        async for entry in super().list_tree(self.root, without=without):
            if entry.path.startswith(path):
                yield entry


class ListsFromACache(MemoryStore):
    """As fsspec's listings cache does."""

    def __init__(self, root: StorePath) -> None:
        super().__init__(root)
        self.cache: dict[str, list[Entry]] = {}

    async def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        if path not in self.cache:
            self.cache[path] = [e async for e in super().list_tree(path, without=without)]
        for entry in self.cache[path]:
            yield entry


class TellsNoPagesApart(MemoryStore):
    """A page shows what is there by then, and not that it is another one."""

    capabilities = replace(CAPABILITIES, paged_listing=True)

    async def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        last = StorePath("")
        while page := [e async for e in super().list_tree(path, without=without) if e.path > last]:
            for entry in sorted(page, key=lambda one: one.path)[:100]:
                yield entry
                last = entry.path


class CutsListings(MemoryStore):
    """Forgets the second page."""

    async def list_children(self, path: StorePath) -> AsyncIterator[Entry | Directory]:
        number = 0
        async for child in super().list_children(path):
            number += 1
            if number <= 100:
                yield child
