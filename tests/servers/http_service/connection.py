"""One connection: HTTP/1.1 read by hand, one request at a time, each reply sent when it is due.

A request is answered in one step of the loop, so that no other comes between what it checks and
what it changes.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from tests.servers.http_service.bodies import Body, UnreadableError
from tests.servers.http_service.control import CONTROL
from tests.servers.http_service.messages import Received

if TYPE_CHECKING:
    from tests.servers.http_service.endpoint import Endpoint
    from tests.servers.http_service.messages import Reply

_HEAD_MAX_BYTES = 65_536


class Connection(asyncio.Protocol):
    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._unread = b""
        self._received: Received | None = None
        # A call is being answered: what comes now is for later.
        self._is_busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        # A reply of gigabytes is written piece by piece, and the client is not waited for: the
        # object is in memory anyway.
        self._transport.set_write_buffer_limits(high=1 << 40)

    def data_received(self, data: bytes) -> None:
        try:
            if self._received is not None and not self._unread:
                self._unread = self._received.body.take(data)
            else:
                self._unread += data
            self._read()
        except UnreadableError as error:
            # The end of the request is not known, so the connection is of no more use.
            self._write(self._endpoint.unreadable(str(error)), closing=True)

    def _read(self) -> None:
        while not self._is_busy:
            if self._received is None:
                self._received = self._head()
            if self._received is None:
                return
            if self._unread:
                self._unread = self._received.body.take(self._unread)
            if not self._received.body.is_whole:
                return
            received, self._received = self._received, None
            self._call(received)

    def _head(self) -> Received | None:
        """Taken when it is whole."""
        head, ended, rest = self._unread.partition(b"\r\n\r\n")
        if not ended:
            if len(head) > _HEAD_MAX_BYTES:
                raise UnreadableError("the headers are too long")
            return None
        start, *lines = head.decode("latin-1").split("\r\n")
        words = start.split(" ")
        if len(words) != len(("method", "target", "version")):
            raise UnreadableError("no HTTP request")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        self._unread = rest
        body = Body(headers)
        if headers.get("expect", "").lower() == "100-continue" and not body.is_whole:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return Received(words[0], words[1], headers, body)

    def _call(self, received: Received) -> None:
        closing = received.headers.get("connection", "").lower() == "close"
        if received.target.startswith(CONTROL):
            path = received.target.removeprefix(CONTROL)
            body = b"".join(received.body.pieces)
            self._write(self._endpoint.control(received.method, path, body), closing=closing)
            return
        reply = self._endpoint.answer(received)
        self._is_busy = True
        if self._endpoint.load.latency_s:
            self._loop.call_later(self._endpoint.load.latency_s, self._reply, reply, closing)
        else:
            self._reply(reply, closing)

    def _reply(self, reply: Reply, closing: bool) -> None:
        self._endpoint.load.end()
        self._is_busy = False
        self._write(reply, closing=closing)
        if self._unread and not closing:
            self.data_received(b"")

    def _write(self, reply: Reply, *, closing: bool) -> None:
        if self._transport.is_closing():
            return
        # HEAD is answered with the length of what GET would send.
        head = reply.encoded(closing=closing)
        if len(reply.pieces) == 1:
            self._transport.write(head + reply.pieces[0])
        else:
            self._transport.write(head)
            for piece in reply.pieces:
                self._transport.write(piece)
        if closing:
            self._transport.close()
