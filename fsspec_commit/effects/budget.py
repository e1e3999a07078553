"""How much data of parts and of closed files may be on its way to one store at once.

That bounds the memory they take, whoever writes them. A file written by the store's own writer, as
on GCS and Azure Gen2, is counted here only after it was closed; before that, its adapter bounds it.
"""

import asyncio
from collections import deque

IN_FLIGHT_BYTES_MAX = 64 << 20
FILES_BEHIND_MAX = 64


class Budget:
    """The bytes, and the closed files, that may be on their way at once to one opened store.

    Whatever is larger than the whole budget is sent alone.

    Args:
        bytes_max: The most bytes: of parts, and of whole files.
        files_max: The most files that are stored after they were closed.
    """

    def __init__(
        self, bytes_max: int = IN_FLIGHT_BYTES_MAX, files_max: int = FILES_BEHIND_MAX
    ) -> None:
        self._bytes_max = bytes_max
        self._files_max = files_max
        self._bytes = 0
        self._files = 0
        self._waiting: deque[tuple[int, int, asyncio.Future[None]]] = deque()

    async def take(self, size_bytes: int, *, files: int = 0) -> None:
        """Wait for room; first come, first served."""
        if not self._waiting and self._fits(size_bytes, files):
            self._take(size_bytes, files)
            return
        room: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size_bytes, files, room))
        try:
            await room
        except asyncio.CancelledError:
            if room.done() and not room.cancelled():
                self.give_back(size_bytes, files=files)
            else:
                self._admit()
            raise

    def give_back(self, size_bytes: int, *, files: int = 0) -> None:
        """Return what was taken, and let those in who wait for room."""
        self._bytes -= size_bytes
        self._files -= files
        self._admit()

    def _admit(self) -> None:
        while self._waiting:
            size_bytes, files, room = self._waiting[0]
            if not room.done():
                if not self._fits(size_bytes, files):
                    return
                self._take(size_bytes, files)
                room.set_result(None)
            self._waiting.popleft()

    def _take(self, size_bytes: int, files: int) -> None:
        self._bytes += size_bytes
        self._files += files

    def _fits(self, size_bytes: int, files: int) -> bool:
        fits = self._bytes == 0 or self._bytes + size_bytes <= self._bytes_max
        return fits and self._files + files <= self._files_max
