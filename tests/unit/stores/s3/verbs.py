"""Every verb of the store, as a test calls it, and what a message about it must say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from fsspec_commit.errors import StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, Part, PendingUpload, Token
from fsspec_commit_stores.s3 import S3Store
from tests.unit.stores.s3.responder import Answer, Received, xml

PATH = StorePath("bucket/out/a b")
NONCE = Nonce("0" * 32)
UPLOAD = PendingUpload(
    path=PATH, upload_id="u1", nonce=NONCE, parts=(Part(1, Token("e1;CRC32=AAAAAA=="), 3),)
)
Verb: TypeAlias = Callable[[S3Store], Awaitable[Any]]


async def all_of(listing: Any) -> list[Any]:
    return [one async for one in listing]


def uploads(store: S3Store) -> Any:
    assert store.uploads is not None
    return store.uploads


CHANGES: dict[str, tuple[Verb, str, str]] = {
    "put": (
        lambda s: s.put(PATH, b"1", expecting=Expect.ABSENT, within=None),
        "write",
        "PutObject",
    ),
    "delete": (lambda s: s.delete(PATH, expecting=Token("e1")), "delete", "DeleteObject"),
    "start": (lambda s: uploads(s).start(PATH, NONCE), "begin an upload of", "PutObject"),
    "part": (lambda s: uploads(s).put_part(UPLOAD, 1, b"1"), "upload a part of", "PutObject"),
    "complete": (
        lambda s: uploads(s).complete(UPLOAD, expecting=Expect.ABSENT),
        "complete the upload of",
        "PutObject",
    ),
    "abort": (lambda s: uploads(s).abort(UPLOAD), "abort the upload of", "AbortMultipartUpload"),
}
QUESTIONS: dict[str, tuple[Verb, str, str]] = {
    "read": (lambda s: s.read(PATH, limit_bytes=9), "read", "GetObject"),
    "range": (lambda s: s.read_range(PATH, start=0, length=9), "read", "GetObject"),
    "tree": (lambda s: all_of(s.list_tree(PATH)), "list", "ListBucket"),
    "children": (lambda s: all_of(s.list_children(PATH)), "list", "ListBucket"),
    "delete tree": (lambda s: s.delete_tree(PATH), "list", "ListBucket"),
    "pending": (
        lambda s: all_of(uploads(s).pending(PATH)),
        "list the uploads below",
        "ListBucketMultipartUploads",
    ),
}
VERBS = {**CHANGES, **QUESTIONS}


def versioning_or(answer: Answer) -> Callable[[Received], Answer]:
    """A bucket without versions, and *answer* to all but that question."""
    return lambda request: (
        xml("VersioningConfiguration") if "versioning" in request.query else answer
    )


async def failure_of(call: Awaitable[Any]) -> StoreError:
    with pytest.raises(StoreError) as caught:
        await call
    return caught.value
