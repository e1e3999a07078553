"""A server's process: it listens on 127.0.0.1, and ends with whoever started it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING

from tests.servers.http_service.connection import Connection

if TYPE_CHECKING:
    from tests.servers.http_service.endpoint import Endpoint

_BLOCK_SIZE_BYTES = 4096


def serve(endpoint: Endpoint, *, port: int | None = None) -> None:
    """Serve until it is killed; without a port also until standard input ends.

    It prints the port that it has then. What is held then may be gigabytes: nothing is torn down.
    """
    # Ctrl-C is for whoever started it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(_serve(endpoint, port))
    os._exit(0)


async def _serve(endpoint: Endpoint, port: int | None) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Connection(endpoint), "127.0.0.1", port or 0, backlog=1024
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    ended = loop.create_future()

    def look() -> None:
        if not os.read(sys.stdin.fileno(), _BLOCK_SIZE_BYTES) and not ended.done():
            ended.set_result(None)

    if port is None:
        loop.add_reader(sys.stdin.fileno(), look)
    await ended
