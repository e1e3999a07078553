"""What a URL means: a bucket, and a directory in it. Read as s3fs does: nothing is decoded."""

import re

from fsspec_commit_stores.http.places import (
    Place,
    invalid_url,
    refused_url,
    root_of,
    without_scheme,
)
from fsspec_commit_stores.s3.provenance import is_aws

_SCHEME = re.compile(r"s3a?://", re.IGNORECASE)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
_DIRECTORY_BUCKETS = ("--x-s3", "--xa-s3")
# Aliases at AWS's hosts behind which there is another store: an Outpost, a file system of FSx, a
# function that rewrites what is read, a table.
_OTHER_STORES = ("--op-s3", "-ext-s3alias", "--ol-s3", "--table-s3")


def place_of(url: str) -> Place:
    """The destination of an ``s3://`` or ``s3a://`` URL.

    Raises:
        RequestError: It names no bucket, or a key that other clients would read as another.
    """
    rest = without_scheme(_SCHEME, url)
    if rest.startswith("arn:"):
        why = "give the access point by its alias (s3://<name>-…-s3alias/…), which is used like a "
        raise refused_url(url, f"{why}bucket name")
    bucket, _, prefix = rest.partition("/")
    if _BUCKET.fullmatch(bucket) is None:
        raise invalid_url(url, f"{url!r} names no bucket: write s3://bucket/directory")
    if "?versionId=" in prefix:
        raise refused_url(url, "it names one version of an object, not a directory")
    return Place(bucket, root_of(url, bucket, prefix))


def is_directory_bucket(bucket: str) -> bool:
    """Whether it is S3 Express One Zone: other rules for listings, no versions."""
    return bucket.endswith(_DIRECTORY_BUCKETS)


def is_verified(bucket: str, endpoint: str) -> bool:
    """Whether what AWS documents of S3 holds there: AWS itself serves S3 under this name."""
    return is_aws(endpoint) and not bucket.endswith(_OTHER_STORES)
