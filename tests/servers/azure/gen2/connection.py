"""One connection: HTTP/1.1 read by hand, one request at a time, each reply sent when it is due."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

from tests.servers.azure.gen2.messages import Failure, Request, http_date, refusal
from tests.servers.azure.gen2.service import Settings
from tests.servers.slow_s3.bodies import Body
from tests.servers.slow_s3.messages import Failure as BadBody
from tests.servers.slow_s3.messages import Reply

if TYPE_CHECKING:
    from tests.servers.azure.gen2.service import Service
    from tests.servers.slow_s3.load import Load

# What is under it is about the server itself; no account is called so.
CONTROL = "/-/"
_HEAD_MAX_BYTES = 65_536


class Connection(asyncio.Protocol):
    def __init__(self, service: Service, load: Load) -> None:
        self._service = service
        self._load = load
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._unread = b""
        self._request: Request | None = None
        self._body: Body | None = None
        # A call is being answered: what comes now is for later.
        self._is_busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        # The client is not waited for: what it reads is in memory anyway.
        self._transport.set_write_buffer_limits(high=1 << 40)

    def data_received(self, data: bytes) -> None:
        try:
            if self._body is not None and not self._unread:
                self._unread = self._body.take(data)
            else:
                self._unread += data
            self._read()
        except (Failure, BadBody) as failure:
            # The end of the request is not known, so the connection is of no more use.
            bad = Failure(HTTPStatus.BAD_REQUEST, "InvalidInput", str(failure))
            self._write(refusal(bad, self._request or Request("GET", "/", {})), closing=True)

    def _read(self) -> None:
        while not self._is_busy:
            if self._request is None and not self._read_head():
                return
            assert self._body is not None
            if self._unread:
                self._unread = self._body.take(self._unread)
            if not self._body.is_whole:
                return
            self._call()

    def _read_head(self) -> bool:
        """Whether a head is whole; only then something is taken."""
        head, ended, rest = self._unread.partition(b"\r\n\r\n")
        if not ended:
            if len(head) > _HEAD_MAX_BYTES:
                raise Failure(HTTPStatus.BAD_REQUEST, "RequestHeaderSectionTooLarge")
            return False
        start, *lines = head.decode("latin-1").split("\r\n")
        words = start.split(" ")
        if len(words) != len(("method", "target", "version")):
            raise Failure(HTTPStatus.BAD_REQUEST, "InvalidInput", "no HTTP request")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        self._unread = rest
        self._request = Request(words[0], words[1], headers)
        self._body = Body(headers)
        if headers.get("expect", "").lower() == "100-continue" and not self._body.is_whole:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return True

    def _call(self) -> None:
        request, body = self._request, self._body
        assert request is not None
        assert body is not None
        self._request = self._body = None
        request.body = b"".join(body.pieces)
        closing = request.headers.get("connection", "").lower() == "close"
        if request.target.startswith(CONTROL):
            self._write(self._control(request), closing=closing)
            return
        if self._load.begin(request.operation or "unknown"):
            reply = self._service.answer(request)
        else:
            reply = self._service.throttled(request)
        offset_s = self._service.account.clock_offset_s
        if offset_s:
            reply.headers["Date"] = http_date(int(time.time() + offset_s))
        self._is_busy = True
        if self._load.latency_s:
            self._loop.call_later(self._load.latency_s, self._reply, reply, closing)
        else:
            self._reply(reply, closing)

    def _reply(self, reply: Reply, closing: bool) -> None:
        self._load.end()
        self._is_busy = False
        self._write(reply, closing=closing)
        if self._unread and not closing:
            self.data_received(b"")

    def _write(self, reply: Reply, *, closing: bool) -> None:
        if self._transport.is_closing():
            return
        self._transport.write(reply.encoded(closing=closing) + b"".join(reply.pieces))
        if closing:
            self._transport.close()

    def _control(self, request: Request) -> Reply:
        asked = json.loads(request.body) if request.body else {}
        match request.wire_method, request.target.removeprefix(CONTROL):
            case "GET", "statistics":
                found = self._load.statistics()
                return Reply(pieces=(json.dumps(found).encode(),))
            case "GET", "settings":
                held = asdict(self._service.settings)
                return Reply(
                    pieces=(json.dumps({**held, "denied": sorted(held["denied"])}).encode(),)
                )
            case "PUT", "load":
                self._load.set(**asked)
            case "PUT", "settings":
                denied = frozenset(asked.pop("denied", ()))
                self._service.settings = Settings(denied=denied, **asked)
            case "PUT", "clock":
                self._service.account.clock_offset_s = asked["offset_s"]
            case "PUT", "hold":
                flags = (asked["legal_hold"], asked["immutable"])
                self._service.storage.change("hold", asked["container"], *flags)
            case "DELETE", "containers":
                for name in list(self._service.storage.containers):
                    self._service.storage.change("drop", name)
            case _:
                return Reply(HTTPStatus.NOT_FOUND)
        return Reply(HTTPStatus.NO_CONTENT)
