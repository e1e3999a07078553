"""Writing to memory, with a loop and without: no reader sees a file before it is finished."""

from typing import Any

from fsspec.implementations.memory import MemoryFile, MemoryFileSystem

from fsspec_commit.layout import StorePath
from fsspec_commit.store import DirectWriter, Entry, Expect
from fsspec_commit_stores.memory import tree


class Direct:
    """Writing without a loop."""

    def writer(self, path: StorePath, *, within: StorePath) -> DirectWriter[Entry]:
        """Create the file at *path*; it appears when it is finished."""
        return MemoryWriter(path, within)


class MemoryWriter:
    """Collects bytes where no reader looks; one thread at a time."""

    def __init__(self, path: StorePath, within: StorePath) -> None:
        with tree.LOCK:
            tree.make_way(path, within)
        self._path = path
        self._within = within
        self._file: Any = MemoryFile(MemoryFileSystem(), path)

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append *data*."""
        written: int = self._open_file().write(data)
        return written

    def finish(self) -> Entry:
        """Make the file visible, if the job's area still exists."""
        file = self._open_file()
        with tree.LOCK:
            tree.make_way(self._path, self._within)
            self._file = None
            file.seek(0)
            tree.place(self._path, file, Expect.ANYTHING)
            return tree.entry_of(self._path, file)

    def discard(self) -> None:
        """Forget the bytes; a finished file stays."""
        self._file = None

    def _open_file(self) -> Any:
        if self._file is None:
            raise ValueError(f"I/O operation on the closed file {self._path!r}")
        return self._file


class LoopWriter:
    """A file written on the event loop, where memory never waits."""

    def __init__(self, writer: MemoryWriter) -> None:
        self._writer = writer

    async def write(self, data: bytes) -> None:
        """Append *data*."""
        self._writer.write(data)

    async def finish(self) -> Entry:
        """Make the file visible, if the job's area still exists."""
        return self._writer.finish()

    async def discard(self) -> None:
        """Forget the bytes; a finished file stays."""
        self._writer.discard()
