"""A file for stores that are reached through the loop: bytes are gathered and cross it in parts.

Engines write many tiny buffers; each hop to the loop costs more than most of them, so only whole
parts make it.
"""

from fsspec_commit import bridge
from fsspec_commit.committers import NewFile
from fsspec_commit.store import Writer

PART_BYTES = 8 << 20


class PartSink:
    """A :class:`~fsspec_commit.store.DirectWriter` over a writer of the loop."""

    def __init__(self, writer: Writer[NewFile]) -> None:
        self._writer = writer
        self._gathered = bytearray()

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append; passes on a part when one is full."""
        self._gathered += data
        if len(self._gathered) >= PART_BYTES:
            part, self._gathered = bytes(self._gathered), bytearray()
            bridge.run(self._writer.write(part))
        return len(data)

    def finish(self) -> NewFile:
        """Pass on the rest and close the file."""
        rest, self._gathered = bytes(self._gathered), bytearray()
        return bridge.run(self._finish(rest))

    def discard(self) -> None:
        """Leave nothing of it."""
        self._gathered.clear()
        bridge.run(self._writer.discard())

    async def _finish(self, rest: bytes) -> NewFile:
        if rest:
            await self._writer.write(rest)
        return await self._writer.finish()
