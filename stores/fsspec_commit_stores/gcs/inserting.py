"""Small objects, written whole by one request."""

from collections.abc import Mapping
from typing import Any

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expectation, Token
from fsspec_commit_stores.gcs.checksums import CHECKSUM, checksum_of
from fsspec_commit_stores.gcs.contents import Resource, condition_of, multipart, token_of
from fsspec_commit_stores.gcs.requests import Bucket, Given
from fsspec_commit_stores.http.pieces import Pieces

_NAME = "objects.insert"
WRITTEN_FIELDS = f"generation,size,{CHECKSUM}"
"""The fields that are asked for of an object that was just written: see `written`."""


async def insert(
    bucket: Bucket,
    path: StorePath,
    data: bytes | Pieces,
    *,
    resource: Mapping[str, Any],
    expecting: Expectation,
) -> Token:
    """Write *data* as *resource* describes it, atomically on condition of *expecting*.

    With its checksum, so that the service stores nothing that was changed on its way.

    https://cloud.google.com/storage/docs/json_api/v1/objects/insert

    Raises:
        RequestFailedError: It was not written, or it is not known.
        StoreError: The answer does not say what was written.
    """
    checksum = checksum_of(data)
    content_type, body = multipart({**resource, CHECKSUM: checksum}, data)
    target = bucket.upload_target(
        path, uploadType="multipart", **condition_of(expecting), fields=WRITTEN_FIELDS
    )
    given = Given(_NAME, "POST", target, {"Content-Type": content_type}, body)
    answered = await bucket.request(given, path)
    found = bucket.decoded(answered, _NAME, path, Resource)
    token = written(bucket, path, found, len(data))
    if not is_intact(found, checksum):
        raise bucket.doubt(_NAME, path, "the store wrote another content than was sent")
    return token


def written(bucket: Bucket, path: StorePath, found: Resource, size_bytes: int) -> Token:
    """The token of what a request has just written.

    Raises:
        StoreError: The answer does not name it, or speaks of another length.
    """
    token = token_of(found)
    if token is None:
        raise bucket.doubt(_NAME, path, "the store answered without a generation")
    if found.get("size", str(size_bytes)) != str(size_bytes):
        raise bucket.doubt(_NAME, path, "the store wrote another length than was sent")
    return token


def is_intact(found: Resource, checksum: str) -> bool:
    """Whether the store keeps what was sent, as far as it says which content it keeps."""
    return found.get(CHECKSUM, checksum) == checksum
