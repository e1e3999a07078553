"""Servers that do not answer: one of them takes nothing of what is sent, either."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LARGE = bytes(8 << 20)
"""More than the system holds of it on its way."""


@asynccontextmanager
async def deaf_server() -> AsyncIterator[str]:
    """Its URL: what is paused, or has no network any more, takes no more than its system does."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
        listening.setblocking(False)
        accepted: list[socket.socket] = []

        async def accept() -> None:
            while True:
                connection, _ = await asyncio.get_running_loop().sock_accept(listening)
                accepted.append(connection)

        accepting = asyncio.create_task(accept())
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            accepting.cancel()
            for connection in accepted:
                connection.close()


@asynccontextmanager
async def silent_server() -> AsyncIterator[str]:
    """Its URL."""
    serving: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        try:
            await reader.read()
        finally:
            writer.close()

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            for task in serving:
                task.cancel()
            await asyncio.gather(*serving, return_exceptions=True)
