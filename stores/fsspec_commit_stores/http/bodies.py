"""Bodies that the other side does not take: aiohttp alone would wait for ever.

Its timeout for an answer begins when all of a request has been sent. A server that is paused while
it reads, or a proxy that never gives leave (``100 Continue``) to send what was announced, would
hold the request for ever, whatever ``read_timeout`` the user has given.
"""

import asyncio
from typing import Any

import aiohttp

_LEAVE_S = 1.0
"""How long to wait for leave to send a body, as boto does: not every server knows of it."""
_NOT_TAKEN = "the server takes nothing of what is sent"


class WatchedRequest(aiohttp.ClientRequest):
    """A request that fails like an unanswered one if nothing of its body is taken for too long."""

    async def write_bytes(self, writer: Any, conn: Any, *more: Any) -> None:
        """Send the body; *more* is what some releases of aiohttp pass besides."""
        loop = asyncio.get_running_loop()
        watch = _Watch(loop, writer, conn.protocol)
        leave = self._continue
        giving = None if leave is None else loop.call_later(_LEAVE_S, _give, leave)
        try:
            await super().write_bytes(writer, conn, *more)
        finally:
            watch.end()
            if giving is not None:
                giving.cancel()


class _Watch:
    """Looks whether a body makes progress, at intervals of the timeout for a byte of the answer."""

    def __init__(self, loop: asyncio.AbstractEventLoop, writer: Any, protocol: Any) -> None:
        self._loop = loop
        self._writer = writer
        self._protocol = protocol
        self._seen: tuple[int, int] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._look()

    def end(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        wait_s, transport = self._protocol.read_timeout, self._protocol.transport
        if not wait_s or transport is None:
            return
        seen = (self._writer.output_size, transport.get_write_buffer_size())
        if seen == self._seen:
            self._protocol.set_exception(aiohttp.SocketTimeoutError(_NOT_TAKEN))
            # That has ended the timeout for a byte, even of an answer that has begun: whoever reads
            # it learns of the failure by the end of the connection.
            transport.abort()
            return
        self._seen = seen
        self._timer = self._loop.call_later(wait_s, self._look)


def _give(leave: "asyncio.Future[bool]") -> None:
    if not leave.done():
        leave.set_result(True)
