"""Files written under a hidden name, then renamed: whole when they appear, whatever was killed.

A DataNode that is killed leaves an empty file, a writer that is killed leaves a part of one: both
under the hidden name, which no listing of ours shows and which is removed with its area.
"""

import errno
import re
from contextlib import suppress

from fsspec_commit.errors import Reply
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry, Expect, Expectation, Token
from fsspec_commit_stores.hdfs.directories import Directories, parent_of
from fsspec_commit_stores.hdfs.failures import (
    MISSING,
    RequestDescription,
    RequestFailedError,
    refusal,
    store_error,
    without_effect,
)
from fsspec_commit_stores.hdfs.requests import OpenFile, Requests, Status
from fsspec_commit_stores.http.requests import raising_store_errors
from fsspec_commit_stores.http.writing import UnfinishedFile

_HIDDEN = re.compile(r"\.fsspec-commit-[0-9a-f]+\.tmp")
_HELD_BYTES = 1 << 20


def is_hidden(name: str) -> bool:
    """Whether a file of this name is one that was not finished."""
    return _HIDDEN.fullmatch(name) is not None


def hidden_beside(path: StorePath) -> StorePath:
    """A new hidden name in the directory of *path*."""
    return StorePath(f"{parent_of(path)}/.fsspec-commit-{SYSTEM_IDS.nonce()}.tmp")


class Files:
    """Puts files in place whole."""

    def __init__(self, requests: Requests, directories: Directories) -> None:
        self.requests = requests
        self.directories = directories

    @raising_store_errors
    async def put(
        self, path: StorePath, data: bytes, *, expecting: Expectation, within: StorePath | None
    ) -> Token:
        """Write *data* under a hidden name and rename that; an empty file is created at once.

        Raises:
            StoreError: It was not written; or that is not known, after the last step only.
        """
        if not isinstance(expecting, Expect):
            await self.check_target(path, expecting)
        if not data and expecting is Expect.ABSENT:
            return await self._put_empty(path, within)
        hidden = hidden_beside(path)
        try:
            written = await self._write(hidden, path, data, within)
            await self.requests.rename(hidden, path, replacing=expecting is not Expect.ABSENT)
        except RequestFailedError:
            # Also after a rename that was not answered: without its source it cannot happen later.
            await self.remove(hidden)
            raise
        return written.token

    async def create(self, path: StorePath, within: StorePath | None) -> OpenFile:
        """Create the file *path* exclusively, with the directories below *within*."""
        return await self.directories.with_parent(path, within, lambda: self.requests.create(path))

    async def check_written(self, hidden: StorePath, path: StorePath, size_bytes: int) -> Status:
        """What was written and closed, which must be all of it.

        Raises:
            RequestFailedError: It is not.
        """
        there = await self.requests.status(hidden)
        if there is None or there.size_bytes != size_bytes:
            found = "gone" if there is None else f"{there.size_bytes} bytes long"
            why = f"after {size_bytes} bytes it is {found}"
            asked = RequestDescription("write", path, self.requests.server)
            raise RequestFailedError(store_error(asked, why, Reply.NOT_DONE))
        return there

    @raising_store_errors
    async def check_target(self, path: StorePath, expected: Token) -> None:
        """Refuse to replace what is not as expected; a look only, as HDFS compares nothing.

        Raises:
            StoreError: Other content, or none, stands at *path*.
        """
        try:
            there = await self.requests.status(path)
        except RequestFailedError as error:
            without_effect(error.failure)
            raise
        if there is None:
            raise refusal("replace", path, "it is gone", errno.ENOENT)
        if there.is_directory or there.token != expected:
            why = "it is not the content that was expected"
            raise refusal("replace", path, why, errno.EEXIST)

    async def remove(self, hidden: StorePath) -> None:
        """Leave nothing of what was not finished, as far as the cluster lets us."""
        with suppress(RequestFailedError):
            await self.requests.delete(hidden, recursive=False)

    async def _put_empty(self, path: StorePath, within: StorePath | None) -> Token:
        """Create an empty file under its own name: it is whole as soon as it is there."""
        created = False
        try:
            opened = await self.create(path, within)
            created = self.requests.creates_at_once
            await opened.close()
            created = True
            written = await self.requests.status(path)
        except RequestFailedError as error:
            if created:
                error.failure.reply = Reply.UNKNOWN
            raise
        if written is None:
            asked = RequestDescription("write", path, self.requests.server)
            raise store_error(asked, "it is gone again", Reply.UNKNOWN)
        return written.token

    async def _write(
        self, hidden: StorePath, path: StorePath, data: bytes, within: StorePath | None
    ) -> Status:
        try:
            opened = await self.create(hidden, within)
            await opened.write(data)
            await opened.close()
            return await self.check_written(hidden, path, len(data))
        except RequestFailedError as error:
            without_effect(error.failure)
            raise


class HdfsWriter:
    """A file written piece by piece; there when it is finished.

    A file that could not be sent while it was still held whole is sent again by the next `finish`,
    under another hidden name; one that is on the cluster already is then given its name.
    """

    def __init__(self, files: Files, path: StorePath, within: StorePath) -> None:
        self._files = files
        self._file = UnfinishedFile(path)
        self._within = within
        self._hidden = hidden_beside(path)
        self._opened: OpenFile | None = None
        self._written: Status | None = None

    @raising_store_errors
    async def write(self, data: bytes) -> None:
        """Append *data*.

        Raises:
            StoreError: *within* is missing, or the cluster failed; the file is to be discarded.
        """
        self._file.append(data)
        if len(self._file.held) < _HELD_BYTES:
            return
        try:
            await self._send()
        except RequestFailedError as error:
            without_effect(error.failure)
            raise
        self._file.held.clear()

    @raising_store_errors
    async def finish(self) -> Entry:
        """Close the file, see that all of it is there, and give it its name.

        Raises:
            StoreError: It is not visible, or it is not known; the file is to be discarded, or
                finished again where the error says so.
        """
        self._file.check()
        is_held = len(self._file.held) == self._file.size_bytes
        try:
            if self._written is None:
                self._written = await self._close()
            await self._rename(self._written)
        except RequestFailedError as error:
            if self._written is None and is_held:
                await self._drop()
                self._hidden = hidden_beside(self._file.path)
            is_there = self._written is not None
            is_refused = error.failure.reply is Reply.REFUSED
            error.failure.can_go_on = not is_refused and (is_there or is_held)
            raise
        self._opened = None
        return self._file.finish(self._written.token)

    async def discard(self) -> None:
        """Leave nothing of it, unless it is finished."""
        if self._file.discard():
            await self._drop()

    def __del__(self) -> None:
        # No loop to delete it on: under its hidden name it goes with its area.
        if getattr(self, "_opened", None) is not None:
            self._file.warn_if_open()

    async def _send(self) -> OpenFile:
        if self._opened is None:
            self._opened = await self._files.create(self._hidden, self._within)
        if self._file.held:
            await self._opened.write(bytes(self._file.held))
        return self._opened

    async def _close(self) -> Status:
        try:
            opened = await self._send()
            await opened.close()
            size_bytes = self._file.size_bytes
            written = await self._files.check_written(self._hidden, self._file.path, size_bytes)
        except RequestFailedError as error:
            without_effect(error.failure)
            raise
        self._file.held.clear()
        return written

    async def _rename(self, written: Status) -> None:
        path = self._file.path
        try:
            await self._files.requests.rename(self._hidden, path, replacing=True)
        except RequestFailedError as error:
            # It may have been renamed by a request that was not answered.
            there = await self._files.requests.status(path) if error.says(MISSING) else None
            if there != written:
                raise

    async def _drop(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.drop()
            await self._files.remove(self._hidden)
