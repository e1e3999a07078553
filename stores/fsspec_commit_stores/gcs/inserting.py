"""Small objects, written whole by one request."""

from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expectation, Token
from fsspec_commit_stores.gcs.objects import condition_of, metadata_of, multipart, token_of
from fsspec_commit_stores.gcs.requests import Answered, Bucket, Given

_NAME = "objects.insert"


async def insert(
    bucket: Bucket,
    path: StorePath,
    data: bytes,
    *,
    expecting: Expectation,
    nonce: Nonce | None,
) -> Token:
    """Write *data*, atomically on condition of *expecting*.

    https://cloud.google.com/storage/docs/json_api/v1/objects/insert

    Raises:
        RequestFailedError: It was not written, or it is not known.
        StoreError: The answer does not say what was written.
    """
    content_type, body = multipart(metadata_of(nonce), data)
    target = bucket.upload_target(
        path, uploadType="multipart", **condition_of(expecting), fields="generation,size"
    )
    given = Given(_NAME, "POST", target, {"Content-Type": content_type}, body)
    return written(bucket, path, await bucket.request(given, path), len(data))


def written(bucket: Bucket, path: StorePath, answered: Answered, size_bytes: int) -> Token:
    """The token of what a request has just written.

    Raises:
        StoreError: The answer does not name it, or speaks of another length.
    """
    resource = bucket.decoded(answered, _NAME, path)
    token = token_of(resource)
    if token is None:
        raise bucket.doubt(_NAME, path, "the store answered without a generation")
    if str(resource.get("size", size_bytes)) != str(size_bytes):
        raise bucket.doubt(_NAME, path, "the store wrote another length than was sent")
    return token
