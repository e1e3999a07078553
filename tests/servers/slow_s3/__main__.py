"""Run the server: prints its port, and ends when standard input does.

python -m tests.servers.slow_s3
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys

from tests.servers.slow_s3.connection import Connection
from tests.servers.slow_s3.load import Load
from tests.servers.slow_s3.storage import Storage

_BLOCK_SIZE_BYTES = 4096


async def serve() -> None:
    """Until nobody is left who holds the other end of standard input."""
    loop = asyncio.get_running_loop()
    storage, load = Storage(), Load()
    server = await loop.create_server(
        lambda: Connection(storage, load), "127.0.0.1", 0, backlog=1024
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    ended = loop.create_future()

    def look() -> None:
        if not os.read(sys.stdin.fileno(), _BLOCK_SIZE_BYTES) and not ended.done():
            ended.set_result(None)

    loop.add_reader(sys.stdin.fileno(), look)
    await ended


def main() -> None:
    # Ctrl-C is for whoever started it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What is stored is no garbage, and to look for some in it would take longer with each object.
    gc.disable()
    asyncio.run(serve())
    # Gigabytes may be held; the system is faster at giving them back.
    os._exit(0)


if __name__ == "__main__":
    main()
