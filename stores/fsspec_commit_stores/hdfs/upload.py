"""One file on its way to a DataNode: a small one in one piece, a longer one as it is written."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import TypeAlias

from fsspec_commit_stores.hdfs.failures import RequestFailedError
from fsspec_commit_stores.hdfs.threads import answer, heard

Send: TypeAlias = Callable[[bytes | Iterable[bytes]], None]
"""Sends a whole body and waits for the answer; for a thread."""

_WHOLE_BYTES = 8 << 20
_WAITING_MAX = 2
_LOOK_S = 0.005


class DroppedError(Exception):
    """The writer gave up, so the body has no end."""


class Upload:
    """Bytes for one request: held until there are too many, then handed to a thread of its own.

    Its own, because a file can stay open for hours, and a pool would be full of them.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._held = bytearray()
        self._queue: SimpleQueue[bytes | DroppedError | None] = SimpleQueue()
        self._sending: asyncio.Future[None] | None = None

    async def write(self, data: bytes) -> None:
        """Append *data*; waits while the DataNode is slower than the writer.

        Raises:
            RequestFailedError: The request has failed meanwhile.
        """
        self._held += data
        if len(self._held) >= _WHOLE_BYTES:
            await self._hand_over()

    async def close(self) -> None:
        """Send what is left, and wait for the answer to all of it.

        Raises:
            RequestFailedError: It is not written, or not known to be whole.
        """
        if self._sending is None:
            data = bytes(self._held)
            self._sending = _in_thread(lambda: self._send(data))
        else:
            await self._hand_over()
            self._queue.put(None)
        await _whole(self._sending)

    async def drop(self) -> None:
        """Break the request off; the DataNode then keeps what it has, under the same name."""
        self._queue.put(DroppedError())
        if self._sending is not None:
            with suppress(RequestFailedError, DroppedError):
                await _whole(self._sending)

    def __del__(self) -> None:
        self._queue.put(DroppedError())

    async def _hand_over(self) -> None:
        if self._sending is None:
            send, body = self._send, _body(self._queue)
            self._sending = _in_thread(lambda: send(body))
        while self._queue.qsize() >= _WAITING_MAX and not self._sending.done():
            await asyncio.wait([self._sending], timeout=_LOOK_S)
        if self._sending.done():
            await self._sending
        self._queue.put(bytes(self._held))
        self._held.clear()


def _body(queue: "SimpleQueue[bytes | DroppedError | None]") -> Iterator[bytes]:
    while (piece := queue.get()) is not None:
        if isinstance(piece, DroppedError):
            raise piece
        if piece:  # An empty chunk would end the body.
            yield piece


def _in_thread(call: Callable[[], None]) -> asyncio.Future[None]:
    """Run *call* in a thread that no exit of the program waits for."""
    done: Future[None] = Future()
    threading.Thread(target=answer, args=(done, call), daemon=True, name="webhdfs-upload").start()
    return heard(asyncio.wrap_future(done))


async def _whole(sending: asyncio.Future[None]) -> None:
    """Wait for *sending* to its end, even if the caller is cancelled."""
    try:
        await asyncio.shield(sending)
    except asyncio.CancelledError:
        if not sending.done():
            await asyncio.wait([sending])
        raise
