"""The two system calls that Python lacks, and what stands in where the system lacks them too."""

import ctypes
import errno
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from fsspec_commit.errors import Reply
from fsspec_commit_stores.local.failures import failed

_RenameAt2: TypeAlias = Callable[[int, bytes, int, bytes, int], int]

_NO_REPLACE = 1
FORBIDDEN = frozenset({errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM})
"""The errors of a call that a sandbox (seccomp) forbids, or the file system or the kernel lacks.

Two of them can also mean that this file must not be changed: the call that is tried instead then
says so too.
"""
_NEITHER = (
    "of the system calls that give a file a name only if it is free, this system or this disk has "
    "neither renameat2 nor linkat: a sandbox may have to allow one of them"
)
# ENOSYS: kernel or libc is too old, or a sandbox forbids it. EINVAL: this file system (NFS, some
# FUSE) does not know the flag, which only the first rename of a real file can show: so there is
# nothing to ask at open, and no file system for which an answer would have to be remembered.
_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP})


def _renameat2() -> _RenameAt2 | None:
    if os.name != "posix":
        return None
    # CDLL lets other threads run meanwhile: a disk can take its time.
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return None
    number, text, flags = ctypes.c_int, ctypes.c_char_p, ctypes.c_uint
    function.argtypes = (number, text, number, text, flags)
    function.restype = number
    found: _RenameAt2 = function
    return found


_rename_at_2 = _renameat2()


def rename_file_exclusively(source: int, name: bytes, target: int, new_name: bytes) -> None:
    """Rename a file from one directory to another, refusing a name that is taken.

    ``renameat2`` through ctypes costs what ``link`` and ``unlink`` do together (7 µs
    on tmpfs, 13 on ext4; a plain rename 5 and 12) and is the only one that is one step.

    Raises:
        FileExistsError: The new name is taken.
        OSError: As ``rename(2)``.
    """
    if not _tried(source, name, target, new_name):
        _link_and_unlink(source, name, target, new_name)


def rename_directory_exclusively(source: int, name: bytes, target: int, new_name: bytes) -> None:
    """Rename a directory, refusing a name that is taken.

    Where the system has no exclusive rename, a look comes first. An empty directory made between
    the two is replaced, any other is refused by ``rename(2)`` itself; and the new names of
    directories here are ids and nonces, which nobody else makes.

    Raises:
        FileExistsError: The new name is taken.
        OSError: As ``rename(2)``.
    """
    if _tried(source, name, target, new_name):
        return
    try:
        os.stat(new_name, dir_fd=target, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)
    else:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def _tried(source: int, name: bytes, target: int, new_name: bytes) -> bool:
    """Whether the exclusive rename was done; False where there is no such call."""
    if _rename_at_2 is None:
        return False
    if _rename_at_2(source, name, target, new_name, _NO_REPLACE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED or (code in FORBIDDEN and _is_forbidden(_rename_at_2, source, target)):
        return False
    raise OSError(code, os.strerror(code))


def _is_forbidden(rename: _RenameAt2, source: int, target: int) -> bool:
    """Whether the call itself is forbidden, and not this file: a name that none has is tried."""
    rename(source, b"", target, b"", _NO_REPLACE)
    return ctypes.get_errno() in FORBIDDEN


def _link_and_unlink(source: int, name: bytes, target: int, new_name: bytes) -> None:
    try:
        os.link(name, new_name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
    except FileExistsError:
        # Whoever was killed between the two calls left one file with both names: go on there.
        if not _is_same(source, name, target, new_name):
            raise
    except OSError as error:
        if _has_no_links(error):
            raise OSError(error.errno, f"{error.strerror}; {_NEITHER}") from error
        raise
    try:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=source)
    except OSError as error:
        raise failed("rename", os.fsdecode(name), error, reply=Reply.UNKNOWN) from error


def _has_no_links(error: OSError) -> bool:
    """Whether there is no call for a second name, rather than one that this file may not have."""
    if error.errno in {errno.ENOSYS, errno.EOPNOTSUPP}:
        return True
    try:
        os.link(b"", b"", follow_symlinks=False)  # A name that none has.
    except OSError as asked:
        return asked.errno in FORBIDDEN
    return False


def _is_same(source: int, name: bytes, target: int, new_name: bytes) -> bool:
    try:
        one = os.stat(name, dir_fd=source, follow_symlinks=False)
        other = os.stat(new_name, dir_fd=target, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(one, other)


def flush_file_system(handle: int) -> None:
    """Write out everything that the file system of *handle* still holds in memory."""
    function = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if function is None:
        os.sync()
    elif function(ctypes.c_int(handle)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
