"""Tokens: the etag, and with it the version id where the bucket keeps versions.

An etag comes back when equal bytes are written again; a version id never does. Where a bucket keeps
versions a token is ``"<version id> <etag>"``: one string, so that it stays what it is in records.
S3 compares etags only, so the version id is compared by a look just before, in `check`.

Whether versions are kept is learnt once per opened store, if possible from what is asked anyway: an
answer to a write carries a version id exactly where they are; an answer to a read carries one where
they are or were. Only a listing that comes before any of those, or a read that finds a version id,
has to ask for it. A bucket whose versioning is suspended counts as one without: what is written
there gets no id of its own.
"""

import asyncio
import errno
import logging
from collections.abc import Mapping
from typing import Any

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Token
from fsspec_commit_stores.http.requests import raising_store_errors, unless_missing
from fsspec_commit_stores.s3.answers import is_refusal_of_its_own
from fsspec_commit_stores.s3.contents import etag_of
from fsspec_commit_stores.s3.requests import Bucket, RequestFailedError

_NONE = "null"
_log = logging.getLogger("fsspec_commit")


class Versions:
    """What tells the contents of one bucket apart.

    Attributes:
        kept: Whether every content has a version id of its own; ``None`` until it is known.
    """

    def __init__(self, bucket: Bucket, *, kept: bool | None = None) -> None:
        self.kept = kept
        self._bucket = bucket
        self._asking = asyncio.Lock()

    async def are_kept(self) -> bool:
        """Whether versions are kept; the store is asked unless it is known.

        Raises:
            StoreError: The store did not answer.
        """
        async with self._asking:
            if self.kept is None:
                self.kept = await self.ask()
            return self.kept

    def written(self, answer: Mapping[str, Any], path: StorePath) -> Token:
        """The token of what a request has just written.

        Raises:
            StoreError: The answer does not name it, so whether it was written is not known.
        """
        version = str(answer.get("VersionId") or _NONE)
        if self.kept is None:
            self.kept = version != _NONE
        if not etag_of(answer):
            why = "the store answered without an etag"
            raise self._bucket.doubt("put_object", path, why)
        return self.listed(answer)

    async def read(self, answer: Mapping[str, Any], path: StorePath) -> Token:
        """The token of what a request has looked at.

        Raises:
            StoreError: It has none, or the store did not say whether versions are kept.
        """
        if self.kept is None:
            self.kept = await self.are_kept() if answer.get("VersionId") else False
        if not etag_of(answer):
            why = "it has no etag, so it cannot be told from another content"
            raise self._bucket.refusal("head_object", path, why, errno.EINVAL)
        return self.listed(answer)

    def listed(self, answer: Mapping[str, Any]) -> Token:
        """The token of one entry of a listing, which names versions where they are kept."""
        etag = etag_of(answer)
        return Token(f"{answer.get('VersionId') or _NONE} {etag}" if self.kept else etag)

    @raising_store_errors
    async def check(self, path: StorePath, token: Token, *, method: str) -> None:
        """Refuse when another version stands than *token* names; of an etag alone, say nothing.

        Between this look and the request that follows it only equal bytes can come, for that
        request compares the etag.

        Raises:
            StoreError: Another version stands there, or none.
        """
        version = token.rpartition(" ")[0]
        if not version:
            return
        answer = await unless_missing(self._bucket.look(path)) or {}
        if str(answer.get("VersionId") or _NONE) != version or not answer:
            why = "another version stands there than was expected"
            raise self._bucket.refusal(method, path, why, errno.EEXIST)

    @raising_store_errors
    async def ask(self) -> bool:
        """Ask the store whether versions are kept by now.

        Raises:
            StoreError: The store did not answer.
        """
        path = self._bucket.path("")
        try:
            answer = await self._bucket.request("get_bucket_versioning", path)
        except RequestFailedError as error:
            if error.answer is None or not is_refusal_of_its_own(error.answer):
                raise
            _log.debug("%s; etags are its tokens", error.failure)
            return False
        return answer.get("Status") == "Enabled"
