"""What a URL means: a bucket, and a directory in it. Read as gcsfs does: nothing is decoded."""

import re

from fsspec_commit_stores.http.places import (
    Place,
    invalid_url,
    refused_url,
    root_of,
    without_scheme,
)

_SCHEME = re.compile(r"gc?s://", re.IGNORECASE)
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")


def place_of(url: str) -> Place:
    """The destination of a ``gs://`` or ``gcs://`` URL.

    Raises:
        RequestError: It names no bucket, or a key that other clients would read as another.
    """
    rest = without_scheme(_SCHEME, url)
    bucket, _, prefix = rest.partition("/")
    if _BUCKET.fullmatch(bucket) is None:
        raise invalid_url(url, f"{url!r} names no bucket: write gs://bucket/directory")
    root = root_of(url, bucket, prefix)
    if "\n" in root or "\r" in root:
        raise refused_url(url, "no name there has a line break")
    return Place(bucket, root)
