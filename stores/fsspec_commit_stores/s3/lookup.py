"""What a server shows of a file, believed only where it is the server's own word.

A login page says 200, with an etag of its own, to whoever looks at a file or reads it. S3 marks its
answers. Of a server that marks nothing, the nonce beside a content of ours tells it, and of any
other content a listing, whose form no page has.
"""

from collections.abc import Mapping
from typing import Any

from fsspec_commit.errors import Reply
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.s3.contents import etag_of, nonce_of
from fsspec_commit_stores.s3.provenance import headers_of, is_marked
from fsspec_commit_stores.s3.requests import Bucket


async def check_shown(
    bucket: Bucket, method: str, path: StorePath, answer: Mapping[str, Any]
) -> None:
    """See that *answer* is of the file at *path*.

    Args:
        bucket: Where it is.
        method: What was asked.
        path: Of which file.
        answer: What was answered; its body has been read, or closed.

    Raises:
        StoreError: It may be somebody else's, or it was replaced between the two looks
            (`Reply.NOT_DONE`: ask again).
    """
    if is_marked(headers_of(answer)) or nonce_of(answer) is not None:
        return
    if await _listed_etag(bucket, path) == _strong(etag_of(answer)):
        return
    why = (
        "it was answered without S3's mark, as by a proxy or a login page, and another file is "
        "listed, or none; check endpoint_url= and the proxy"
    )
    raise bucket.failure(method, path, why, Reply.NOT_DONE)


async def _listed_etag(bucket: Bucket, path: StorePath) -> str | None:
    """Of all keys that begin with a name, the name itself comes first."""
    key = bucket.key(path)
    page = await bucket.send("list_objects_v2", path, Prefix=key, MaxKeys=1)
    for listed in page.get("Contents") or ():
        if listed["Key"] == key:
            return _strong(etag_of(listed))
    return None


def _strong(etag: str) -> str:
    """Without what a proxy that compresses puts before it."""
    return etag.removeprefix("W/").strip('"')
