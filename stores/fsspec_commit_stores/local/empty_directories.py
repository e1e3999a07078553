"""The removal of a directory on condition that it is empty: ``rmdir``."""

import errno
import os
import stat
from contextlib import suppress

from fsspec_commit.layout import StorePath
from fsspec_commit_stores.local.contents import is_hidden
from fsspec_commit_stores.local.deletion import is_removed_if_empty
from fsspec_commit_stores.local.directories import OPENING, Directories
from fsspec_commit_stores.local.failures import refusal, reporting


class EmptyDirectories:
    """`RemovesEmptyDirectories`."""

    are_made_by_writes = False

    def __init__(self, directories: Directories) -> None:
        self._directories = directories

    async def remove_empty_directory(self, path: StorePath) -> None:
        """Remove the directory *path*: the system refuses it if anything is in it.

        If all that is in it are files that no listing of an area shows, the hidden ones of writers
        that were killed or are slow, they are deleted first; a slow writer finds out when it gives
        its file a name.

        Raises:
            StoreError: Something is in it; it is not a directory; or the disk failed.
        """
        with reporting("delete", path):
            try:
                with self._directories.parent_of(path) as (parent, name):
                    mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
                    if not stat.S_ISDIR(mode):
                        message = f"cannot delete the directory {path!r}: it is none"
                        raise refusal(message, path, errno.ENOTDIR)
                    if is_removed_if_empty(parent, name):
                        return
                    if _are_hidden_gone(parent, name) and is_removed_if_empty(parent, name):
                        return
            except (FileNotFoundError, NotADirectoryError):
                return
            raise refusal(f"cannot delete {path!r}: it is not empty", path, errno.ENOTEMPTY)


def _are_hidden_gone(parent: int, name: bytes) -> bool:
    """Remove the hidden files in a directory, unless there is anything else in it."""
    handle = os.open(name, OPENING, dir_fd=parent)
    try:
        with os.scandir(handle) as found:
            children = list(found)
        if not all(is_hidden(one.name) and one.is_file(follow_symlinks=False) for one in children):
            return False
        for hidden in children:
            with suppress(FileNotFoundError):
                os.unlink(hidden.name, dir_fd=handle)
    finally:
        os.close(handle)
    return True
