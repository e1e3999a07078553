"""A proxy through which others speak with whom they will, unheard."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@dataclass
class Tunnel:
    """A proxy.

    Attributes:
        url: Its own.
        refusal: What it answers instead, if it does not let anybody through.
        asked: The lines by which it was asked, with all that they were told.
    """

    url: str = ""
    refusal: bytes = b""
    asked: list[str] = field(default_factory=list)


@asynccontextmanager
async def tunnel() -> AsyncIterator[Tunnel]:
    """One that listens on this machine."""
    proxy = Tunnel()
    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        proxy.asked.append(head)
        if proxy.refusal:
            writer.write(proxy.refusal)
            return
        host, _, port = head.split(" ")[1].rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        async with closing(far_writer):
            await asyncio.gather(pass_on(reader, far_writer), pass_on(far_reader, writer))

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        with suppress(OSError, asyncio.IncompleteReadError):
            async with closing(writer):
                await serve(reader, writer)

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield proxy
        finally:
            for task in serving:
                task.cancel()
            await asyncio.gather(*serving, return_exceptions=True)


@asynccontextmanager
async def closing(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    """Close *writer* in the end, whatever the end is."""
    try:
        yield
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """All that comes, to its end."""
    while piece := await reader.read(1 << 16):
        writer.write(piece)
        await writer.drain()
    writer.close()
