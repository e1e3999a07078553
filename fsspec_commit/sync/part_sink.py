"""A file for stores that are reached on the event loop: bytes are handed over in whole parts.

Engines write many tiny buffers, and each switch to the loop costs more than writing most of them.
"""

from io import BytesIO

from fsspec_commit.committers import FileWriter, NewFile
from fsspec_commit.committers.write_behind import WriteBehind
from fsspec_commit.names import Target
from fsspec_commit.sync import bridge
from fsspec_commit.sync.attempt_file import AttemptFile

PART_BYTES = 8 << 20


class PartSink:
    """A :class:`~fsspec_commit.store.DirectWriter` over a writer on the event loop.

    Bytes are copied once, into the part that is handed over. A file that never filled a part is
    stored *behind*, if that is given: closing it does not wait for the store.
    """

    def __init__(self, writer: FileWriter, name: Target, behind: WriteBehind | None) -> None:
        self._writer = writer
        self._name = name
        self._behind = behind
        self._is_small = True
        self._gathered = BytesIO()

    @property
    def held_bytes(self) -> int:
        """How much is gathered for the next part."""
        return self._gathered.tell()

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append *data*, and hand over each part that is full."""
        size_bytes = memoryview(data).nbytes
        rest = memoryview(data).cast("B") if size_bytes else memoryview(b"")
        while (room := PART_BYTES - self._gathered.tell()) <= len(rest):
            self._gathered.write(rest[:room])
            rest = rest[room:]
            self._is_small = False
            bridge.run(self._writer.write(self._take()))
        self._gathered.write(rest)
        return size_bytes

    def finish(self) -> NewFile:
        """Hand over the rest and close the file; a small one may still be on its way then."""
        rest = self._take()
        if self._behind is not None and self._is_small:
            return bridge.run(self._behind.hand_over(self._name, self._writer, rest))
        return bridge.run(self._finish(rest))

    def discard(self) -> None:
        """Remove what was written."""
        self._gathered = BytesIO()
        if self._behind is not None:
            bridge.run(self._behind.let_go(self._name, self._writer))
        else:
            bridge.run(self._writer.discard())

    def _take(self) -> bytes:
        gathered, self._gathered = self._gathered, BytesIO()
        return gathered.getvalue()

    async def _finish(self, rest: bytes) -> NewFile:
        if rest:
            await self._writer.write(rest)
        return await self._writer.finish()


def held_bytes(file: AttemptFile) -> int:
    """How much of what was written to *file* waits in memory for its part to be full.

    For engines, which have many files open at once; on a local disk nothing waits.
    """
    sink = file._sink  # noqa: SLF001  # not for callers, whose files are of other kinds, too
    return sink.held_bytes if isinstance(sink, PartSink) else 0
