"""A look at one object: the resource that the service shows of it."""

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry
from fsspec_commit_stores.gcs.contents import Resource, entry_of
from fsspec_commit_stores.gcs.requests import Bucket, Given
from fsspec_commit_stores.http.requests import raising_store_errors, unless_missing

_NAME = "objects.get"
_ENTRY_FIELDS = "generation,size,metadata"


@raising_store_errors
async def look(bucket: Bucket, path: StorePath, fields: str) -> Resource | None:
    """The *fields* of the object at *path*; ``None`` when the service says that there is none.

    Raises:
        StoreError: The store did not answer, or does not let us look.
    """
    target = bucket.object_target(path, fields=fields)
    answered = await unless_missing(bucket.request(Given(_NAME, "GET", target), path))
    return None if answered is None else bucket.decoded(answered, _NAME, path, Resource)


async def look_at_file(bucket: Bucket, path: StorePath) -> Entry | None:
    """The file at *path*; ``None`` when the service says that there is none.

    Raises:
        StoreError: The store did not answer, does not let us look, or does not say what it is.
    """
    found = await look(bucket, path, _ENTRY_FIELDS)
    entry = None if found is None else entry_of(path, found)
    if entry is None and found is not None:
        why = "the store does not say which content it is, or how long"
        raise bucket.doubt(_NAME, path, why)
    return entry
