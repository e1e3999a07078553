"""Renames: one system call between two remembered directories; everything else is the slow path.

Overhead counts here: a job commits with one rename a file. Nothing is asked beforehand but whether
the source is a file (1.6 µs); what an error means is found out after it.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fsspec_commit.errors import StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.names import SUCCESS
from fsspec_commit.store import Durability, Expect, Expectation, Token
from fsspec_commit_stores.local.contents import check_target
from fsspec_commit_stores.local.directories import (
    Directories,
    flush_directory,
    flush_tree,
)
from fsspec_commit_stores.local.failures import (
    failed,
    not_done,
    refusal,
    reporting,
    special_file,
    symbolic_link,
)
from fsspec_commit_stores.local.handles import Handles
from fsspec_commit_stores.local.system_calls import (
    flush_file_system,
    rename_directory_exclusively,
    rename_file_exclusively,
)

# The way to one of the two names is not, or no longer, what it was.
_ANEW = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESTALE})
_MARKER = SUCCESS.encode()


class LocalRenames:
    """`RenamesFiles`, `RenamesInBulk` and `RenamesDirectories`; for the loop's thread only.

    Coroutines here never suspend, so what one does with a remembered handle no other interrupts.
    """

    def __init__(self, directories: Directories, durability: Durability) -> None:
        self._directories = directories
        self._handles = Handles(directories)
        self._durability = durability
        self._unflushed: dict[str, None] = {}

    async def rename(
        self,
        source: StorePath,
        target: StorePath,
        *,
        token: Token | None,  # noqa: ARG002  # a look would promise nothing
        expecting: Expectation,
        within: StorePath,
    ) -> None:
        """Rename a file, exclusively in one step for ``Expect.ABSENT``.

        Where a token is expected, the target is looked at just before: what a foreign writer puts
        there in between is lost. *token* does not pin the source: no disk could do that in one
        step.

        Raises:
            StoreError: The target exists or is not as expected; the source is missing; a file is
                in the way of a directory; or the disk failed.
        """
        self._rename(source, target, expecting, within)

    async def rename_in_bulk(
        self, renames: Sequence[tuple[StorePath, StorePath]], *, within: StorePath
    ) -> int:
        """Rename files exclusively, one after the other; return how many before one failed."""
        done = 0
        try:
            for source, target in renames:
                self._rename(source, target, Expect.ABSENT, within)
                done += 1
        except StoreError:
            pass  # The caller renames that one alone, and learns why it fails.
        return done

    def _rename(
        self, source: StorePath, target: StorePath, expecting: Expectation, within: StorePath
    ) -> None:
        if self._durability != "none":
            self._flush_before(target)
        try:
            directory, name = self._handles.parent_of(source)
            new_directory, new_name = self._handles.parent_of(target)
            anew = new_directory.is_in_area
            if not anew:
                from_handle, to_handle = directory.descriptor, new_directory.descriptor
                mode = os.stat(name, dir_fd=from_handle, follow_symlinks=False).st_mode
                if not stat.S_ISREG(mode):
                    raise _no_file(mode, source)
                if expecting is Expect.ABSENT:
                    rename_file_exclusively(from_handle, name, to_handle, new_name)
                else:
                    check_target(to_handle, new_name, target, expecting)
                    os.replace(name, new_name, src_dir_fd=from_handle, dst_dir_fd=to_handle)
        except OSError as error:
            if error.errno not in _ANEW or isinstance(error, StoreError):
                raise _explained(source, target, error) from error
            self._handles.forget(source)
            self._handles.forget(target)
            anew = True
        if anew:
            self._rename_anew(source, target, expecting, within)
        if self._durability != "none":
            self._flush_after(target)

    def _rename_anew(
        self, source: StorePath, target: StorePath, expecting: Expectation, within: StorePath
    ) -> None:
        """Rename by fresh handles, making directories: the second and last try."""
        new_directory, new_name = self._directories.split(target)
        with self._renaming(source, target) as (from_handle, name, mode):
            if not stat.S_ISREG(mode):
                raise _no_file(mode, source)
            to_handle = self._directories.make(new_directory, within)
            try:
                if expecting is Expect.ABSENT:
                    rename_file_exclusively(from_handle, name, to_handle, new_name)
                else:
                    check_target(to_handle, new_name, target, expecting)
                    os.replace(name, new_name, src_dir_fd=from_handle, dst_dir_fd=to_handle)
            finally:
                os.close(to_handle)

    async def rename_directory(
        self, source: StorePath, target: StorePath, *, within: StorePath
    ) -> None:
        """Rename a directory in one step; under ``durability="full"`` all of it is flushed.

        Raises:
            StoreError: The target exists; the source is missing or not a directory; or the disk
                failed.
        """
        new_directory, new_name = self._directories.split(target)
        flushed = self._durability == "full"
        self._handles.forget_below(source)
        self._handles.forget_below(target)
        with self._renaming(source, target) as (from_handle, name, mode):
            if not stat.S_ISDIR(mode):
                message = f"cannot rename the directory {source!r}: it is a file"
                raise refusal(message, source, errno.ENOTDIR)
            to_handle = self._directories.make(new_directory, within, flushed=flushed)
            try:
                if flushed:
                    flush_tree(from_handle, name)
                rename_directory_exclusively(from_handle, name, to_handle, new_name)
                if flushed:
                    flush_directory(to_handle)
                    flush_directory(from_handle)
            finally:
                os.close(to_handle)

    @contextmanager
    def _renaming(self, source: StorePath, target: StorePath) -> Iterator[tuple[int, bytes, int]]:
        """A fresh handle on the directory of *source*, its name there, and its mode."""
        directory, name = self._directories.split(source)
        try:
            handle = self._directories.open(directory)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise _source_missing(source, target) from error
        except OSError as error:
            raise failed(f"rename to {target!r} what is at", source, error) from error
        try:
            try:
                mode = _mode(handle, name)
            except FileNotFoundError as error:
                raise _source_missing(source, target) from error
            if stat.S_ISLNK(mode):
                raise symbolic_link(source)
            yield handle, name, mode
        except OSError as error:
            raise _explained(source, target, error) from error
        finally:
            os.close(handle)

    def forget_below(self, directory: StorePath) -> None:
        """Forget the handles in a tree that is about to be deleted."""
        self._handles.forget_below(directory)

    def flush(self) -> None:
        """Make every rename so far survive a power failure, where that was asked for."""
        while self._unflushed:
            directory = next(iter(self._unflushed))
            try:
                handle = self._directories.open(directory)
            except (FileNotFoundError, NotADirectoryError):
                pass  # Moved or deleted since: there is no name left to keep.
            else:
                try:
                    flush_directory(handle)
                finally:
                    os.close(handle)
            del self._unflushed[directory]

    def close(self) -> None:
        """Close every remembered handle."""
        self._handles.close()

    def _flush_before(self, target: StorePath) -> None:
        """Flush all data if *target* is the marker, before it appears: it vouches for the data."""
        if self._directories.split(target)[1] != _MARKER:
            return
        with reporting("flush the file system of", self._directories.root):
            handle = self._directories.open("")
            try:
                flush_file_system(handle)
            finally:
                os.close(handle)

    def _flush_after(self, target: StorePath) -> None:
        directory, name = self._directories.split(target)
        if self._durability == "full":
            self._unflushed[directory] = None
        if name == _MARKER:
            self._unflushed[directory] = None
            with reporting("flush", self._directories.path(directory)):
                self.flush()


def _mode(handle: int, name: bytes) -> int:
    return os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode


def _no_file(mode: int, source: StorePath) -> StoreError:
    """The refusal of what a rename would take as readily: a directory, with all that is in it."""
    if stat.S_ISDIR(mode):
        message = f"cannot rename the file {source!r}: it is a directory"
        return refusal(message, source, errno.EISDIR)
    return symbolic_link(source) if stat.S_ISLNK(mode) else special_file(source)


def _source_missing(source: StorePath, target: StorePath) -> OSError:
    message = f"cannot rename {source!r} to {target!r}: the source does not exist"
    return refusal(message, source, errno.ENOENT)


def _explained(source: StorePath, target: StorePath, error: OSError) -> OSError:
    """The error of a rename between two directories that were there just before."""
    if not isinstance(error, StoreError) and error.errno == errno.EEXIST:
        message = f"cannot rename {source!r} to {target!r}: the target exists"
        return refusal(message, target, errno.EEXIST)
    if not isinstance(error, StoreError) and error.errno == errno.ENOENT:
        message = f"cannot rename {source!r} to {target!r}: somebody else removed one meanwhile"
        return not_done(message, target, errno.ENOENT)
    return failed(f"rename {source!r} to", target, error)
