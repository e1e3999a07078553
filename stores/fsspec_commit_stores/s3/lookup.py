"""What a server shows of a file, believed only where it is the server's own word.

A login page says 200, with an etag of its own, to whoever looks at a file or reads it. S3 marks its
answers. Where a server marks nothing, the nonce beside a content of ours shows that the answer is
its own, and for any other content a listing does, whose form no login page has.
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
        StoreError: The answer may be somebody else's, or the file was replaced between two looks
            (`Reply.NOT_DONE`: ask again).
    """
    if is_marked(headers_of(answer)) or nonce_of(answer) is not None:
        return
    if _is_of(await _listed(bucket, path), answer):
        return
    why = (
        "it was answered without S3's mark, as by a proxy or a login page, and another file is "
        "listed, or none; check endpoint_url= and the proxy"
    )
    raise bucket.failure(method, path, why, Reply.NOT_DONE)


async def _listed(bucket: Bucket, path: StorePath) -> Mapping[str, Any] | None:
    """The file *path* as it is listed: of all keys that begin with a name, the name comes first."""
    key = bucket.key(path)
    page = await bucket.send("list_objects_v2", path, Prefix=key, MaxKeys=1)
    contents: list[Mapping[str, Any]] = page.get("Contents") or []
    return next((listed for listed in contents if listed.get("Key") == key), None)


def _is_of(listed: Mapping[str, Any] | None, answer: Mapping[str, Any]) -> bool:
    """Whether *answer* is of the *listed* file: by its etag, or its size if no etag is listed."""
    if listed is None:
        return False
    if etag_of(listed):
        return _strong(etag_of(listed)) == _strong(etag_of(answer))
    return "Size" in listed and listed["Size"] == answer.get("ContentLength")


def _strong(etag: str) -> str:
    """*etag* without what a compressing proxy puts before it."""
    return etag.removeprefix("W/").strip('"')
