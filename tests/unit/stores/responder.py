"""An HTTP server that answers what a test tells it to: what no real server can be made to say."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, TypeAlias
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    import ssl


@dataclass(frozen=True)
class Received:
    """One request as it came."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        parsed = parse_qs(urlsplit(self.target).query, keep_blank_values=True)
        return {name: values[0] for name, values in parsed.items()}


@dataclass(frozen=True)
class Answer:
    """What is sent back; without a status the connection is closed instead.

    Attributes:
        announced: Of how many bytes the headers speak, when not of those of the body.
        is_framed: Whether they do; else the body ends where the connection is closed.
    """

    status: int | None = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    announced: int | None = None
    is_framed: bool = True


CLOSED = Answer(status=None)
Answering: TypeAlias = Callable[[Received], Answer]


class Responder:
    """Listens on a free port of the loop it is entered on.

    Attributes:
        answering: Says what to answer.
        received: Every request so far.
        gives_leave: Whether whoever asks for leave to send a body is answered.
        tls: What it speaks TLS by, if it does.
        connections: How many there have been.
    """

    def __init__(self) -> None:
        self.gives_leave = True
        self.tls: ssl.SSLContext | None = None
        self.connections = 0
        self.answering: Answering = lambda _: Answer()
        self.received: list[Received] = []
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self.tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for connection in list(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def url(self) -> str:
        assert self._server is not None
        scheme = "http" if self.tls is None else "https"
        return f"{scheme}://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def script(self, *answers: Answer) -> None:
        """Answer so in turn, the last one for ever."""
        left = list(answers)
        self.answering = lambda _: left.pop(0) if len(left) > 1 else left[0]

    def operations(self) -> list[str]:
        """Method and the names in the query of every request."""
        return [
            " ".join([one.method, *(n for n in sorted(one.query) if n not in _UNINTERESTING)])
            for one in self.received
        ]

    def hang_up(self) -> None:
        """Close all connections now, though no loop has heard of it."""
        for writer in self._connections.values():
            writer.get_extra_info("socket").shutdown(socket.SHUT_RDWR)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = writer
        self.connections += 1
        try:
            while await self._serve(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client has gone
        finally:
            self._connections.pop(task, None)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, target, _ = head[0].split(" ")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        if self.gives_leave and headers.get("expect") == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        request = Received(method, target, headers, body)
        self.received.append(request)
        answer = self.answering(request)
        if answer.status is None:
            return False
        length = len(answer.body) if answer.announced is None else answer.announced
        lines = [f"HTTP/1.1 {answer.status} So"]
        lines += [f"Content-Length: {length}"] if answer.is_framed else []
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        if method != "HEAD":
            writer.write(answer.body)
        await writer.drain()
        return method == "HEAD" or (answer.is_framed and length == len(answer.body))


_UNINTERESTING = frozenset({"encoding-type", "x-id", "prefix"})
