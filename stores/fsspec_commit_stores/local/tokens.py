"""Which content a file is, and what tells two of them apart where the disk keeps no fine time.

Inode, time and length: a rename keeps them and a write changes the time. But ext2, ext3, ext4 with
small inodes, and FAT keep whole seconds (FAT, two of them), and the inode of a deleted file goes to
the next one: then a file that replaces another at once has all three of the old one. Its generation
differs, a number that a file system draws for each new use of an inode. Asking for it costs an
open file, so it is asked for only where the time is a whole second; on other disks these are files
that were unpacked or copied with their times.
"""

import errno
import fcntl
import os
import struct
import sys

from fsspec_commit.errors import Reply
from fsspec_commit.store import Token
from fsspec_commit_stores.local.directories import NO_FOLLOW
from fsspec_commit_stores.local.failures import reply_of

_SECOND_NS = 1_000_000_000
_OPENING = os.O_RDONLY | NO_FOLLOW | getattr(os, "O_NONBLOCK", 0)
_LONG = struct.Struct("@l")
_INT = struct.Struct("@i")
# _IOR('v', 1, long): FS_IOC_GETVERSION, which writes an int all the same.
_GET_GENERATION = 2 << 30 | _LONG.size << 16 | ord("v") << 8 | 1


def token_of(status: os.stat_result, *, at: int, name: bytes | str | None = None) -> Token:
    """Which content a file is: survives a rename, changes with every write.

    Args:
        status: What the disk says of it.
        at: The file itself, opened; with *name*, the directory that it is in.
        name: Its name there.

    Raises:
        OSError: It cannot be told just now, as where no more files can be opened.
    """
    token = f"{status.st_ino:x}-{status.st_mtime_ns:x}-{status.st_size:x}"
    if status.st_mtime_ns % _SECOND_NS == 0:
        generation = _generation_of(at) if name is None else _generation_at(at, name)
        if generation is not None:
            token = f"{token}-{generation & 0xFFFFFFFF:x}"
    return Token(token)


def keeps_whole_seconds(status: os.stat_result) -> bool:
    """Whether a disk gives its files times of whole seconds, by the *status* of a directory there.

    Nobody can set the time of a directory's last change (ctime), and it is hardly ever a whole
    second by chance.
    """
    return status.st_mtime_ns % _SECOND_NS == 0 and status.st_ctime_ns % _SECOND_NS == 0


def _generation_at(directory: int, name: bytes | str) -> int | None:
    try:
        descriptor = os.open(name, _OPENING, dir_fd=directory)
    except OSError as error:
        _raise_if_for_now(error)
        return None  # Gone, or not for us to read: the token has to do without it.
    try:
        return _generation_of(descriptor)
    finally:
        os.close(descriptor)


def _generation_of(descriptor: int) -> int | None:
    """What the file system has drawn for this use of the inode; ``None`` where it draws nothing."""
    if sys.platform != "linux":
        return None
    try:
        answer = fcntl.ioctl(descriptor, _GET_GENERATION, bytes(_LONG.size))
    except OSError as error:
        _raise_if_for_now(error)
        return None
    return int(_INT.unpack_from(answer)[0])


def _raise_if_for_now(error: OSError) -> None:
    """Raise an error that will pass: a token without its generation would not match later ones."""
    if error.errno == errno.EIO or reply_of(error) is Reply.NOT_DONE:
        raise error
