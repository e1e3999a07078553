"""The local adapter: metadata verbs run inline, as a thread hop costs five times what they do.

What holds when the power fails, by ``durability``:

* always: a record (`put`) is flushed before it can be seen, and its name before `put` returns; a
  file of `writer`, such as a long list, can be seen from the start, and is flushed when it is
  finished, as its name is;
* ``"none"``: data is as durable as the kernel left it;
* ``"marker"``: everything on its file system is flushed, once, before ``_SUCCESS`` appears, and
  then its own name: what the marker vouches for is on the disk;
* ``"full"``: also every data file when it is finished, every attempt's directory before the rename
  that commits it, and the names given by renames before the next record is put.
"""

import errno
import os
import stat
from collections.abc import AsyncIterator
from typing import Self

from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import (
    Capabilities,
    Content,
    Directory,
    Entry,
    Expect,
    Expectation,
    ListsAtOnce,
    OpenOptions,
    RemovesEmptyDirectories,
    RenamesDirectories,
    RenamesFiles,
    RenamesInBulk,
    Store,
    Token,
    Unusable,
    WritesDirectly,
)
from fsspec_commit_stores.local import deletion, listing
from fsspec_commit_stores.local.contents import (
    entry_of,
    open_file,
    put_whole,
    read_at,
    read_whole,
)
from fsspec_commit_stores.local.directories import Directories
from fsspec_commit_stores.local.empty_directories import EmptyDirectories
from fsspec_commit_stores.local.failures import refusal, reporting
from fsspec_commit_stores.local.opening import capabilities_of, root_of
from fsspec_commit_stores.local.renaming import LocalRenames
from fsspec_commit_stores.local.writing import LocalDirect, LocalFile, LocalWriter


class LocalStore:
    """A destination on a disk of this machine, or on a mount that looks like one.

    Its coroutines never suspend. They belong to the one thread of their loop; only what
    :attr:`direct` gives may be used from others.
    """

    # What a disk does, its operating system says; a mount is known by its type.
    in_flight_max = unverified_endpoint = None
    # A rename that finds a directory missing costs a disk next to nothing.
    directory_creation = None
    bulk_deletion = in_order = uploads = None

    def __init__(self, root: StorePath, options: OpenOptions, capabilities: Capabilities) -> None:
        self.root = root
        self.capabilities = capabilities
        self._directories = Directories(root)
        self.empty_directories = EmptyDirectories(self._directories)
        self._renames = LocalRenames(self._directories, options.durability)
        self.files = self.bulk = self.directories = self._renames
        self.direct = LocalDirect(self._directories, flushed=options.durability == "full")

    @classmethod
    async def open(cls, url: str, options: OpenOptions) -> Self:
        """Open ``file:///…``, ``local://…`` or a plain path; nothing is made or changed yet.

        fsspec's options for local files say nothing that matters here, so they are left alone.

        Raises:
            RequestError: The URL names no directory, or this is Windows.
            StoreError: It names something that is not a directory.
        """
        root = root_of(url)
        return cls(root, options, capabilities_of(root, single_writer=options.single_writer))

    async def stat(self, path: StorePath) -> Entry | Directory | None:
        """What stands at *path*.

        Raises:
            StoreError: A symbolic link or a special file does.
        """
        with reporting("look at", path):
            try:
                if path == self.root:
                    os.close(self._directories.open(""))
                    return Directory(path)
                with self._directories.parent_of(path) as (directory, name):
                    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        return Directory(path)
                    return entry_of(path, status, at=directory, name=name)
            except (FileNotFoundError, NotADirectoryError):
                return None

    async def read(self, path: StorePath, *, limit_bytes: int) -> Content | None:
        """The whole file at *path*; ``None`` also for a directory.

        Raises:
            StoreError: It is longer than the limit, or a symbolic link or a special file.
        """
        with reporting("read", path):
            opened = self._open_file(path)
            if opened is None:
                return None
            try:
                return read_whole(*opened, path, limit_bytes)
            finally:
                os.close(opened[0])

    async def read_range(self, path: StorePath, *, start: int, length: int) -> bytes | None:
        """At most *length* bytes from *start*; fewer only at the end of the file."""
        with reporting("read", path):
            opened = self._open_file(path)
            if opened is None:
                return None
            try:
                return read_at(opened[0], start, length)
            finally:
                os.close(opened[0])

    def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        """Every file below *path*, streamed.

        Raises:
            StoreError: A symbolic link, a special file, or a name that is not UTF-8 is met.
        """
        return listing.list_tree(self._directories, path, without)

    def list_children(self, path: StorePath) -> AsyncIterator[Entry | Directory | Unusable]:
        """What stands directly in *path*, streamed; links and special files are unusable.

        Raises:
            StoreError: *path* itself is a symbolic link.
        """
        return listing.list_children(self._directories, path)

    @property
    def at_once(self) -> ListsAtOnce:
        """The store itself: it lists short directories as of one moment."""
        return self

    async def list_at_once(self, path: StorePath) -> list[Entry | Directory | Unusable] | None:
        """What stands directly in *path*; ``None`` if it may take more than one call to read.

        Raises:
            StoreError: *path* itself is a symbolic link.
        """
        return listing.list_at_once(self._directories, path)

    def writer(
        self,
        path: StorePath,
        *,
        within: StorePath,
        nonce: Nonce | None = None,  # noqa: ARG002  # the token survives a rename
    ) -> LocalWriter:
        """Write the file *path*, always flushed, as its name is; there from the start, and growing.

        Raises:
            StoreError: *within* is missing, or it cannot be created.
        """
        return LocalWriter(LocalFile(self._directories, path, within=within, flushed=True), path)

    async def put(
        self,
        path: StorePath,
        data: bytes,
        *,
        expecting: Expectation,
        within: StorePath | None,
        nonce: Nonce | None = None,  # noqa: ARG002  # disks keep nothing beside the content
    ) -> Token:
        """Write a small file whole, flushed, after all that was renamed before it.

        Exclusive in one step for ``Expect.ABSENT``; for a token, *path* is looked at just before.

        Raises:
            StoreError: Something else stands there, *within* is missing, or the disk failed.
        """
        directory, name = self._directories.split(path)
        with reporting("write", path):
            self._renames.flush()
            handle = self._directories.make(directory, within, flushed=True)
            try:
                return put_whole(handle, name, data, path, expecting)
            finally:
                os.close(handle)

    async def delete(self, path: StorePath, *, expecting: Expectation) -> None:
        """Delete one file; a missing one is no error.

        Raises:
            StoreError: A token was expected, which no disk can do; or it is not a regular file.
        """
        if expecting is not Expect.ANYTHING:
            message = f"cannot delete {path!r} on a condition: no disk can do that in one step"
            raise refusal(message, path, errno.EOPNOTSUPP)
        with reporting("delete", path):
            try:
                with self._directories.parent_of(path) as (directory, name):
                    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        message = f"cannot delete the file {path!r}: it is a directory"
                        raise refusal(message, path, errno.EISDIR)
                    entry_of(path, status, at=directory, name=name)
                    os.unlink(name, dir_fd=directory)
            except (FileNotFoundError, NotADirectoryError):
                return

    async def delete_tree(self, path: StorePath) -> None:
        """Delete a directory and all below it; links are unlinked, never followed.

        Raises:
            StoreError: It is a file or the destination itself, or others keep writing there.
        """
        with reporting("delete", path):
            self._renames.forget_below(path)
            deletion.delete_tree(self._directories, path)

    def go_by(self, facts: Capabilities) -> None:
        """Do nothing: tokens have one form."""

    async def close(self) -> None:
        """Flush what is to be flushed, and let go of every handle."""
        try:
            with reporting("flush", self.root):
                self._renames.flush()
        finally:
            self._renames.close()

    def _open_file(self, path: StorePath) -> tuple[int, os.stat_result] | None:
        try:
            with self._directories.parent_of(path) as (directory, name):
                return open_file(directory, name, path)
        except (FileNotFoundError, NotADirectoryError):
            return None


_store: type[Store] = LocalStore
_files: type[RenamesFiles] = LocalRenames
_bulk: type[RenamesInBulk] = LocalRenames
_directories: type[RenamesDirectories] = LocalRenames
_empty_directories: type[RemovesEmptyDirectories] = EmptyDirectories
_direct: type[WritesDirectly] = LocalDirect
