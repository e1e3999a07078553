"""Resumable uploads: one object, sent in chunks that the service keeps until the last has come.

The address of an upload lets anyone who has it write the object, so it is held here, and is in no
record, message or representation. So only the process that began an upload can finish it.

https://cloud.google.com/storage/docs/performing-resumable-uploads
"""

import errno
import re
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

import msgspec

from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expectation
from fsspec_commit_stores.gcs.answers import CHECK_THE_WAY, why_not_believed
from fsspec_commit_stores.gcs.contents import (
    CONTENT_TYPE,
    Resource,
    condition_of,
    metadata_of,
    token_of,
)
from fsspec_commit_stores.gcs.inserting import WRITTEN_FIELDS
from fsspec_commit_stores.gcs.requests import Answered, Bucket, Given, RequestFailedError
from fsspec_commit_stores.http.pieces import Pieces
from fsspec_commit_stores.http.requests import raising_store_errors

_NAME = "objects.insert"
_CANCELLED = 499
_GOING_ON = HTTPStatus.PERMANENT_REDIRECT
_KEPT = re.compile(r"bytes=0-(-1|[0-9]{1,18})")
_NOTHING = "bytes=0--1"
"""What an answer without a ``Range`` header means."""


@dataclass(slots=True)
class ResumableUpload:
    """One upload that is under way.

    Attributes:
        path: Where its object will stand.
        target: Its address below the endpoint: a secret.
        kept_bytes: How much of it the service is known to have.
        sent_bytes: How much of it the service may have.
    """

    path: StorePath
    target: str = field(repr=False)
    kept_bytes: int = 0
    sent_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """The upload has become an object: its resource."""

    resource: Resource


class ResumableUploads:
    """Resumable uploads to one bucket."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    async def start(self, path: StorePath, nonce: Nonce, expecting: Expectation) -> ResumableUpload:
        """Begin an upload whose object will carry *nonce*, on condition of *expecting*.

        The service checks the condition here, and again when the object appears.

        Raises:
            RequestFailedError: It was not begun, or it is not known; then nobody sees it again.
        """
        target = self._bucket.upload_target(
            path, uploadType="resumable", **condition_of(expecting), fields=WRITTEN_FIELDS
        )
        headers = {
            "Content-Type": "application/json; charset=UTF-8",
            "X-Upload-Content-Type": CONTENT_TYPE,
        }
        body = msgspec.json.encode(metadata_of(nonce))
        answered = await self._bucket.request(Given(_NAME, "POST", target, headers, body), path)
        address = urlsplit(answered.headers.get("location", ""))
        # A login page may have a location of its own to go on to.
        if not address.path.startswith("/") or "upload_id" not in parse_qs(address.query):
            raise self._bucket.doubt(_NAME, path, "the store gave no address to upload to")
        # At the endpoint that was asked: behind a proxy or a private endpoint the service names
        # another one.
        return ResumableUpload(path, f"{address.path}?{address.query}")

    async def send(
        self, upload: ResumableUpload, data: Pieces, *, is_last: bool
    ) -> Finished | None:
        """Send *data*, which follows what is kept, and note in *upload* how much is kept now.

        Raises:
            StoreError: It was not stored, or it is not known; `look` says how far it came.
        """
        first, end = upload.kept_bytes, upload.kept_bytes + len(data)
        total = str(end) if is_last else "*"
        upload.sent_bytes = max(upload.sent_bytes, end)
        span = f"bytes {first}-{end - 1}/{total}" if data else f"bytes */{total}"
        return await self._put(upload, span, data)

    async def look(self, upload: ResumableUpload) -> Finished | None:
        """Ask how much is kept.

        Raises:
            StoreError: The store did not answer, or the upload is gone (`Reply.REFUSED`).
        """
        return await self._put(upload, "bytes */*", Pieces([]))

    @raising_store_errors
    async def cancel(self, upload: ResumableUpload) -> None:
        """Drop the upload and what is kept of it; one that is already gone is no error.

        Raises:
            StoreError: It was not dropped, or it is not known; it expires after a week.
        """
        done = (HTTPStatus.OK, HTTPStatus.NO_CONTENT, _CANCELLED)
        given = Given(_NAME, "DELETE", upload.target, done=done)
        try:
            await self._bucket.request(given, upload.path)
        except RequestFailedError as error:
            told = error.answer
            if told is None or told.status not in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
                raise

    async def _put(self, upload: ResumableUpload, span: str, data: Pieces) -> Finished | None:
        done = (HTTPStatus.OK, HTTPStatus.CREATED, _GOING_ON)
        headers = {"Content-Range": span, "Content-Length": str(len(data))}
        given = Given(_NAME, "PUT", upload.target, headers, data, done=done)
        answered = await self._bucket.send(given, upload.path)
        if answered.status != _GOING_ON:
            resource = self._bucket.decoded(answered, _NAME, upload.path, Resource)
            if token_of(resource) is None:
                why = "the store answered without a generation"
                raise self._bucket.doubt(_NAME, upload.path, why)
            return Finished(resource)
        if _is_redirection(answered):
            why = f"{why_not_believed(answered.status)}; {CHECK_THE_WAY}"
            raise self._bucket.doubt(_NAME, upload.path, why)
        kept = _KEPT.fullmatch(answered.headers.get("range", _NOTHING))
        now = None if kept is None else int(kept.group(1)) + 1
        if now is None or not upload.kept_bytes <= now <= upload.sent_bytes:
            why = "the store keeps another part of the upload than was sent"
            raise self._bucket.refusal(_NAME, upload.path, why, errno.EIO)
        upload.kept_bytes = now
        return None


def _is_redirection(answered: Answered) -> bool:
    """Whether a 308 is what it is elsewhere: a permanent redirection, by a proxy."""
    return "location" in answered.headers or not ("range" in answered.headers or answered.is_marked)
