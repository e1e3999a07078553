"""A file for stores that are reached through the loop: bytes are gathered and cross it in parts.

Engines write many tiny buffers; each hop to the loop costs more than most of them, so only whole
parts make it.
"""

from io import BytesIO

from fsspec_commit.committers import NewFile
from fsspec_commit.store import Writer
from fsspec_commit.sync import bridge

PART_BYTES = 8 << 20


class PartSink:
    """A :class:`~fsspec_commit.store.DirectWriter` over a writer of the loop.

    Bytes are copied once, into the part that crosses.
    """

    def __init__(self, writer: Writer[NewFile]) -> None:
        self._writer = writer
        self._gathered = BytesIO()

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append; passes on each part that is full."""
        size_bytes = memoryview(data).nbytes
        rest = memoryview(data).cast("B") if size_bytes else memoryview(b"")
        while (room := PART_BYTES - self._gathered.tell()) <= len(rest):
            self._gathered.write(rest[:room])
            rest = rest[room:]
            bridge.run(self._writer.write(self._take()))
        self._gathered.write(rest)
        return size_bytes

    def finish(self) -> NewFile:
        """Pass on the rest and close the file."""
        return bridge.run(self._finish(self._take()))

    def discard(self) -> None:
        """Leave nothing of it."""
        self._gathered = BytesIO()
        bridge.run(self._writer.discard())

    def _take(self) -> bytes:
        gathered, self._gathered = self._gathered, BytesIO()
        return gathered.getvalue()

    async def _finish(self, rest: bytes) -> NewFile:
        if rest:
            await self._writer.write(rest)
        return await self._writer.finish()
