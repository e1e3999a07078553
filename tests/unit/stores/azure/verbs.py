"""Every verb of the store, as a test calls it, and what a message about it must say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import pytest

from fsspec_commit.errors import StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, Part, PendingUpload, Token
from fsspec_commit_stores.azure import AzureStore
from tests.unit.stores.s3.responder import Answer

PATH = StorePath("bucket/out/a b")
OTHER = StorePath("bucket/out/other")
ROOT = StorePath("bucket/out")
NONCE = Nonce("0" * 32)
UPLOAD = PendingUpload(path=PATH, upload_id=NONCE, nonce=NONCE, parts=(Part(1, Token("aWQ="), 3),))
EMPTY = PendingUpload(path=PATH, upload_id=NONCE, nonce=NONCE, parts=(Part(1, Token("aWQ="), 0),))
Verb: TypeAlias = Callable[[AzureStore], Awaitable[Any]]


MARK = {"x-ms-request-id": "0ff1ce00-0000-0000-0000-000000000000"}
"""What every answer of Azure carries, and nobody else's."""


def said(status: int, code: str, headers: Mapping[str, str] | None = None) -> Answer:
    """An error as Azure says it."""
    return Answer(status, b"", {**MARK, "x-ms-error-code": code, **(headers or {})})


def told(
    status: int, body: bytes = b"", headers: Mapping[str, str] | None = None, **more: int
) -> Answer:
    """Any other answer of Azure."""
    return Answer(status, body, {**MARK, **(headers or {})}, **more)


async def all_of(listing: Any) -> list[Any]:
    return [one async for one in listing]


def uploads(store: AzureStore) -> Any:
    assert store.uploads is not None
    return store.uploads


async def rename(store: AzureStore) -> None:
    assert store.files is not None
    await store.files.rename(OTHER, PATH, token=Token("e1"), expecting=Expect.ABSENT, within=ROOT)


async def rename_directory(store: AzureStore) -> None:
    assert store.directories is not None
    await store.directories.rename_directory(OTHER, PATH, within=ROOT)


CHANGES: dict[str, tuple[Verb, str, str]] = {
    "put": (
        lambda s: s.put(PATH, b"1", expecting=Expect.ABSENT, within=None),
        "write",
        "blobs/write",
    ),
    "delete": (lambda s: s.delete(PATH, expecting=Token("e1")), "delete", "blobs/delete"),
}
OF_GEN2: dict[str, tuple[Verb, str, str]] = {
    "rename": (rename, "rename", "blobs/move/action"),
    "delete tree": (lambda s: s.delete_tree(PATH), "delete all below", "blobs/delete"),
}
OF_FLAT: dict[str, tuple[Verb, str, str]] = {
    "part": (lambda s: uploads(s).put_part(UPLOAD, 1, b"1"), "upload a part of", "blobs/write"),
    "complete": (
        lambda s: uploads(s).complete(UPLOAD, expecting=Expect.ABSENT),
        "complete the upload of",
        "blobs/write",
    ),
    "complete nothing": (
        lambda s: uploads(s).complete(EMPTY, expecting=Expect.ABSENT),
        "look at the upload of",
        "blobs/read",
    ),
}
QUESTIONS: dict[str, tuple[Verb, str, str]] = {
    "stat": (lambda s: s.stat(PATH), "look at", "blobs/read"),
    "read": (lambda s: s.read(PATH, limit_bytes=9), "read", "blobs/read"),
    "range": (lambda s: s.read_range(PATH, start=0, length=9), "read", "blobs/read"),
    "tree": (lambda s: all_of(s.list_tree(PATH)), "list", "blobs/read"),
    "children": (lambda s: all_of(s.list_children(PATH)), "list", "blobs/read"),
}
GEN2 = {**CHANGES, **OF_GEN2, **QUESTIONS}
FLAT = {**CHANGES, **OF_FLAT, **QUESTIONS}
VERBS = [
    *((True, name, verb) for name, verb in GEN2.items()),
    *((False, name, verb) for name, verb in FLAT.items()),
]
every_verb = pytest.mark.parametrize(
    ("is_hierarchical", "verb"),
    [
        pytest.param(kind, verb, id=f"{'gen2' if kind else 'flat'}-{name}")
        for kind, name, verb in VERBS
    ],
)


async def failure_of(call: Awaitable[Any]) -> StoreError:
    with pytest.raises(StoreError) as caught:
        await call
    return caught.value
