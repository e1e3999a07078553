"""The verbs of the local adapter, each made and awaited on the spot."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Durability, Expect, OpenOptions, Token
from fsspec_commit_stores.local import LocalStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine
    from pathlib import Path

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


def collected(listing: AsyncIterator[T]) -> list[T]:
    async def collect() -> list[T]:
        return [found async for found in listing]

    return run(collect())


def opened(root: Path, durability: Durability = "none") -> LocalStore:
    return run(LocalStore.open(str(root), OpenOptions(durability=durability)))


def put(
    store: LocalStore,
    path: StorePath,
    data: bytes = b"1",
    expecting: Expect | Token = Expect.ABSENT,
    within: StorePath | None = None,
) -> Token:
    return run(store.put(path, data, expecting=expecting, within=within))


def rename(
    store: LocalStore,
    source: str,
    target: str,
    expecting: Expect | Token = Expect.ABSENT,
    within: str = "",
) -> None:
    run(
        store.files.rename(
            StorePath(f"{store.root}/{source}"),
            StorePath(f"{store.root}/{target}"),
            token=None,
            expecting=expecting,
            within=StorePath(f"{store.root}/{within}") if within else store.root,
        )
    )


def rename_directory(store: LocalStore, source: str, target: str, within: str = "") -> None:
    run(
        store.directories.rename_directory(
            StorePath(f"{store.root}/{source}"),
            StorePath(f"{store.root}/{target}"),
            within=StorePath(f"{store.root}/{within}") if within else store.root,
        )
    )
