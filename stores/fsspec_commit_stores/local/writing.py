"""Files written under their working names: on the caller's own thread, or through the loop."""

import io
import os
import warnings
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry
from fsspec_commit_stores.local.contents import create_file, entry_of, stamp
from fsspec_commit_stores.local.directories import Directories, flush_directory
from fsspec_commit_stores.local.failures import reporting

_BUFFER_BYTES = 1 << 20

_Write: TypeAlias = Callable[[bytes | bytearray | memoryview], int]


class LocalFile:
    """A file written by one thread, without a loop; to us it is not there until it is finished.

    Attributes:
        write: Append bytes: the buffer's own method, so that a small write stays inside C.
    """

    write: _Write

    def __init__(
        self, directories: Directories, path: StorePath, *, within: StorePath, flushed: bool
    ) -> None:
        self._directories = directories
        self._path = path
        self._flushed = flushed
        directory, name = directories.split(path)
        with reporting("create", path):
            handle = directories.make(directory, within, flushed=flushed)
            try:
                descriptor = create_file(handle, name, path)
            finally:
                os.close(handle)
        self._identity = os.fstat(descriptor)
        self._process = os.getpid()
        self._finished = False
        self._raw = io.FileIO(descriptor, "wb")
        self._buffered = io.BufferedWriter(self._raw, _BUFFER_BYTES)
        self.write = self._buffered.write
        _open_files.add(self)

    def finish(self) -> Entry:
        """Write out what is buffered, flush the file if it is to be *flushed*, and close it.

        Raises:
            OSError: A plain one, that names the file; the file is closed, and to be discarded.
        """
        try:
            self._buffered.flush()
            status = stamp(self._raw.fileno())
            if self._flushed:
                os.fsync(self._raw.fileno())
            entry = entry_of(self._path, status, at=self._raw.fileno())
            self._buffered.close()
        except OSError as error:
            self._close()
            raise OSError(error.errno, error.strerror, self._path) from error
        self._finished = True
        return entry

    def flush_name(self) -> None:
        """Make the name of the file survive a power failure, if its directory is still there."""
        with (
            suppress(FileNotFoundError),
            self._directories.parent_of(self._path) as (directory, _),
        ):
            flush_directory(directory)

    def discard(self) -> None:
        """Leave nothing of it, unless it is finished; another file of its name stays.

        In a forked child only the descriptor is closed: the file is the parent's.
        """
        if self._finished:
            return
        self._close()
        if self._process != os.getpid():
            return
        with suppress(OSError), self._directories.parent_of(self._path) as (directory, name):
            there = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if os.path.samestat(there, self._identity):
                os.unlink(name, dir_fd=directory)

    def __del__(self) -> None:
        # Not finished and not discarded: an exception cut it short. Python would write out what is
        # buffered and leave a file that looks whole. In a forked child the garbage collector may
        # come before `leave_to_parent`.
        raw = getattr(self, "_raw", None)
        if raw is not None and not raw.closed:
            self.discard()
            if self._process != os.getpid():
                return
            warnings.warn(f"{self._path!r} was abandoned", ResourceWarning, stacklevel=2)

    def leave_to_parent(self) -> None:
        """In a forked child: close the descriptor, so that nothing buffered is written twice."""
        self._close()

    def _close(self) -> None:
        # The raw file first, so that what is buffered is dropped instead of written.
        with suppress(OSError):
            self._raw.close()


_open_files: weakref.WeakSet[LocalFile] = weakref.WeakSet()


def _leave_to_parent() -> None:
    for file in list(_open_files):
        file.leave_to_parent()


os.register_at_fork(after_in_child=_leave_to_parent)


class LocalWriter:
    """A file written on the event loop; always flushed, as it may be a list of the protocol."""

    def __init__(self, file: LocalFile, path: StorePath) -> None:
        self._file = file
        self._path = path

    async def write(self, data: bytes) -> None:
        """Append *data*."""
        with reporting("write", self._path):
            self._file.write(data)

    async def finish(self) -> Entry:
        """Write it out, flush it and its name, close it."""
        with reporting("write", self._path):
            entry = self._file.finish()
            self._file.flush_name()
            return entry

    async def discard(self) -> None:
        """Leave nothing of it."""
        self._file.discard()


class LocalDirect:
    """Writing on the caller's own thread: `WritesDirectly`; safe to use from many threads."""

    def __init__(self, directories: Directories, *, flushed: bool) -> None:
        self._directories = directories
        self._flushed = flushed

    def writer(self, path: StorePath, *, within: StorePath) -> LocalFile:
        """Create the file at *path*, in the place of a closed one.

        Raises:
            StoreError: *within* is missing, or it cannot be created.
        """
        return LocalFile(self._directories, path, within=within, flushed=self._flushed)
