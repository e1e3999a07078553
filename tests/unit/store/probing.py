"""A store of any honesty, probed, and where it does not do what it declares."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import uuid4

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import IdSource
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.store.capabilities import differences
from fsspec_commit.store.probe import probe
from fsspec_commit.testing.wrapped import WrappedStore
from fsspec_commit_stores.memory import MemoryStore

if TYPE_CHECKING:
    from fsspec_commit.store import Capabilities, Store

IDS = IdSource(random.Random(20), lambda: datetime(2026, 11, 20, 14, 3, 55, tzinfo=UTC))


def root() -> StorePath:
    return StorePath(f"/probe-{uuid4().hex}/out")


def probed(store: Store, *, long: bool = False) -> Capabilities:
    """What a probe sees; it leaves nothing in its directory."""

    async def run() -> Capabilities:
        scratch = DestinationLayout(store.root).probe(IDS.nonce())
        try:
            return (await probe(store, scratch, IDS, long=long)).capabilities
        finally:
            assert await leftovers(store, scratch) == []

    return asyncio.run(run())


async def leftovers(store: Store, scratch: StorePath) -> list[StorePath]:
    """What stands in *scratch*, past every lie and every record of a call."""
    while isinstance(store, WrappedStore):
        store = store.store
    honest = MemoryStore(store.root) if isinstance(store, MemoryStore) else store
    return [entry.path async for entry in honest.list_tree(scratch)]


def found(store: Store, *, long: bool = False) -> set[str]:
    lines = differences(store.capabilities, probed(store, long=long))
    return {line.partition(":")[0] for line in lines}


def refuse(path: str) -> StoreError:
    return StoreError(f"{path!r} stands there", reply=Reply.REFUSED, path=path)
