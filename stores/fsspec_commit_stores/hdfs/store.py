"""The HDFS adapter: one store for two clients, every change one request to the NameNode.

A destination is a directory. The NameNode makes every change of its names atomic and shows it to
everybody at once, so a listing is consistent and a rename is exclusive. It keeps nothing with a
file to recognise it by, and its only condition for a change is that a name is free.
"""

import errno
from collections.abc import AsyncIterator
from typing import Self

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import (
    Ask,
    Capabilities,
    Content,
    Directory,
    Entry,
    Expect,
    Expectation,
    ListsAtOnce,
    MakesDirectories,
    OpenOptions,
    RemovesEmptyDirectories,
    RenamesDirectories,
    RenamesFiles,
    Store,
    Token,
)
from fsspec_commit_stores.hdfs.deletion import delete_kind
from fsspec_commit_stores.hdfs.directories import Directories
from fsspec_commit_stores.hdfs.empty_directories import EmptyDirectories
from fsspec_commit_stores.hdfs.failures import (
    MISSING,
    RequestDescription,
    RequestFailedError,
    refusal,
    store_error,
)
from fsspec_commit_stores.hdfs.listing import Listing
from fsspec_commit_stores.hdfs.opening import CAPABILITIES, place_of, requests_of
from fsspec_commit_stores.hdfs.renaming import HdfsRenames
from fsspec_commit_stores.hdfs.requests import Requests
from fsspec_commit_stores.hdfs.writing import Files, HdfsWriter
from fsspec_commit_stores.http.requests import raising_store_errors


class HdfsStore:
    """A destination in a directory of an HDFS cluster; it belongs to one loop, like its client."""

    # They follow from what a NameNode is, and a cluster runs Hadoop's own.
    capabilities = CAPABILITIES
    in_flight_max = unverified_endpoint = None
    bulk = bulk_deletion = direct = in_order = uploads = None

    def __init__(self, requests: Requests, root: StorePath, ask: Ask) -> None:
        self._requests = requests
        self._listing = Listing(requests, ask)
        self.at_once: ListsAtOnce | None = self._listing if requests.lists_at_once else None
        self.root = root
        self.directory_creation = self._directories = Directories(requests, root)
        self.empty_directories = EmptyDirectories(requests, self._directories)
        self._files = Files(requests, self._directories)
        self.files = self.directories = HdfsRenames(requests, self._directories, self._files)

    @classmethod
    async def open(cls, url: str, options: OpenOptions) -> Self:
        """Open ``hdfs://…`` or ``webhdfs://…``; nothing is sent yet.

        The options of ``hdfs://`` are those of hdfs-native, Hadoop's own properties, and those of
        pyarrow's that mean the same; those of ``webhdfs://`` are fsspec's.

        Raises:
            RequestError: The URL names no directory, or an option makes no sense.
            ImportError: The client is not installed.
        """
        place = place_of(url)
        return cls(requests_of(url, place, options), place.root, options.ask)

    @raising_store_errors
    async def stat(self, path: StorePath) -> Entry | Directory | None:
        """What stands at *path*.

        Raises:
            StoreError: The cluster did not answer, or does not let us look.
        """
        self._directories.check("look at", path)
        there = await self._requests.status(path)
        if there is None:
            return None
        return Directory(path) if there.is_directory else there.entry(path)

    @raising_store_errors
    async def read(self, path: StorePath, *, limit_bytes: int) -> Content | None:
        """The whole file at *path*; ``None`` also for a directory.

        The file is looked at before and after, since a read does not say which content it is of.

        Raises:
            StoreError: It is longer than the limit, or could not be read whole; `NOT_DONE` while it
                is being replaced.
        """
        self._directories.check("read", path)
        before = await self._requests.status(path)
        if before is None or before.is_directory:
            return None
        if before.size_bytes > limit_bytes:
            why = f"it has {before.size_bytes} bytes, and at most {limit_bytes} are read"
            raise refusal("read", path, why, errno.EFBIG)
        data, failure = None, self._unsettled(path)
        try:
            data = await self._read(path, 0, before.size_bytes)
        except RequestFailedError as error:
            failure = error.failure
        # The blocks of a file that is replaced are deleted, even while they are read.
        if await self._requests.status(path) != before:
            raise self._unsettled(path)
        if data is None:
            raise failure
        return Content(before.entry(path), data)

    @raising_store_errors
    async def read_range(self, path: StorePath, *, start: int, length: int) -> bytes | None:
        """At most *length* bytes from *start*; fewer only at the end of the file.

        Raises:
            StoreError: They were not read, or not all (`NOT_DONE`).
        """
        self._directories.check("read", path)
        there = await self._requests.status(path)
        if there is None or there.is_directory:
            return None
        data = await self._read(path, start, max(0, min(length, there.size_bytes - start)))
        if data is None:
            raise self._unsettled(path)
        return data

    async def _read(self, path: StorePath, start: int, length: int) -> bytes | None:
        """Exactly *length* bytes; ``None`` when there were fewer, or the file is gone.

        Of a block that no DataNode has reported yet, a client reads nothing and raises no error.
        """
        if not length:
            return b""
        try:
            data = await self._requests.read(path, start, length)
        except RequestFailedError as error:
            if error.says(MISSING):
                return None
            raise
        return data if len(data) == length else None

    def _unsettled(self, path: StorePath) -> StoreError:
        asked = RequestDescription("read", path, self._requests.server)
        why = "it is being replaced, or its blocks are not reported yet"
        return store_error(asked, why, Reply.NOT_DONE, errno.EAGAIN)

    def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        """Every file below *path*, several directories at a time.

        Raises:
            StoreError: A directory could not be listed.
        """
        self._directories.check("list", path)
        return self._listing.tree(path, without)

    def list_children(self, path: StorePath) -> AsyncIterator[Entry | Directory]:
        """What stands directly in *path*, some thousand a request.

        Raises:
            StoreError: It could not be listed.
        """
        self._directories.check("list", path)
        return self._listing.children(path)

    def writer(
        self,
        path: StorePath,
        *,
        within: StorePath,
        nonce: Nonce | None = None,  # noqa: ARG002  # tokens survive renames
    ) -> HdfsWriter:
        """Write the file *path*; it appears when it is finished."""
        self._directories.check("write", path)
        return HdfsWriter(self._files, path, within)

    async def put(
        self,
        path: StorePath,
        data: bytes,
        *,
        expecting: Expectation,
        within: StorePath | None,
        nonce: Nonce | None = None,  # noqa: ARG002  # HDFS keeps nothing beside the content
    ) -> Token:
        """Write a small file whole, exclusively for ``Expect.ABSENT``; for a token, look before.

        Raises:
            StoreError: It was not written, or it is not known.
        """
        self._directories.check("write", path)
        return await self._files.put(path, data, expecting=expecting, within=within)

    async def delete(self, path: StorePath, *, expecting: Expectation) -> None:
        """Delete one file; a missing one is no error.

        *path* is looked at before, since HDFS deletes an empty directory as readily.

        Raises:
            StoreError: A token was expected, which HDFS cannot compare; or it is a directory.
        """
        self._directories.check("delete", path)
        if expecting is not Expect.ANYTHING:
            why = "HDFS deletes on no condition"
            raise refusal("delete", path, why, errno.EOPNOTSUPP)
        await self._delete(path, is_directory=False)

    async def delete_tree(self, path: StorePath) -> None:
        """Delete a directory and all below it, by one request.

        Raises:
            StoreError: It is a file or the destination itself, or it is not known.
        """
        self._directories.check("delete", path)
        if path == self.root:
            raise refusal("delete", path, "it is the destination itself", errno.EINVAL)
        await self._delete(path, is_directory=True)

    def go_by(self, facts: Capabilities) -> None:
        """Do nothing: tokens have one form."""

    async def close(self) -> None:
        """Close the connections."""
        await self._requests.close()

    @raising_store_errors
    async def _delete(self, path: StorePath, *, is_directory: bool) -> None:
        await delete_kind(self._requests, path, is_directory=is_directory, recursive=is_directory)


_store: type[Store] = HdfsStore
_files: type[RenamesFiles] = HdfsRenames
_directories: type[RenamesDirectories] = HdfsRenames
_directory_creation: type[MakesDirectories] = Directories
_empty_directories: type[RemovesEmptyDirectories] = EmptyDirectories
