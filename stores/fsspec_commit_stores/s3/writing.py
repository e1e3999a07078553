"""Files written bit by bit: one request for a small one, an upload for a longer one.

After each `write` at most one part is held, unless a part could not be sent.
"""

from contextlib import suppress

from fsspec_commit.errors import StoreError
from fsspec_commit.ids import SYSTEM_IDS, Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry, Expect, PendingUpload
from fsspec_commit_stores.http.writing import UnfinishedFile
from fsspec_commit_stores.s3.contents import metadata_of
from fsspec_commit_stores.s3.requests import Bucket
from fsspec_commit_stores.s3.uploads import PART_BYTES, S3Uploads
from fsspec_commit_stores.s3.versions import Versions


class S3Writer:
    """A file that is visible when it is finished: a long list; in directory buckets, also data."""

    def __init__(
        self,
        bucket: Bucket,
        versions: Versions,
        uploads: S3Uploads,
        path: StorePath,
        nonce: Nonce | None,
        *,
        as_record: bool,
    ) -> None:
        self._bucket = bucket
        self._versions = versions
        self._uploads = uploads
        self._file = UnfinishedFile(path)
        self._as_record = as_record
        self._nonce = nonce or SYSTEM_IDS.nonce()
        self._upload: PendingUpload | None = None

    async def write(self, data: bytes) -> None:
        """Append *data*; what is more than a part is sent.

        Raises:
            StoreError: A part was not stored; it is sent again by the next call.
        """
        self._file.append(data)
        while len(self._file.held) > PART_BYTES:
            await self._send(PART_BYTES)

    async def finish(self) -> Entry:
        """Send the rest and make the file visible; it replaces any that stands there.

        Raises:
            StoreError: It is not visible, or it is not known whether it is.
        """
        self._file.check()
        if self._upload is None:
            answer = await self._bucket.send(
                "put_object",
                self._file.path,
                as_record=self._as_record,
                Body=bytes(self._file.held),
                **metadata_of(self._nonce),
            )
            token = self._versions.written(answer, self._file.path)
        else:
            while self._file.held:
                await self._send(PART_BYTES)
            token = await self._uploads.finish(self._upload, expecting=Expect.ANYTHING)
        return self._file.finish(token, self._nonce)

    async def discard(self) -> None:
        """Leave nothing of it, unless it is finished; an upload that cannot be aborted stays."""
        if self._file.discard() and self._upload is not None:
            with suppress(StoreError):  # It is invisible, and found by its key.
                await self._uploads.abort(self._upload)

    def __del__(self) -> None:
        # No loop to abort an upload on: it stays pending, and never becomes visible.
        if getattr(self, "_upload", None) is not None:
            self._file.warn_if_open()

    async def _send(self, length: int) -> None:
        upload = self._upload
        if upload is None:
            upload = self._upload = await self._uploads.start(
                self._file.path, self._nonce, as_record=self._as_record
            )
        data = bytes(self._file.held.first(length))
        part = await self._uploads.put_part(upload, len(upload.parts) + 1, data)
        self._file.held.drop(length)
        self._upload = PendingUpload(
            path=upload.path,
            upload_id=upload.upload_id,
            nonce=upload.nonce,
            parts=(*upload.parts, part),
        )
