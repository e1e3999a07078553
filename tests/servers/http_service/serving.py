"""A server's process: it listens on 127.0.0.1 until it is killed."""

from __future__ import annotations

import argparse
import asyncio
import gc
from pathlib import Path
from typing import TYPE_CHECKING

from tests.servers.http_service.connection import Connection
from tests.servers.http_service.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.servers.http_service.endpoint import Endpoint


def main(make: Callable[[Journal | None], Endpoint]) -> None:
    """Serve on a port, as the arguments say: ``--port PORT [--data FOLDER]``.

    With a folder the server holds, after any end, what it has acknowledged.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", type=Path)
    told = parser.parse_args()
    endpoint = make(None if told.data is None else Journal(told.data / "journal"))
    # What is stored is no garbage, and to look for some in it would take longer with each object.
    gc.disable()
    asyncio.run(_serve(endpoint, told.port))


async def _serve(endpoint: Endpoint, port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(endpoint), "127.0.0.1", port, backlog=1024)
    await server.serve_forever()
