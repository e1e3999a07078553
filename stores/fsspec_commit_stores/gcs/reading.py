"""The bytes of an object, believed only where the answer says which content they are of.

https://cloud.google.com/storage/docs/json_api/v1/objects/get
"""

from collections.abc import Mapping
from http import HTTPStatus

from fsspec_commit.errors import StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Content, Entry, Token
from fsspec_commit_stores.gcs.contents import token_of
from fsspec_commit_stores.gcs.lookup import look_at_file
from fsspec_commit_stores.gcs.provenance import GENERATION
from fsspec_commit_stores.gcs.requests import Answered, Bucket, Given, RequestFailedError
from fsspec_commit_stores.http.answers import ANOTHER_PART, FRAMING, UNMEASURED, is_span
from fsspec_commit_stores.http.requests import raising_store_errors

_NAME = "objects.get media"


@raising_store_errors
async def read_whole(bucket: Bucket, path: StorePath, *, limit_bytes: int) -> Content | None:
    """The whole file at *path*; ``None`` where there is none.

    Raises:
        StoreError: It is longer than the limit, or the answer is not known to be its content.
    """
    given = _given(bucket, path, limit_bytes=limit_bytes)
    try:
        answered = await bucket.request(given, path)
    except RequestFailedError as error:
        if await _is_missing(bucket, path, error):
            return None
        raise
    token = _token(bucket, answered, path)
    _check_whole(bucket, answered, path)
    return Content(Entry(path=path, size_bytes=len(answered.body), token=token), answered.body)


@raising_store_errors
async def read_part(bucket: Bucket, path: StorePath, *, start: int, length: int) -> bytes | None:
    """*length* bytes from *start*, fewer only at the end of the file; ``None`` without a file.

    Raises:
        StoreError: The answer is not known to be its content.
    """
    headers = {"Range": f"bytes={start}-{start + length - 1}"}
    done = (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT)
    try:
        answered = await bucket.request(_given(bucket, path, headers=headers, done=done), path)
    except RequestFailedError as error:
        if error.is_past_the_end:
            return b""
        if await _is_missing(bucket, path, error):
            return None
        raise
    _token(bucket, answered, path)
    if answered.status == HTTPStatus.OK:  # a server that ignores ranges
        _check_whole(bucket, answered, path)
        return answered.body[start : start + length]
    shown, size_bytes = answered.headers.get("content-range", ""), len(answered.body)
    if not is_span(shown, size_bytes, start=start, length=length):
        raise bucket.doubt(_NAME, path, ANOTHER_PART)
    return answered.body


def _given(
    bucket: Bucket,
    path: StorePath,
    *,
    headers: Mapping[str, str] | None = None,
    done: tuple[int, ...] = (HTTPStatus.OK,),
    limit_bytes: int | None = None,
) -> Given:
    target = bucket.object_target(path, alt="media")
    return Given(_NAME, "GET", target, headers or {}, done=done, limit_bytes=limit_bytes)


async def _is_missing(bucket: Bucket, path: StorePath, failed: RequestFailedError) -> bool:
    """Whether there is no such file; a 404 that may not be the store's own is verified.

    The 404 of a request for bytes is plain text, from some servers without an id; the 404 of a
    request for metadata is a document, and says who sent it.
    """
    if failed.is_missing:
        return True
    try:
        return failed.is_somebody_elses_404 and await look_at_file(bucket, path) is None
    except StoreError:
        return False


def _check_whole(bucket: Bucket, answered: Answered, path: StorePath) -> None:
    """Check that something says where the body ends, other than the end of the connection.

    Raises:
        StoreError: Nothing does: whoever ended the connection may have cut the body off.
    """
    if answered.headers.keys().isdisjoint(FRAMING):
        stored = answered.headers.get("x-goog-stored-content-length")
        if stored != str(len(answered.body)):
            raise bucket.doubt(_NAME, path, UNMEASURED)


def _token(bucket: Bucket, answered: Answered, path: StorePath) -> Token:
    """Which content the bytes are of.

    Raises:
        StoreError: The answer does not say: it may be anything, such as somebody's page.
    """
    token = token_of({"generation": answered.headers.get(GENERATION, "")})
    if token is None:
        raise bucket.doubt(_NAME, path, "the store does not say which content it is")
    return token
