"""What the memory filesystem of fsspec holds in this process: files and directories by name.

All but `LOCK` is for those who hold it. Programs that use ``fsspec.filesystem("memory")`` take no
lock: they may add and remove names at any moment at which Python lets another thread run.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from fsspec.implementations.memory import MemoryFileSystem

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry, Expect, Expectation, Token

LOCK = Lock()
serials: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
_next_serial = count(1)


def files() -> dict[str, Any]:
    """Every ``MemoryFile`` of the process by its path."""
    files: dict[str, Any] = MemoryFileSystem.store
    return files


def directories() -> list[str]:
    """The directories that fsspec lists; some may be listed twice, and files can imply others."""
    directories: list[str] = MemoryFileSystem.pseudo_dirs
    return directories


def below(path: str, without: str | None = None) -> Iterator[tuple[StorePath, Any]]:
    """The files below the directory *path*, but for those below *without*, as at one moment."""
    beginning = f"{path}/"
    left_out = () if without is None else f"{without}/"
    # In one step, unlike `tuple(….items())`: a garbage collection in it may let other code run.
    for name, file in files().copy().items():
        if name.startswith(beginning) and not name.startswith(left_out):
            yield StorePath(name), file


def directories_at(path: str) -> list[str]:
    """*path*, if it is listed, and the listed directories below it."""
    names = directories().copy()
    return [name for name in names if name == path or name.startswith(f"{path}/")]


def remove_directories(names: Iterable[str]) -> None:
    """Remove each of *names* once from the directories that fsspec lists."""
    for name in names:
        with suppress(ValueError):  # a program that takes no lock has removed it first
            directories().remove(name)


def is_directory(path: str) -> bool:
    """Whether *path* is listed, or any name is below it."""
    # The list first: what this adapter makes is in it, and it is far shorter than all files.
    beginning = f"{path}/"
    return path in directories() or any(
        name.startswith(beginning) for name in (*directories(), *files())
    )


def token_of(file: Any) -> Token:
    """A serial per file object, because fsspec makes a new object whenever it overwrites.

    The size shows an append to the same object, and ``modified`` a repeated ``commit()``. Bytes
    changed in place through a handle that was kept (``"r+b"``), at the same length, are not seen.
    """
    serial = serials.get(file)
    if serial is None:
        serial = serials[file] = next(_next_serial)
    return Token(f"{serial:x}-{file.size:x}-{file.modified.timestamp()}")


def entry_of(path: StorePath, file: Any) -> Entry:
    """What a listing says of *file*."""
    return Entry(path=path, size_bytes=file.size, token=token_of(file))


def check(path: StorePath, expecting: Expectation) -> None:
    """Refuse unless what is expected stands at *path*."""
    if expecting is Expect.ANYTHING:
        return
    file = files().get(path)
    if expecting is Expect.ABSENT:
        if file is not None:
            raise refused(f"{path!r} exists", path)
    elif file is None or token_of(file) != expecting:
        raise refused(f"{path!r} is not what was expected there", path)


def make_way(path: StorePath, within: StorePath | None) -> None:
    """Make the directories of *path* below *within*, which must exist; ``None`` makes all.

    A *path* that is a directory only by the files below it is not noticed, here or in fsspec
    itself: that would take a look at every file for each new one.
    """
    if within is not None and not is_directory(within):
        raise refused(f"cannot create {path!r}: {within!r} is gone", path)
    if path in directories():
        raise refused(f"cannot create {path!r}: it is a directory", path)
    missing = []
    parent = path.rpartition("/")[0]
    while parent and parent != within and parent not in directories():
        if parent in files():
            raise refused(f"cannot create {path!r}: {parent!r} is a file", parent)
        missing.append(parent)
        parent = parent.rpartition("/")[0]
    directories().extend(reversed(missing))


def place(path: StorePath | str, file: Any, expecting: Expectation) -> None:
    """Show *file* under *path*; exclusive even against programs that take no lock."""
    if expecting is not Expect.ABSENT:
        files()[path] = file
    elif files().setdefault(path, file) is not file:
        raise refused(f"{path!r} exists", str(path))
    file.path = path


def refused(message: str, path: str) -> StoreError:
    """The error of a call that has changed nothing."""
    return StoreError(message, reply=Reply.REFUSED, path=path)
