"""Listings, streamed one directory at a time, each reached anew from the root."""

import errno
import os
from collections.abc import AsyncIterator, Generator
from contextlib import closing

from fsspec_commit.errors import StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.names import AREA
from fsspec_commit.store import Directory, Entry, Unusable
from fsspec_commit_stores.local.contents import entry_of, is_hidden
from fsspec_commit_stores.local.directories import Directories
from fsspec_commit_stores.local.failures import not_done, refusal, reporting, symbolic_link

# How many names of a hundred bytes are in the 32 kB that the C library reads with one call.
_READ_AT_ONCE_MAX = 256
_TRIES_MAX, _TRIES_OF_MANY = 64, 4
_READ_AT_ONCE_BYTES = 2_000
"""How much every C library reads with one call: of musl's 2 kB, "." and ".." take some."""
_BESIDE_A_NAME_BYTES = 27


async def list_children(
    directories: Directories, path: StorePath
) -> AsyncIterator[Entry | Directory | Unusable]:
    """What stands directly in *path*; nothing when that is not a directory.

    A short directory is read by one call, so as of one moment. Each file is looked at afterwards,
    and where one is gone by then, the file that took its place was not read. So the directory is
    read again; a long one only a few times, for it may belong to no job.
    """
    found = [child for child in _settled(directories, path) if child is not None]
    for child in _without_unfinished(directories.relative(path), found):
        yield child


def list_at_once(
    directories: Directories, path: StorePath
) -> list[Entry | Directory | Unusable] | None:
    """What stands directly in *path*; ``None`` if some C library reads that by several calls.

    Also ``None`` for a directory that was renamed meanwhile: it may have been read afterwards.
    """
    directory = directories.relative(path)
    with reporting("list", path):
        try:
            handle = directories.open(directory)
        except (FileNotFoundError, NotADirectoryError):
            return []
        try:
            children = list(_read(directories, directory, handle))
            is_there = _leads_to(directories, directory, handle)
        finally:
            os.close(handle)
    shown = [child for child in children if child is not None]
    names = (child.path.rpartition("/")[2] for child in shown)
    size_bytes = sum(len(name.encode(errors="replace")) + _BESIDE_A_NAME_BYTES for name in names)
    is_short = size_bytes <= _READ_AT_ONCE_BYTES
    if not (is_there and is_short and len(shown) == len(children)):
        return None
    return _without_unfinished(directory, shown)


def _without_unfinished(
    directory: str, children: list[Entry | Directory | Unusable]
) -> list[Entry | Directory | Unusable]:
    """The children of a directory without, in a job's area, records that have no name yet.

    The first record makes the area, which counts as empty until that is whole. All other
    directories are listed as they are: somebody else may have given a file there such a name for
    good.
    """
    if not directory.startswith(f"{AREA}/") or directory.count("/") != 1:
        return children
    return [
        child
        for child in children
        if not (isinstance(child, Entry) and is_hidden(child.path.rpartition("/")[2]))
    ]


def _settled(
    directories: Directories, path: StorePath
) -> list[Entry | Directory | Unusable | None]:
    for tried in range(_TRIES_MAX):
        with closing(_children(directories, directories.relative(path))) as found:
            children = list(found)
        are_many = len(children) > _READ_AT_ONCE_MAX
        if None not in children or (are_many and tried >= _TRIES_OF_MANY):
            return children
    message = f"cannot list {path!r}: files there come and go all the time"
    raise not_done(message, path, errno.EBUSY)


async def list_tree(
    directories: Directories, path: StorePath, without: StorePath | None
) -> AsyncIterator[Entry]:
    """Every file below *path*, but for the directory *without*, which is not entered."""
    if without is not None and (path == without or path.startswith(f"{without}/")):
        return
    waiting = [directories.relative(path)]
    while waiting:
        with closing(_children(directories, waiting.pop())) as children:
            for child in children:
                if isinstance(child, Unusable):
                    raise child.refusal
                if isinstance(child, Entry):
                    yield child
                elif child is not None and child.path != without:
                    waiting.append(directories.relative(child.path))


def _children(
    directories: Directories, directory: str
) -> Generator[Entry | Directory | Unusable | None, None, None]:
    """One directory, with ``None`` for each file that vanishes meanwhile.

    Symbolic links, special files, and names that are not UTF-8 are unusable.
    """
    with reporting("list", directories.path(directory)):
        try:
            handle = directories.open(directory)
        except (FileNotFoundError, NotADirectoryError):
            return
        try:
            yield from _read(directories, directory, handle)
        finally:
            os.close(handle)


def _read(
    directories: Directories, directory: str, handle: int
) -> Generator[Entry | Directory | Unusable | None, None, None]:
    with os.scandir(handle) as found:
        for child in found:
            yield _usable(directories, directory, handle, child)


def _leads_to(directories: Directories, directory: str, handle: int) -> bool:
    """Whether *directory* still leads to the directory that *handle* is open on."""
    try:
        again = directories.open(directory)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        return os.path.samestat(os.fstat(again), os.fstat(handle))
    finally:
        os.close(again)


def _usable(
    directories: Directories, directory: str, handle: int, child: os.DirEntry[str]
) -> Entry | Directory | Unusable | None:
    try:
        return _shown(directories, directory, handle, child)
    except StoreError as error:
        return Unusable(StorePath(error.path or directories.path(directory)), error)


def _shown(
    directories: Directories, directory: str, handle: int, child: os.DirEntry[str]
) -> Entry | Directory | None:
    path = directories.path(directory, _decoded(child.name, directories.path(directory)))
    if child.is_symlink():
        raise symbolic_link(path)
    if child.is_dir(follow_symlinks=False):
        return Directory(path)
    try:
        status = child.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    return entry_of(path, status, at=handle, name=child.name)


def _decoded(name: str, where: str) -> str:
    """A name as it is on the disk, in UTF-8, whatever Python's locale made of it."""
    if name.isascii():
        return name
    try:
        return os.fsencode(name).decode()
    except UnicodeDecodeError:
        message = f"the name {name!a} in {where!r} is not valid UTF-8; rename it"
        raise refusal(message, where, errno.EILSEQ) from None
