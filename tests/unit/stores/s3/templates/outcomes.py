"""What becomes of the frequent requests, as all that anybody is told of it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from fsspec_commit.errors import StoreError
from fsspec_commit.store import Expect, Token
from fsspec_commit_stores.s3 import S3Store
from fsspec_commit_stores.s3.contents import NONCE_NAME
from tests.unit.stores.responder import Answer
from tests.unit.stores.s3.answers import MARK, tag
from tests.unit.stores.s3.verbs import UPLOAD
from tests.unit.stores.verbs import NONCE, PATH, uploads

ADDRESS = re.compile(" at 0x[0-9a-f]+")
"""Of an object in this process."""
NAMESPACE = ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
ETAG = {"ETag": '"e1"', **MARK}

STANDING = {
    **ETAG,
    f"x-amz-meta-{NONCE_NAME}": NONCE,
    "Last-Modified": "Tue, 24 Nov 2026 14:00:00 GMT",
    "x-amz-checksum-crc32": "/sUwqQ==",
}
"""What is said of a file that stands there."""


@dataclass(frozen=True)
class Frequent:
    """One of the requests.

    Attributes:
        call: Asks for it.
        success: What S3 answers.
    """

    call: Callable[[S3Store], Awaitable[Any]]
    success: Answer


def document(root: str, *fields: str) -> Answer:
    return Answer(200, f"<{root}{NAMESPACE}>{''.join(fields)}</{root}>".encode(), MARK)


FREQUENT = {
    "put": Frequent(
        lambda s: s.put(PATH, b"1", expecting=Expect.ABSENT, within=None, nonce=NONCE),
        Answer(200, headers={**ETAG, "x-amz-version-id": "v1"}),
    ),
    "start": Frequent(
        lambda s: uploads(s).start(PATH, NONCE),
        document("InitiateMultipartUploadResult", tag("UploadId", "u1")),
    ),
    "part": Frequent(
        lambda s: uploads(s).put_part(UPLOAD, 1, b"12"),
        Answer(200, headers={**ETAG, "x-amz-checksum-crc32": "AAAAAA=="}),
    ),
    "complete": Frequent(
        lambda s: uploads(s).finish(UPLOAD, expecting=Expect.ABSENT),
        document("CompleteMultipartUploadResult", "<ETag>&quot;e1-1&quot;</ETag>"),
    ),
    "delete": Frequent(lambda s: s.delete(PATH, expecting=Token("e1")), Answer(204, headers=MARK)),
    "look": Frequent(lambda s: s.stat(PATH), Answer(200, headers=STANDING)),
    "read": Frequent(
        lambda s: s.read(PATH, limit_bytes=9), Answer(200, b"content", headers=STANDING)
    ),
}


async def call(frequent: Frequent, store: S3Store) -> Any:
    return await frequent.call(store)


async def outcome_of(call: Awaitable[Any]) -> str:
    """All that a caller, and a user, is told."""
    try:
        return ADDRESS.sub("", f"{await call!r}")
    except StoreError as error:
        cause = error.__cause__ or error.__context__
        number = (error.errno, error.retry_after_s, error.can_go_on)
        return f"{error.reply} {type(error).__name__} {number} {cause!r}: {error}"
