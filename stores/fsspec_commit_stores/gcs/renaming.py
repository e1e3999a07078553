"""Renames: one atomic request, on condition of what stands at both ends.

https://cloud.google.com/storage/docs/json_api/v1/objects/move
"""

import errno

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expectation, RenamesFiles, Token
from fsspec_commit_stores.gcs.contents import Resource, condition_of, generation_of, token_of
from fsspec_commit_stores.gcs.requests import Bucket, Given

_NAME = "objects.move"


class GcsFiles:
    """`RenamesFiles` on one bucket.

    A moved object has a new generation and keeps its custom metadata, so a lost reply is resolved
    by the nonce. Never a copy: where a server does not know the request, nothing is done.
    """

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    async def rename(
        self,
        source: StorePath,
        target: StorePath,
        *,
        token: Token | None,
        expecting: Expectation,
        within: StorePath,  # noqa: ARG002  # no directories
    ) -> None:
        """Rename one file, atomically on condition of *token* and *expecting*.

        Raises:
            StoreError: It was not renamed, or it is not known.
        """
        bucket = self._bucket
        if source == target:
            raise bucket.refusal(_NAME, source, "it has that name already", errno.EINVAL)
        sent = bucket.object_target(
            source,
            below=bucket.object_part("/moveTo", target),
            **condition_of(expecting),
            ifSourceGenerationMatch=None if token is None else generation_of(token),
            fields="generation",
        )
        answered = await bucket.send(Given(_NAME, "POST", sent), source)
        if token_of(bucket.decoded(answered, _NAME, source, Resource)) is None:
            raise bucket.doubt(_NAME, source, "the store answered without a generation")


_files: type[RenamesFiles] = GcsFiles
