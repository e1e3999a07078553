"""HTTP/1.1 as far as a proxy must understand it: heads, and where a body ends (RFC 9112, 6)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote
from xml.sax.saxutils import escape

from tests.servers.s3_operations import operation_name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

BLOCK_SIZE_BYTES = 1 << 16


@dataclass(frozen=True)
class Head:
    """A start line and its headers, as they came."""

    wire: bytes

    @cached_property
    def start(self) -> list[str]:
        return self.wire.partition(b"\r\n")[0].decode("latin-1").split(" ", 2)

    @cached_property
    def headers(self) -> dict[str, str]:
        """By lower-case name; of a repeated one the last."""
        lines = self.wire.decode("latin-1").split("\r\n")[1:]
        pairs = (line.partition(":") for line in lines if line)
        return {name.strip().lower(): value.strip() for name, _, value in pairs}

    @property
    def is_chunked(self) -> bool:
        return "chunked" in self.headers.get("transfer-encoding", "").lower()

    @property
    def length_bytes(self) -> int | None:
        length = self.headers.get("content-length")
        return None if length is None else int(length)

    @property
    def closes(self) -> bool:
        return "close" in self.headers.get("connection", "").lower()


class Request(Head):
    """What a client asks, in HTTP's and in S3's words (path-style addresses).

    Another store's has its own `operation` and `failure`.
    """

    @property
    def method(self) -> str:
        return self.start[0]

    @property
    def path(self) -> str:
        """Decoded, without the query."""
        return unquote(self.start[1].partition("?")[0])

    @cached_property
    def query(self) -> dict[str, str]:
        pairs = parse_qsl(self.start[1].partition("?")[2], keep_blank_values=True)
        return dict(pairs)

    @property
    def bucket(self) -> str:
        return self.path.lstrip("/").partition("/")[0]

    @property
    def key(self) -> str:
        return self.path.lstrip("/").partition("/")[2]

    @property
    def has_body(self) -> bool:
        return self.is_chunked or bool(self.length_bytes)

    @property
    def expects_continue(self) -> bool:
        return self.headers.get("expect", "").lower() == "100-continue"

    @property
    def operation(self) -> str:
        """The name of the S3 action, as in the API reference; others by method and path."""
        name = operation_name(self.method, self.bucket, self.key, self.query, self.headers)
        return name or f"{self.method} {self.path}"

    def failure(self, status: int, code: str | None) -> Failure:
        """How S3 says that it has failed: status, and the code in XML."""
        name = code or ("SlowDown" if status == _SERVICE_UNAVAILABLE else "InternalError")
        content = (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f"<Error><Code>{escape(name)}</Code><Message>said by the proxy of the tests</Message>"
            f"<Resource>{escape(self.path)}</Resource><RequestId>0</RequestId></Error>"
        ).encode()
        return Failure(name, {"Content-Type": "application/xml"}, content)


@dataclass(frozen=True)
class Failure:
    """What a store says beside the status of a failure."""

    reason: str
    headers: Mapping[str, str]
    content: bytes


_SERVICE_UNAVAILABLE = 503


class Reply(Head):
    @property
    def status(self) -> int:
        return int(self.start[1])

    @property
    def is_interim(self) -> bool:
        return self.status < 200

    def ends_with_connection(self, request: Request) -> bool:
        framed = self.is_chunked or self.length_bytes is not None
        return self.closes or (self.has_body_for(request) and not framed)

    def has_body_for(self, request: Request) -> bool:
        if request.method == "HEAD" or self.status in {204, 304}:
            return False
        return self.is_chunked or self.length_bytes != 0


async def read_head(reader: asyncio.StreamReader) -> bytes | None:
    """Start line and headers with the empty line after them; None at the end of the connection."""
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


async def request_body(reader: asyncio.StreamReader, request: Request) -> AsyncIterator[bytes]:
    """The body as it is on the wire, in blocks.

    Raises:
        asyncio.IncompleteReadError: the connection ended within it.
    """
    if request.is_chunked:
        async for block in _chunks(reader):
            yield block
    else:
        async for block in _exactly(reader, request.length_bytes or 0):
            yield block


async def reply_body(
    reader: asyncio.StreamReader, reply: Reply, request: Request
) -> AsyncIterator[bytes]:
    """The same of a reply, whose body may also end with the connection."""
    if not reply.has_body_for(request):
        return
    if reply.is_chunked:
        async for block in _chunks(reader):
            yield block
    elif reply.length_bytes is not None:
        async for block in _exactly(reader, reply.length_bytes):
            yield block
    else:
        while block := await reader.read(BLOCK_SIZE_BYTES):
            yield block


async def _exactly(reader: asyncio.StreamReader, size_bytes: int) -> AsyncIterator[bytes]:
    left = size_bytes
    while left:
        block = await reader.read(min(left, BLOCK_SIZE_BYTES))
        if not block:
            raise asyncio.IncompleteReadError(b"", left)
        left -= len(block)
        yield block


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while True:
        line = await reader.readuntil(b"\r\n")
        yield line
        size_bytes = int(line.partition(b";")[0], 16)
        if size_bytes == 0:
            break
        async for block in _exactly(reader, size_bytes + len(b"\r\n")):
            yield block
    # The trailer section: header lines up to an empty one.
    while (line := await reader.readuntil(b"\r\n")) != b"\r\n":
        yield line
    yield line
