"""Contents in pieces: what a writer holds and what a request sends, without a copy of either.

A file comes in pieces of some MiB. If these were joined, cut and read again for every request, each
byte would be copied five times before it reached the connection, and that takes longer than to
send it.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import aiohttp

_STEP_BYTES = 256 << 10
"""How much is given to the connection at a time; then others have their turn on the loop."""


class Pieces:
    """Bytes that are in several places, one after the other; never changed."""

    __slots__ = ("_pieces", "_size_bytes")

    def __init__(self, pieces: Iterable[bytes | memoryview]) -> None:
        self._pieces = tuple(pieces)
        self._size_bytes = sum(len(piece) for piece in self._pieces)

    def __len__(self) -> int:
        """How many bytes there are."""
        return self._size_bytes

    def __iter__(self) -> Iterator[bytes | memoryview]:
        """Each piece, in their order."""
        return iter(self._pieces)

    def __bytes__(self) -> bytes:
        """All of it; a single piece is not copied."""
        only = self._pieces[0] if len(self._pieces) == 1 else None
        return only if isinstance(only, bytes) else b"".join(self._pieces)


class Held:
    """The bytes of a file that are not sent yet: appended at the end, dropped at the beginning."""

    def __init__(self) -> None:
        self._pieces = deque[bytes]()
        self._dropped_bytes = 0
        """How many bytes of the first piece are dropped."""
        self._size_bytes = 0

    def __len__(self) -> int:
        """How many bytes are held."""
        return self._size_bytes

    def __bytes__(self) -> bytes:
        """All that is held; a single piece is not copied."""
        return bytes(self.first(self._size_bytes))

    def append(self, data: bytes) -> None:
        """Hold *data* as well; it is not copied, unless it could still change."""
        if data:
            self._pieces.append(bytes(data))
            self._size_bytes += len(data)

    def first(self, count: int) -> Pieces:
        """The first *count* bytes, or as many as there are, without a copy."""
        found, begin, left = list[bytes | memoryview](), self._dropped_bytes, count
        for piece in self._pieces:
            if left <= 0:
                break
            end = min(len(piece), begin + left)
            found.append(piece if end - begin == len(piece) else memoryview(piece)[begin:end])
            left -= end - begin
            begin = 0
        return Pieces(found)

    def drop(self, count: int) -> None:
        """Hold the first *count* bytes no longer, or as many as there are."""
        left = min(count, self._size_bytes)
        self._size_bytes -= left
        while left:
            of_first = len(self._pieces[0]) - self._dropped_bytes
            if left < of_first:
                self._dropped_bytes += left
                return
            self._pieces.popleft()
            self._dropped_bytes = 0
            left -= of_first

    def clear(self) -> None:
        """Hold nothing."""
        self.drop(self._size_bytes)


class MemoryBody(aiohttp.Payload):
    """The body of a request of aiohttp's: a content that is in memory, and is not copied.

    Given bare bytes, aiohttp warns that they hold up its loop; from a ``BytesIO`` it reads copies.

    Attributes:
        content: All of it.
    """

    _autoclose = True  # As in aiohttp's own payloads in memory: there is nothing to close.

    def __init__(self, content: bytes | Pieces) -> None:
        pieces = content if isinstance(content, Pieces) else Pieces([content])
        super().__init__(pieces, content_type="application/octet-stream")
        self._size = len(pieces)
        self.content = pieces

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The content as text."""
        return bytes(self.content).decode(encoding, errors)

    async def write(self, writer: Any) -> None:
        """Give all of it to the connection, as fast as that takes it."""
        is_first = True
        for piece in self.content:
            view = memoryview(piece)
            for begin in range(0, len(view), _STEP_BYTES):
                if not is_first:
                    await asyncio.sleep(0)
                is_first = False
                await writer.write(view[begin : begin + _STEP_BYTES])
