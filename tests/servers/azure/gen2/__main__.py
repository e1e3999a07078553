"""Run the server on a port of 127.0.0.1, until it is killed or standard input ends.

python -m tests.servers.azure.gen2 --account NAME [--port PORT] [--directory DIRECTORY]

The account's key comes in the environment. With a directory it holds, after any end, what it has
acknowledged. Without a port it takes a free one, prints it, and ends when standard input does.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import signal
import sys
from pathlib import Path

from tests.servers.azure.gen2.authorization import KEY_VARIABLE, Account
from tests.servers.azure.gen2.connection import Connection
from tests.servers.azure.gen2.journal import Journal
from tests.servers.azure.gen2.service import Service
from tests.servers.azure.gen2.storage import Storage
from tests.servers.slow_s3.load import Load

_BLOCK_SIZE_BYTES = 4096


async def serve(service: Service, port: int | None) -> None:
    loop = asyncio.get_running_loop()
    load = Load()
    server = await loop.create_server(
        lambda: Connection(service, load), "127.0.0.1", port or 0, backlog=1024
    )
    ended = loop.create_future()
    if port is None:
        print(server.sockets[0].getsockname()[1], flush=True)

        def look() -> None:
            if not os.read(sys.stdin.fileno(), _BLOCK_SIZE_BYTES) and not ended.done():
                ended.set_result(None)

        loop.add_reader(sys.stdin.fileno(), look)
    await ended


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.servers.azure.gen2")
    parser.add_argument("--account", required=True)
    parser.add_argument("--port", type=int)
    parser.add_argument("--directory", type=Path)
    asked = parser.parse_args()
    # Ctrl-C is for whoever started it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    journal = None if asked.directory is None else Journal(asked.directory / "journal")
    service = Service(Storage(journal), Account(asked.account, os.environ[KEY_VARIABLE]))
    # What is stored is no garbage, and to look for some in it would take longer with each file.
    gc.disable()
    asyncio.run(serve(service, asked.port))
    os._exit(0)


if __name__ == "__main__":
    main()
