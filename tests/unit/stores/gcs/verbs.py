"""Every verb of the store, as a test calls it, and what a message about it must say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias

import pytest

from fsspec_commit.errors import StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, RenamesFiles, Token
from fsspec_commit_stores.gcs import GcsStore

PATH = StorePath("bucket/out/a b")
TARGET = StorePath("bucket/out/c")
ROOT = StorePath("bucket/out")
NONCE = Nonce("0" * 32)
CHUNK_BYTES = 8 << 20
Verb: TypeAlias = Callable[[GcsStore], Coroutine[Any, Any, Any]]


async def all_of(listing: Any) -> list[Any]:
    return [one async for one in listing]


def files(store: GcsStore) -> RenamesFiles:
    assert store.files is not None
    return store.files


async def write(store: GcsStore, *pieces: bytes) -> Any:
    writer = store.writer(PATH, within=ROOT, nonce=NONCE)
    try:
        for piece in pieces:
            await writer.write(piece)
        return await writer.finish()
    finally:
        await writer.discard()


async def begin(store: GcsStore) -> None:
    await write(store, bytes(CHUNK_BYTES + 1))


CHANGES: dict[str, tuple[Verb, str, str]] = {
    "put": (
        lambda s: s.put(PATH, b"1", expecting=Expect.ABSENT, within=None),
        "write",
        "storage.objects.create",
    ),
    "write": (lambda s: write(s, b"1"), "write", "storage.objects.create"),
    "begin": (begin, "write", "storage.objects.create"),
    "delete": (
        lambda s: s.delete(PATH, expecting=Token("7")),
        "delete",
        "storage.objects.delete",
    ),
    "rename": (
        lambda s: files(s).rename(
            PATH, TARGET, token=Token("7"), expecting=Expect.ABSENT, within=ROOT
        ),
        "rename",
        "storage.objects.move",
    ),
}
QUESTIONS: dict[str, tuple[Verb, str, str]] = {
    "stat": (lambda s: s.stat(PATH), "look at", "storage.objects.get"),
    "read": (lambda s: s.read(PATH, limit_bytes=9), "read", "storage.objects.get"),
    "range": (lambda s: s.read_range(PATH, start=0, length=9), "read", "storage.objects.get"),
    "tree": (lambda s: all_of(s.list_tree(PATH)), "list", "storage.objects.list"),
    "children": (lambda s: all_of(s.list_children(PATH)), "list", "storage.objects.list"),
    "delete tree": (lambda s: s.delete_tree(PATH), "list", "storage.objects.list"),
}
VERBS = {**CHANGES, **QUESTIONS}


async def failure_of(call: Awaitable[Any]) -> StoreError:
    with pytest.raises(StoreError) as caught:
        await call
    return caught.value
