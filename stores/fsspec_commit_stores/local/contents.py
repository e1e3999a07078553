"""One file in an opened directory: looked at, read, and put in place whole."""

import errno
import os
import re
import stat
from contextlib import suppress
from time import time_ns

from fsspec_commit.errors import Reply
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Content, Entry, Expect, Expectation, Token
from fsspec_commit_stores.local.directories import NO_FOLLOW, flush_directory
from fsspec_commit_stores.local.failures import (
    failed,
    not_done,
    refusal,
    special_file,
    symbolic_link,
)
from fsspec_commit_stores.local.system_calls import FORBIDDEN, rename_file_exclusively
from fsspec_commit_stores.local.tokens import token_of

# A pipe in a file's place must not stop the loop.
_READING = os.O_RDONLY | NO_FOLLOW | getattr(os, "O_NONBLOCK", 0)
_CREATING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW
_UNNAMED: int = getattr(os, "O_TMPFILE", 0)
# For a directory that is gone ext4 says EPERM, where the other way says ENOENT.
_NO_UNNAMED = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT, errno.EPERM})
_NO_LINK = frozenset({errno.ENOENT, errno.EXDEV}) | FORBIDDEN
_HIDDEN = re.compile(r"\.[0-9a-f]{32}\.tmp")
_PERMISSIONS = 0o666
_TRIES_MAX = 8


def entry_of(
    path: StorePath, status: os.stat_result, *, at: int, name: bytes | str | None = None
) -> Entry:
    """A regular file as the store shows it.

    Args:
        path: Its path.
        status: What the disk says of it.
        at: The file itself, opened; with *name*, the directory that it is in.
        name: Its name there.

    Raises:
        StoreError: It is a symbolic link, a pipe, a socket or a device.
    """
    if stat.S_ISREG(status.st_mode):
        token = token_of(status, at=at, name=name)
        return Entry(path=path, size_bytes=status.st_size, token=token)
    if stat.S_ISLNK(status.st_mode):
        raise symbolic_link(path)
    raise special_file(path)


def stamp(descriptor: int) -> os.stat_result:
    """Give a finished file a modification time of its own.

    File systems keep time in ticks of some milliseconds and give the inode of a deleted file to
    the next: without this, two files of one length had one token.
    """
    now = time_ns()
    os.utime(descriptor, ns=(now, now))
    return os.fstat(descriptor)


def open_file(directory: int, name: bytes, path: StorePath) -> tuple[int, os.stat_result] | None:
    """A handle to read a file by; ``None`` when there is none, or a directory.

    Raises:
        StoreError: It is a symbolic link, a pipe, a socket or a device.
    """
    try:
        descriptor = os.open(name, _READING, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise symbolic_link(path) from error
        if error.errno == errno.ENXIO:
            raise special_file(path) from error
        raise
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode):
        return descriptor, status
    os.close(descriptor)
    if stat.S_ISDIR(status.st_mode):
        return None
    raise special_file(path)


def read_whole(
    descriptor: int, status: os.stat_result, path: StorePath, limit_bytes: int
) -> Content:
    """Everything in an opened file.

    Raises:
        StoreError: It is longer than the limit (`REFUSED`), or is being written (`NOT_DONE`).
    """
    entry = entry_of(path, status, at=descriptor)
    if status.st_size > limit_bytes:
        message = f"{path!r} has {status.st_size} bytes, and at most {limit_bytes} are read"
        raise refusal(message, path, errno.EFBIG)
    data = read_at(descriptor, 0, status.st_size + 1)
    if len(data) != status.st_size:
        raise not_done(f"{path!r} changed while it was read", path, errno.EAGAIN)
    return Content(entry, data)


def read_at(descriptor: int, start: int, length: int) -> bytes:
    """At most *length* bytes from *start*; fewer only at the end."""
    data = os.pread(descriptor, length, start)
    if len(data) == length or not data:
        return data
    pieces = [data]
    while data and (missing := length - sum(map(len, pieces))):
        data = os.pread(descriptor, missing, start + length - missing)
        pieces.append(data)
    return b"".join(pieces)


def is_hidden(name: str) -> bool:
    """Whether this is the name of an unfinished file, on a disk where those must have names."""
    return _HIDDEN.fullmatch(name) is not None


def check_target(directory: int, name: bytes, path: StorePath, expecting: Expectation) -> None:
    """Refuse to replace what is not as expected; a look only, as disks have no compare-and-swap.

    Raises:
        StoreError: Other content, or a thing that is not a file, stands at *path*.
    """
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        if isinstance(expecting, Expect):
            return
        message = f"cannot replace {path!r}: it is gone"
        raise refusal(message, path, errno.ENOENT) from None
    if stat.S_ISDIR(status.st_mode):
        raise refusal(f"cannot replace {path!r}: it is a directory", path, errno.EISDIR)
    entry = entry_of(path, status, at=directory, name=name)
    if not isinstance(expecting, Expect) and entry.token != expecting:
        message = f"cannot replace {path!r}: it is not the content that was expected"
        raise refusal(message, path, errno.EEXIST)


def put_whole(
    directory: int, name: bytes, data: bytes, path: StorePath, expecting: Expectation
) -> Token:
    """Write and flush a small file, give it its name in one step, and flush the name.

    Raises:
        StoreError: It is in place, and may not survive a power failure (`UNKNOWN`).
        OSError: It was not done, and nothing is left of it.
    """
    if expecting is Expect.ABSENT:
        token = _put_unnamed(directory, name, data)
        if token is None:
            token = _put_renamed(directory, name, data, exclusively=True)
    else:
        check_target(directory, name, path, expecting)
        token = _put_renamed(directory, name, data, exclusively=False)
    try:
        flush_directory(directory)
    except OSError as error:
        raise failed("flush the directory of", path, error, reply=Reply.UNKNOWN) from error
    return token


def _put_unnamed(directory: int, name: bytes, data: bytes) -> Token | None:
    """Write a file that has no name until it is whole, so that a kill leaves nothing.

    As fast as the other way (15 µs on tmpfs). ``None`` where this file system or this kernel
    cannot.
    """
    if not _UNNAMED:
        return None
    try:
        descriptor = os.open(b".", _UNNAMED | os.O_WRONLY, _PERMISSIONS, dir_fd=directory)
    except OSError as error:
        if error.errno in _NO_UNNAMED:
            return None
        raise
    try:
        token = _write(descriptor, data)
        link = b"/proc/self/fd/%d" % descriptor
        os.link(link, name, dst_dir_fd=directory, follow_symlinks=True)
    except OSError as error:
        # No /proc, no links, or a sandbox without them: the other way says what is the matter.
        if error.errno in _NO_LINK:
            return None
        raise
    finally:
        os.close(descriptor)
    return token


def _put_renamed(directory: int, name: bytes, data: bytes, *, exclusively: bool) -> Token:
    """Write a file under a hidden name, then rename it; only a kill leaves the hidden one."""
    temporary = f".{SYSTEM_IDS.nonce()}.tmp".encode()
    descriptor = os.open(temporary, _CREATING, _PERMISSIONS, dir_fd=directory)
    try:
        try:
            token = _write(descriptor, data)
        finally:
            os.close(descriptor)
        if exclusively:
            rename_file_exclusively(directory, temporary, directory, name)
        else:
            os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise
    return token


def _write(descriptor: int, data: bytes) -> Token:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
    status = stamp(descriptor)
    os.fsync(descriptor)
    return token_of(status, at=descriptor)


def create_file(directory: int, name: bytes, path: StorePath) -> int:
    """A new, empty file under its own name, in the place of a closed one.

    The old file is unlinked, not truncated: whoever still has it open, or knows it by another
    name, keeps it.

    Raises:
        StoreError: A directory or a symbolic link stands there.
    """
    for _ in range(_TRIES_MAX):
        with suppress(FileExistsError):
            return os.open(name, _CREATING, _PERMISSIONS, dir_fd=directory)
        check_target(directory, name, path, Expect.ANYTHING)
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=directory)
    raise not_done(f"somebody else keeps writing {path!r}", path, errno.EEXIST)
