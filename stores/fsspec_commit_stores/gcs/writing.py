"""Files written piece by piece: one request for a small one, a resumable upload for a longer one.

The chunks of an upload go one after the other, so each costs a round trip in which nothing else of
the file is sent. So whoever writes it goes on meanwhile, and a long file has longer chunks.

Nothing is retried here, but everything can be: after a failure that is not a refusal, `write` and
`finish` go on where they were, and look before they send anything again.
"""

import errno
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from fsspec_commit.errors import StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry, Expect, Expectation, Token
from fsspec_commit_stores.gcs.checksums import CHECKSUM, Checksum, checksum_of
from fsspec_commit_stores.gcs.chunks import Chunks
from fsspec_commit_stores.gcs.contents import Resource, metadata_of, nonce_of, token_of
from fsspec_commit_stores.gcs.inserting import insert, is_intact, written
from fsspec_commit_stores.gcs.lookup import look
from fsspec_commit_stores.gcs.requests import Bucket, RequestFailedError
from fsspec_commit_stores.gcs.uploads import Finished, ResumableUpload, ResumableUploads
from fsspec_commit_stores.http.pieces import Pieces
from fsspec_commit_stores.http.requests import raising_store_errors
from fsspec_commit_stores.http.sending import Sending
from fsspec_commit_stores.http.writing import UnfinishedFile, going_on

T = TypeVar("T")

_LOOKS_MAX = 4

_LOOK_FIELDS = f"generation,metadata,{CHECKSUM}"


class GcsWriter:
    """A working file, or one of the protocol itself; visible when it is finished.

    What stands at the path is replaced, on condition that it is what was seen there: so a request
    that takes effect after it was given up on cannot replace what a repeated one has made. What the
    writer has written itself, it knows again by nonce and content.
    """

    def __init__(self, bucket: Bucket, chunks: Chunks, path: StorePath, nonce: Nonce) -> None:
        self._bucket = bucket
        self._chunks = chunks
        self._uploads = ResumableUploads(bucket)
        self._file = UnfinishedFile(path)
        self._nonce = nonce
        self._checksum = Checksum()
        """Of what is no longer held."""
        self._dropped_bytes = 0
        self._sending = Sending()
        self._sending_bytes = 0
        """How much of what is held is on its way."""
        self._upload: ResumableUpload | None = None
        self._expecting: Expectation = Expect.ABSENT
        self._is_in_doubt = False

    async def write(self, data: bytes) -> None:
        """Append *data*; what is more than a chunk is sent, while the caller goes on.

        Raises:
            StoreError: A chunk, perhaps one of an earlier call, was not stored; the next call sends
                it again.
        """
        self._file.append(data)
        with going_on():
            while len(self._file.held) - self._sending_bytes > self._chunk_bytes():
                await self._sending.all_sent()
                length = self._chunk_bytes()
                if len(self._file.held) > length:
                    self._sending_bytes = length
                    self._sending.begin(self._send_ahead(length))

    async def finish(self) -> Entry:
        """Send the rest and make the file visible; in the place of another, if one stands.

        Raises:
            StoreError: It is not visible, or it is not known; it may be called again.
        """
        self._file.check()
        size_bytes = self._file.size_bytes
        with going_on():
            await self._sending.all_sent()
            if self._upload is None and size_bytes <= self._chunk_bytes():
                token = await self._on_what_stands(self._insert, self._own)
            else:
                finished = None
                while finished is None:
                    length = self._chunk_bytes()
                    is_last = len(self._file.held) <= length
                    finished = await self._send(length, is_last=is_last)
                token = self._kept(finished.resource, size_bytes)
        self._chunks.end(self)
        return self._file.finish(token, self._nonce)

    async def discard(self) -> None:
        """Leave nothing of an unfinished file; an upload that cannot be dropped expires."""
        is_dropped = self._file.discard()
        await self._sending.ended()
        self._chunks.end(self)
        if is_dropped and self._upload is not None:
            # It is invisible, and only this process could have finished it.
            with suppress(StoreError):
                await self._uploads.cancel(self._upload)

    def __del__(self) -> None:
        # No loop to drop an upload on: it expires, and never becomes visible.
        if getattr(self, "_upload", None) is not None:
            self._file.warn_if_open()

    @property
    def _held(self) -> Pieces:
        return self._file.held.first(len(self._file.held))

    def _chunk_bytes(self) -> int:
        return self._chunks.length_bytes(self, self._dropped_bytes)

    async def _send_ahead(self, length: int) -> None:
        try:
            await self._send(length, is_last=False)
        finally:
            self._sending_bytes = 0

    async def _send(self, length: int, *, is_last: bool) -> Finished | None:
        """Send the next chunk, or look; return the object that the upload has become, if it has.

        Raises:
            StoreError: The chunk was not stored, or it is not known; or the upload ended too early.
        """
        finished = await self._sent(length, is_last=is_last)
        if finished is not None and not is_last:
            raise self._refusal("the store ended the upload before its last part")
        return finished

    async def _sent(self, length: int, *, is_last: bool) -> Finished | None:
        """Send the next *length* bytes, or what is left of the file; or look, if that is in doubt.

        The caller has seen that so much is held, and so gives *length*: how long a chunk may be can
        change until it is sent, and one that is not the last must have its whole length.
        """
        upload = self._upload
        if upload is None:
            upload = self._upload = await self._on_what_stands(self._start, lambda _: None)
        if self._is_in_doubt:
            finished = await self._uploads.look(upload)
            self._is_in_doubt = False
            self._drop(upload)
            return finished
        self._file.check()
        data = self._file.held.first(length)
        self._is_in_doubt = True
        finished = await self._uploads.send(upload, data, is_last=is_last)
        self._is_in_doubt = False
        before = self._dropped_bytes
        self._drop(upload)
        if finished is None and self._dropped_bytes == before:
            # Nothing of a whole chunk: to go on would be to go on for ever.
            raise self._refusal("the store keeps nothing of what is sent")
        return finished

    def _kept(self, found: Resource, size_bytes: int) -> Token:
        """The token of the whole object, if it is what was sent.

        The checksum of what was sent in pieces is known only with the last one: too late for the
        service to refuse it, and for us to send it again. But it is still a working file, and
        nobody publishes it.
        """
        token = written(self._bucket, self._file.path, found, size_bytes)
        if not is_intact(found, self._checksum.with_rest(self._held)):
            raise self._refusal("the store keeps another content than was sent; write it again")
        return token

    def _refusal(self, why: str) -> StoreError:
        return self._bucket.refusal("objects.insert", self._file.path, why, errno.EIO)

    def _drop(self, upload: ResumableUpload) -> None:
        count = upload.kept_bytes - self._dropped_bytes
        self._checksum.update(self._file.held.first(count))
        self._file.held.drop(count)
        self._dropped_bytes = upload.kept_bytes

    async def _insert(self) -> Token:
        resource = metadata_of(self._nonce)
        return await insert(
            self._bucket, self._file.path, self._held, resource=resource, expecting=self._expecting
        )

    async def _start(self) -> ResumableUpload:
        return await self._uploads.start(self._file.path, self._nonce, self._expecting)

    def _own(self, there: Resource) -> Token | None:
        """The token of what stands, if it is what is to be written: by nonce and content."""
        checksum = checksum_of(self._held)
        is_own = nonce_of(there) == self._nonce and there.get(CHECKSUM) == checksum
        return token_of(there) if is_own else None

    @raising_store_errors
    async def _on_what_stands(
        self,
        sending: Callable[[], Awaitable[T]],
        done: Callable[[Resource], T | None],
    ) -> T:
        """Send on condition of what stands; look at what that is where it is not known.

        Args:
            sending: Sends it, expecting what was seen.
            done: What *sending* would return, where what stands is its effect already; or ``None``.

        Raises:
            StoreError: It was not done, or it is not known.
        """
        looks = 0
        while True:
            if self._is_in_doubt:
                there = await look(self._bucket, self._file.path, _LOOK_FIELDS) or Resource()
                before = done(there)
                if before is not None:
                    return before
                self._expecting = token_of(there) or Expect.ABSENT
            self._file.check()
            self._is_in_doubt = True
            try:
                sent = await sending()
            except RequestFailedError as error:
                looks += 1
                if looks == _LOOKS_MAX or not error.is_unexpected:
                    raise
            else:
                self._is_in_doubt = False
                return sent
