"""Renames of one object, which directory buckets have and no others: `RenameObject`.

https://docs.aws.amazon.com/AmazonS3/latest/API/API_RenameObject.html: atomic, in one bucket, on
condition of what stands at both names; all metadata is kept, and with it our nonce. Whether the
etag is kept is not documented.
"""

from typing import Any
from urllib.parse import quote

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, Expectation, RenamesFiles, Token
from fsspec_commit_stores.s3.contents import match_of
from fsspec_commit_stores.s3.requests import Bucket


class S3Renames:
    """`RenamesFiles` on one directory bucket."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    async def rename(
        self,
        source: StorePath,
        target: StorePath,
        *,
        token: Token | None,
        expecting: Expectation,
        within: StorePath,  # noqa: ARG002  # what a key needs is there with it
    ) -> None:
        """Rename an object, atomically on condition of *token* and of *expecting*.

        Each request has a `ClientToken` of its own, which botocore makes: with that of an earlier
        request, S3 would report as done a rename that was done long ago, and undone since.

        Raises:
            StoreError: It was not renamed, or it is not known whether it was.
        """
        conditions: dict[str, Any] = {}
        if token is not None:
            conditions["SourceIfMatch"] = match_of(token)
        if expecting is Expect.ABSENT:
            conditions["DestinationIfNoneMatch"] = "*"
        elif not isinstance(expecting, Expect):
            conditions["DestinationIfMatch"] = match_of(expecting)
        name = quote(f"/{self._bucket.key(source)}", safe="/")
        await self._bucket.send("rename_object", target, RenameSource=name, **conditions)


_renames: type[RenamesFiles] = S3Renames
