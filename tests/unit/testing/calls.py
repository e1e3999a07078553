"""Calls of a store in memory, and what plain fsspec then finds there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import fsspec

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from fsspec_commit.store import Store
    from fsspec_commit_stores.memory import MemoryStore


def run(body: Coroutine[Any, Any, object]) -> None:
    with asyncio.Runner() as runner:
        runner.run(body)


def at(store: Store, name: str) -> StorePath:
    return StorePath(f"{store.root}/{name}")


async def create(store: Store, name: str, data: bytes = b"1") -> None:
    await store.put(at(store, name), data, expecting=Expect.ABSENT, within=None)


def names(store: MemoryStore) -> list[str]:
    found: list[str] = fsspec.filesystem("memory").find(store.root)
    return [name[len(store.root) + 1 :] for name in found]
