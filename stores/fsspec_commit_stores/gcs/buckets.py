"""What kind of bucket it is, asked where a committer is to be chosen.

This takes one request where the bucket may be looked at. Where it may not, its layout still tells
the kind, but whether anything in it may be deleted cannot be known before it is tried.

https://cloud.google.com/storage/docs/json_api/v1/buckets#resource
https://cloud.google.com/storage/docs/json_api/v1/buckets/getStorageLayout
"""

import logging
from typing import Any, Literal, Required, TypedDict

from fsspec_commit.errors import UnsafeStoreError
from fsspec_commit.store import Capabilities
from fsspec_commit_stores.gcs.answers import is_denied
from fsspec_commit_stores.gcs.requests import Bucket, Given, RequestFailedError
from fsspec_commit_stores.http.requests import raising_store_errors

_FIELDS = "kind,locationType,retentionPolicy,defaultEventBasedHold"
_LAYOUT_FIELDS = "kind,locationType"
_ZONAL = "zone"
_log = logging.getLogger("fsspec_commit")

# Objects in zonal buckets are appended to, through gRPC, and shown while they grow; nothing creates
# one exclusively. https://cloud.google.com/storage/docs/rapid/rapid-bucket
ZONAL_FACTS = {
    "exclusive_create": False,
    "exclusive_rename": False,
    "whole_object_publish": False,
}


class Resource(TypedDict, total=False):
    """What a bucket, or its layout, says of itself."""

    kind: Required[Literal["storage#bucket", "storage#storageLayout"]]
    locationType: str
    retentionPolicy: dict[str, Any]
    defaultEventBasedHold: bool


async def facts_of(bucket: Bucket, facts: Capabilities, url: str) -> Capabilities:
    """Return *facts*, adjusted to the kind of the bucket.

    Raises:
        UnsafeStoreError: Nothing may be deleted there, so no job could be finished or aborted.
        StoreError: The store did not answer.
    """
    found = await _asked(bucket, "buckets.get", "", _FIELDS)
    if found is None:
        found = await _asked(bucket, "buckets.getStorageLayout", "/storageLayout", _LAYOUT_FIELDS)
    if found is None:
        return facts
    kept = _kept(found)
    if kept is not None:
        message = (
            f"cannot commit to {url!r}: the bucket's {kept} forbids deleting what is written, and "
            "a job deletes its own records at its end; use a bucket without one"
        )
        raise UnsafeStoreError(message, kind="retention", path=url)
    is_zonal = found.get("locationType", "").lower() == _ZONAL
    return facts.known("declared", **ZONAL_FACTS) if is_zonal else facts


@raising_store_errors
async def _asked(bucket: Bucket, name: str, below: str, fields: str) -> Resource | None:
    """What the bucket says of itself; ``None`` where it may not be asked.

    Emulators that do not know the question say that there is no such thing.
    """
    path = bucket.path("")
    given = Given(name, "GET", bucket.bucket_target(below, fields=fields))
    try:
        answered = await bucket.request(given, path)
    except RequestFailedError as error:
        if error.answer is None or not (is_denied(error.answer) or (below and error.is_missing)):
            raise
        _log.debug("%s; it is taken for one like most", error.failure)
        return None
    return bucket.decoded(answered, name, path, Resource)


def _kept(found: Resource) -> str | None:
    """What keeps objects of the bucket from being deleted, if anything does."""
    if found.get("retentionPolicy"):
        return "retention policy"
    return "default event-based hold" if found.get("defaultEventBasedHold") else None
