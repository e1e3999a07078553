"""The way from the root to a directory, one handle at a time, never through a symbolic link.

Every component is opened below its parent's handle with ``O_NOFOLLOW``, so that a directory that
is swapped for a link between a look and a change cannot lead the change out of the destination.
Names go to the system as UTF-8 bytes, whatever the locale says.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from fsspec_commit.layout import StorePath
from fsspec_commit.names import AREA
from fsspec_commit_stores.local.failures import refusal, symbolic_link

# By getattr, so that on Windows, which has none, `open` can say that it is not supported.
NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
OPENING = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | NO_FOLLOW
_NOT_NAMES = frozenset({"", ".", ".."})
_REFUSED_MAX = 8
# What opening a component says when it is a link or a file.
NO_DIRECTORY = frozenset({errno.ENOTDIR, errno.ELOOP})


class Directories:
    """Every directory below one root."""

    def __init__(self, root: StorePath) -> None:
        self.root = root
        self._root = root.encode()
        self._prefix = root if root.endswith("/") else f"{root}/"
        self._skip = len(self._prefix)

    def relative(self, path: StorePath) -> str:
        """What *path* is called below the root; ``""`` for the root.

        Raises:
            StoreError: It is not below the root (P10).
        """
        if path == self.root:
            return ""
        if not path.startswith(self._prefix):
            raise _outside(path)
        return path[self._skip :]

    def split(self, path: StorePath) -> tuple[str, bytes]:
        """The directory that *path* is in, relative to the root, and its name in that.

        Raises:
            StoreError: It is the root or not below it, or no disk can hold such a name.
        """
        if not path.startswith(self._prefix):
            raise _outside(path)
        directory, _, name = path[self._skip :].rpartition("/")
        return directory, encoded(name, path)

    def path(self, directory: str, name: str | None = None) -> StorePath:
        """Where the store finds a directory, or *name* in it."""
        whole = f"{self._prefix}{directory}" if directory else self.root
        if name is None:
            return StorePath(whole)
        return StorePath(f"{whole}{name}" if whole.endswith("/") else f"{whole}/{name}")

    @contextmanager
    def parent_of(self, path: StorePath) -> Iterator[tuple[int, bytes]]:
        """A handle on the directory that *path* is in, and its name in that.

        Raises:
            FileNotFoundError: There is no such directory.
            NotADirectoryError: A file is in its place.
        """
        directory, name = self.split(path)
        handle = self.open(directory)
        try:
            yield handle, name
        finally:
            os.close(handle)

    def open(self, directory: str) -> int:
        """Open a new handle on a directory; the caller closes it.

        Raises:
            FileNotFoundError: There is none.
            NotADirectoryError: A file is in its place.
            StoreError: A symbolic link is in its place.
        """
        return self._walk(directory, self._open_root(), making_from=None, flushed=False)

    def open_in(self, above: int, directory: str) -> int:
        """Open a new handle on a directory, below the one that the handle *above* is on.

        Raises:
            OSError: As :meth:`open`.
        """
        name = encoded(directory.rpartition("/")[2], directory)
        try:
            return os.open(name, OPENING, dir_fd=above)
        except OSError as error:
            raise self._obstacle(above, directory, name, error) from error

    def make(self, directory: str, within: StorePath | None, *, flushed: bool = False) -> int:
        """A new handle on a directory, made if need be; the caller closes it.

        Args:
            directory: Relative to the root.
            within: What must exist already, at or above it; ``None`` makes the root as well.
            flushed: Whether what is made survives a power failure from here on.

        Raises:
            StoreError: *within* is missing, or something else is in the way.
        """
        try:
            if within is None:
                making_from = 0
                root = self._open_or_make_root(flushed=flushed)
            else:
                making_from = self._depth(directory, within)
                root = self._open_root()
            return self._walk(directory, root, making_from=making_from, flushed=flushed)
        except FileNotFoundError as error:
            missing = _shown(error.filename)
            message = f"{missing!r} is missing, and is not to be made again"
            raise refusal(message, self.path(directory), errno.ENOENT) from error
        except NotADirectoryError as error:
            obstacle = _in_the_way(_shown(error.filename))
            wanted = self.path(directory)
            message = f"cannot make the directory {wanted!r}: the file {obstacle!r} is in the way"
            raise refusal(message, obstacle, errno.ENOTDIR) from error

    def _depth(self, directory: str, within: StorePath) -> int:
        """How many components of *directory* must exist."""
        existing = self.relative(within)
        if not existing:
            return 0
        if directory != existing and not directory.startswith(f"{existing}/"):
            raise _outside(self.path(directory), within)
        return existing.count("/") + 1

    def _open_root(self) -> int:
        try:
            return os.open(self._root, OPENING)
        except OSError as error:
            raise self._obstacle(None, "", self._root, error) from error

    def _open_or_make_root(self, *, flushed: bool) -> int:
        try:
            return self._open_root()
        except FileNotFoundError:
            _make_all(self._root, flushed=flushed)
            return self._open_root()

    def _walk(self, directory: str, start: int, *, making_from: int | None, flushed: bool) -> int:
        handle = start
        names = directory.split("/") if directory else []
        try:
            for depth, name in enumerate(names):
                own = encoded(name, directory)
                making = making_from is not None and depth >= making_from
                try:
                    below = _enter(handle, own, making=making, flushed=flushed)
                except OSError as error:
                    seen = "/".join(names[: depth + 1])
                    raise self._obstacle(handle, seen, own, error) from error
                # In this order: an interrupt between the two may leak a handle, but never closes
                # one twice, whose number could be another thread's by then.
                above, handle = handle, below
                os.close(above)
        except BaseException:
            os.close(handle)
            raise
        return handle

    def _obstacle(self, handle: int | None, directory: str, name: bytes, error: OSError) -> OSError:
        """*error* about the whole path, told apart by what is there: a link, a file, or nothing."""
        path = self.path(directory)
        if error.errno in NO_DIRECTORY:
            try:
                mode = os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode
            except OSError:
                return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            if stat.S_ISLNK(mode):
                return symbolic_link(path)
        return OSError(error.errno, error.strerror, path)


def is_in_area(directory: str) -> bool:
    """Whether a directory, relative to the root, is the work area or lies in it."""
    return directory == AREA or directory.startswith(f"{AREA}/")


def flush_directory(handle: int) -> None:
    """Make the names in a directory survive a power failure, where that can be asked for."""
    try:
        os.fsync(handle)
    except OSError as error:
        # Some mounts refuse this for directories, because they write names through anyway.
        if error.errno not in {errno.EINVAL, errno.EOPNOTSUPP, errno.EBADF}:
            raise


def flush_tree(parent: int, name: bytes | str) -> None:
    """Make the directory *name* and all below it survive a power failure, whoever wrote it."""
    handle = os.open(name, OPENING, dir_fd=parent)
    try:
        with os.scandir(handle) as children:
            for child in children:
                if child.is_dir(follow_symlinks=False):
                    flush_tree(handle, child.name)
                elif child.is_file(follow_symlinks=False):
                    _flush_file(handle, child.name)
        flush_directory(handle)
    finally:
        os.close(handle)


def _flush_file(directory: int, name: str) -> None:
    descriptor = os.open(name, os.O_RDONLY | NO_FOLLOW, dir_fd=directory)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _enter(handle: int, name: bytes, *, making: bool, flushed: bool) -> int:
    try:
        return os.open(name, OPENING, dir_fd=handle)
    except FileNotFoundError:
        if not making:
            raise
    # If it exists by now, somebody has just made it, and may not have flushed it yet; or it is a
    # dangling link: opening it tells.
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=handle)
    if flushed:
        flush_directory(handle)
    return os.open(name, OPENING, dir_fd=handle)


def _make_all(path: bytes, *, flushed: bool) -> None:
    """Make a directory and what is missing above it."""
    missing, refused = [path], 0
    while missing:
        try:
            _make_one(missing[-1], flushed=flushed)
        except FileNotFoundError:
            above = os.path.dirname(missing[-1])  # noqa: PTH120  # bytes
            if not os.path.lexists(above):
                missing.append(above)
                continue
            # Somebody has just removed it, or made it; or it is /proc, which always says so.
            refused += 1
            if refused > _REFUSED_MAX:
                why = "this file system takes no new directory there"
                raise OSError(errno.EPERM, why, missing[-1]) from None
        else:
            missing.pop()


def _make_one(path: bytes, *, flushed: bool) -> None:
    with suppress(FileExistsError):
        os.mkdir(path)  # noqa: PTH102  # bytes, which pathlib has not
    if flushed:
        handle = os.open(os.path.dirname(path), os.O_RDONLY)  # noqa: PTH120
        try:
            flush_directory(handle)
        finally:
            os.close(handle)


def encoded(name: str, path: str) -> bytes:
    """The bytes of one component of *path*, which no disk takes for anything else.

    Raises:
        StoreError: It is not a name, or no disk can hold it.
    """
    if name in _NOT_NAMES:
        raise _outside(path)
    try:
        text = name.encode()
    except UnicodeEncodeError:
        message = f"the name {name!a} is not valid unicode"
        raise refusal(message, ascii(path), errno.EILSEQ) from None
    # A system call would silently stop reading at a null byte.
    if b"\0" in text:
        raise refusal(f"the name {name!a} holds a null character", path, errno.EINVAL)
    return text


def _outside(path: str, within: str | None = None) -> OSError:
    where = "the destination" if within is None else repr(within)
    return refusal(f"the path {path!r} does not name something below {where}", path, errno.EINVAL)


def _in_the_way(path: str) -> str:
    """The nearest thing at or above *path*, where the system says only that a file is there."""
    while True:
        try:
            os.lstat(path)
        except NotADirectoryError:
            path = os.path.dirname(path)  # noqa: PTH120  # text in, text out
        except OSError:
            return path
        else:
            return path


def _shown(filename: object) -> str:
    return os.fsdecode(filename) if isinstance(filename, str | bytes) else str(filename)
