"""Run the server: prints its port when it listens.

python -m tests.servers.gcs.strict --port 0 --data FOLDER --until-eof
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import signal
import sys
from pathlib import Path

from aiohttp import web

from tests.servers.gcs.strict.http_server import HttpServer
from tests.servers.gcs.strict.journal import Journal
from tests.servers.gcs.strict.state import State

_BLOCK_SIZE_BYTES = 4096


async def serve(port: int, data: Path | None, *, until_eof: bool) -> None:
    """Until it is killed, or nobody is left who holds the other end of standard input."""
    state = State(Journal(None if data is None else data / "journal"))
    runner = web.ServerRunner(web.Server(HttpServer(state).respond))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=1024)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    ended = asyncio.get_running_loop().create_future()

    def look() -> None:
        if not os.read(sys.stdin.fileno(), _BLOCK_SIZE_BYTES) and not ended.done():
            ended.set_result(None)

    if until_eof:
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), look)
    await ended


def main() -> None:
    # Ctrl-C is for whoever started it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What is stored is no garbage, and to look for some in it would take longer with each object.
    gc.freeze()
    gc.set_threshold(100_000, 50, 1_000)
    parser = argparse.ArgumentParser(prog="python -m tests.servers.gcs.strict")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument(
        "--data", type=Path, help="keeps what was acknowledged; else it is in memory"
    )
    parser.add_argument("--until-eof", action="store_true", help="end when standard input does")
    asked = parser.parse_args()
    asyncio.run(serve(asked.port, asked.data, until_eof=asked.until_eof))
    os._exit(0)


if __name__ == "__main__":
    main()
