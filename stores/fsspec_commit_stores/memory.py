"""fsspec's process-wide memory filesystem as a store: what is written here, fsspec reads.

Every verb runs inline under one lock, so each is atomic for everybody who comes through this
adapter. Programs that use ``fsspec.filesystem("memory")`` beside it take no lock: they see every
change, and at worst a renamed directory under both its names for a moment.

A directory *exists* when fsspec lists it in ``pseudo_dirs`` or any file lies below it, which is
also what ``fsspec.filesystem("memory").isdir`` answers. Directories that this adapter makes are
listed, so that they outlive their last file, as on a disk, until a tree is deleted or renamed.
"""

from collections.abc import AsyncIterator, Iterator
from itertools import count
from threading import Lock
from typing import Any, Self
from weakref import WeakKeyDictionary

from fsspec.implementations.memory import MemoryFile, MemoryFileSystem

from fsspec_commit.errors import Reply, RequestError, StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import (
    AtomicRename,
    Capabilities,
    Content,
    Directory,
    DirectWriter,
    Entry,
    Expect,
    Expectation,
    OpenOptions,
    RenamesDirectories,
    RenamesFiles,
    Store,
    Token,
    Writer,
    WritesDirectly,
)

CAPABILITIES = Capabilities(
    atomic_rename=AtomicRename.DIRECTORY,
    exclusive_rename=True,
    consistent_listing=True,
    paged_listing=False,
    multipart=False,
    exclusive_create=True,
    replace_if_match=True,
    delete_if_match=True,
    whole_object_publish=True,
    token_survives_rename=True,
    unique_tokens=True,
)

_lock = Lock()
_serials: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
_next_serial = count(1)


class MemoryStore:
    """One destination in fsspec's memory filesystem."""

    capabilities = CAPABILITIES
    in_flight_max = unverified_endpoint = bulk = bulk_deletion = in_order = None
    directory_creation = empty_directories = uploads = None

    def __init__(self, root: StorePath) -> None:
        self.root = root
        self.files: RenamesFiles | None = _Renames()
        self.directories: RenamesDirectories | None = _Renames()
        self.direct: WritesDirectly | None = _Direct()

    @classmethod
    async def open(cls, url: str, options: OpenOptions) -> Self:
        """Open ``memory://…``; nothing is made before something is written.

        Raises:
            RequestError: The URL is not one plain path, or asks for a filesystem of its own, which
                the job's workers and readers would not share.
        """
        if not options.storage_options.get("global_store", True):
            message = f"cannot open {url!r}: global_store=False is seen by one instance only"
            raise RequestError(message, kind="invalid_option", path=url)
        root = url.removeprefix("memory://").strip("/")
        if any(name in {"", ".", ".."} for name in root.split("/")) and root:
            message = f"cannot open {url!r}: empty, '.' and '..' components name nothing here"
            raise RequestError(message, kind="invalid_url", path=url)
        return cls(StorePath(f"/{root}" if root else ""))

    async def stat(self, path: StorePath) -> Entry | Directory | None:
        """What stands at *path*."""
        with _lock:
            file = _files().get(path)
            if file is not None:
                return _entry(path, file)
            return Directory(path) if _is_directory(path) else None

    async def read(self, path: StorePath, *, limit_bytes: int) -> Content | None:
        """The whole file at *path*, if there is one."""
        with _lock:
            file = _files().get(path)
            if file is None:
                return None
            entry = _entry(path, file)
            if entry.size_bytes > limit_bytes:
                raise _refused(f"{path!r} has {entry.size_bytes} bytes, over {limit_bytes}", path)
            return Content(entry, bytes(file.getbuffer()))

    async def read_range(self, path: StorePath, *, start: int, length: int) -> bytes | None:
        """At most *length* bytes from *start*; ``None`` when there is no such file."""
        with _lock:
            file = _files().get(path)
            return None if file is None else bytes(file.getbuffer()[start : start + length])

    async def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        """Every file below the directory *path*, as they stood at one moment."""
        with _lock:
            entries = [_entry(name, file) for name, file in _below(path, without)]
        for entry in entries:
            yield entry

    async def list_children(self, path: StorePath) -> AsyncIterator[Entry | Directory]:
        """What stands directly in the directory *path*, as it stood at one moment."""
        beginning = f"{path}/"
        children: dict[str, Entry | Directory] = {}
        with _lock:
            for name, file in _below(path):
                child, slash, _ = name[len(beginning) :].partition("/")
                if not slash:
                    children[child] = _entry(name, file)
                elif child not in children:
                    children[child] = Directory(StorePath(beginning + child))
            for listed in _directories():
                if listed.startswith(beginning):
                    child = listed[len(beginning) :].partition("/")[0]
                    children.setdefault(child, Directory(StorePath(beginning + child)))
        for entry in children.values():
            yield entry

    def writer(
        self,
        path: StorePath,
        *,
        within: StorePath,
        nonce: Nonce | None = None,  # noqa: ARG002  # the token survives a rename
    ) -> Writer[Entry]:
        """Write the file *path*, which appears when it is finished."""
        return _LoopWriter(_MemoryWriter(path, within))

    async def put(
        self,
        path: StorePath,
        data: bytes,
        *,
        expecting: Expectation,
        within: StorePath | None,
        nonce: Nonce | None = None,  # noqa: ARG002  # no metadata to keep it in, as on disks
    ) -> Token:
        """Write a small file whole, atomically on condition of *expecting*."""
        file = MemoryFile(MemoryFileSystem(), path, bytes(data))
        with _lock:
            _check(path, expecting)
            _make_way(path, within)
            _place(path, file, expecting)
            return _token(file)

    async def delete(self, path: StorePath, *, expecting: Expectation) -> None:
        """Delete one file, atomically on condition of *expecting*."""
        with _lock:
            _check(path, expecting)
            if path not in _files() and path in _directories():
                raise _refused(f"{path!r} is a directory", path)
            _files().pop(path, None)

    async def delete_tree(self, path: StorePath) -> None:
        """Delete a directory and all below it; a missing one is done."""
        with _lock:
            if path in _files():
                raise _refused(f"{path!r} is a file, not a directory", path)
            for name, _ in list(_below(path)):
                del _files()[name]
            for directory in filter(None, _directories_at(path)):  # fsspec keeps its own root
                _directories().remove(directory)

    def go_by(self, facts: Capabilities) -> None:
        """Nothing: tokens have one form."""

    async def close(self) -> None:
        """Nothing was opened."""


class _Renames:
    """Renames move fsspec's file objects, so content and token stay what they were."""

    async def rename(
        self,
        source: StorePath,
        target: StorePath,
        *,
        token: Token | None,
        expecting: Expectation,
        within: StorePath,
    ) -> None:
        """Rename a file, atomically on condition of *token* and *expecting*."""
        with _lock:
            file = _files().get(source)
            if file is None:
                raise _refused(f"cannot rename {source!r}: there is no such file", source)
            if token is not None and _token(file) != token:
                raise _refused(f"cannot rename {source!r}: it has other content by now", source)
            _check(target, expecting)
            _make_way(target, within)
            _place(target, file, expecting)
            if source != target:
                del _files()[source]

    async def rename_directory(
        self, source: StorePath, target: StorePath, *, within: StorePath
    ) -> None:
        """Rename a directory with all below it, if nothing stands at *target*."""
        with _lock:
            if source in _files() or not _is_directory(source):
                raise _refused(f"cannot rename {source!r}: there is no such directory", source)
            if f"{target}/".startswith(f"{source}/"):
                raise _refused(f"cannot rename {source!r} into itself", source)
            if target in _files() or _is_directory(target):
                raise _refused(f"cannot rename {source!r}: {target!r} exists", target)
            _make_way(target, within)
            listed = _directories_at(source)
            moved = {target + name[len(source) :]: file for name, file in _below(source)}
            # New names first: one who lists without our lock may see both, never neither.
            _directories().extend(
                {target, *(target + directory[len(source) :] for directory in listed)}
            )
            for name, file in moved.items():
                _place(name, file, Expect.ANYTHING)
            for name in moved:
                del _files()[source + name[len(target) :]]
            for directory in listed:
                _directories().remove(directory)


class _Direct:
    """Writing without a loop."""

    def writer(self, path: StorePath, *, within: StorePath) -> DirectWriter[Entry]:
        """Create the file at *path*; it appears when it is finished."""
        return _MemoryWriter(path, within)


class _MemoryWriter:
    """Collects bytes where no reader looks; one thread at a time."""

    def __init__(self, path: StorePath, within: StorePath) -> None:
        with _lock:
            _make_way(path, within)
        self._path = path
        self._within = within
        self._file: Any = MemoryFile(MemoryFileSystem(), path)

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append *data*."""
        written: int = self._open_file().write(data)
        return written

    def finish(self) -> Entry:
        """Make the file visible, if the job's area still is."""
        file = self._open_file()
        with _lock:
            _make_way(self._path, self._within)
            self._file = None
            file.seek(0)
            _place(self._path, file, Expect.ANYTHING)
            return _entry(self._path, file)

    def discard(self) -> None:
        """Forget the bytes; a finished file stays."""
        self._file = None

    def _open_file(self) -> Any:
        if self._file is None:
            raise ValueError(f"I/O operation on the closed file {self._path!r}")
        return self._file


class _LoopWriter:
    """A file written on the event loop, where memory never waits."""

    def __init__(self, writer: _MemoryWriter) -> None:
        self._writer = writer

    async def write(self, data: bytes) -> None:
        self._writer.write(data)

    async def finish(self) -> Entry:
        return self._writer.finish()

    async def discard(self) -> None:
        self._writer.discard()


# What follows is called with the lock held.


def _files() -> dict[str, Any]:
    files: dict[str, Any] = MemoryFileSystem.store
    return files


def _directories() -> list[str]:
    directories: list[str] = MemoryFileSystem.pseudo_dirs
    return directories


def _below(path: str, without: str | None = None) -> Iterator[tuple[StorePath, Any]]:
    beginning = f"{path}/"
    left_out = () if without is None else f"{without}/"
    # A copy, made in one step: programs that use fsspec take no lock.
    for name, file in tuple(_files().items()):
        if name.startswith(beginning) and not name.startswith(left_out):
            yield StorePath(name), file


def _directories_at(path: str) -> list[str]:
    return [name for name in _directories() if name == path or name.startswith(f"{path}/")]


def _is_directory(path: str) -> bool:
    # The list first: what this adapter makes is in it, and it is far shorter than all files.
    beginning = f"{path}/"
    return path in _directories() or any(
        name.startswith(beginning) for name in (*_directories(), *_files())
    )


def _token(file: Any) -> Token:
    """A serial per file object, because fsspec makes a new one whenever it overwrites.

    The size tells an append to the same object, and ``modified`` a repeated ``commit()``. Bytes
    changed in place through a handle that was kept (``"r+b"``), at the same length, are not seen.
    """
    serial = _serials.get(file)
    if serial is None:
        serial = _serials[file] = next(_next_serial)
    return Token(f"{serial:x}-{file.size:x}-{file.modified.timestamp()}")


def _entry(path: StorePath, file: Any) -> Entry:
    return Entry(path=path, size_bytes=file.size, token=_token(file))


def _check(path: StorePath, expecting: Expectation) -> None:
    """Refuse unless what is expected stands at *path*."""
    if expecting is Expect.ANYTHING:
        return
    file = _files().get(path)
    if expecting is Expect.ABSENT:
        if file is not None:
            raise _refused(f"{path!r} exists", path)
    elif file is None or _token(file) != expecting:
        raise _refused(f"{path!r} is not what was expected there", path)


def _make_way(path: StorePath, within: StorePath | None) -> None:
    """Make the directories of *path* below *within*, which must exist; ``None`` makes all.

    A path that only files below it make a directory is not noticed here, as in fsspec itself: it
    would take a look at every file for each new one.
    """
    if within is not None and not _is_directory(within):
        raise _refused(f"cannot create {path!r}: {within!r} is gone", path)
    if path in _directories():
        raise _refused(f"cannot create {path!r}: it is a directory", path)
    missing = []
    parent = path.rpartition("/")[0]
    while parent and parent != within and parent not in _directories():
        if parent in _files():
            raise _refused(f"cannot create {path!r}: {parent!r} is a file", parent)
        missing.append(parent)
        parent = parent.rpartition("/")[0]
    _directories().extend(reversed(missing))


def _place(path: StorePath | str, file: Any, expecting: Expectation) -> None:
    """Show *file* under *path*; exclusive even against programs that take no lock."""
    if expecting is not Expect.ABSENT:
        _files()[path] = file
    elif _files().setdefault(path, file) is not file:
        raise _refused(f"{path!r} exists", str(path))
    file.path = path


def _refused(message: str, path: str) -> StoreError:
    return StoreError(message, reply=Reply.REFUSED, path=path)


_store: type[Store] = MemoryStore
