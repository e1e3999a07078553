"""A server that takes connections, and nothing of what is sent."""

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
