"""Run the server on a port of 127.0.0.1, until it is killed or standard input ends.

python -m tests.servers.azure.gen2 --account NAME [--port PORT] [--directory DIRECTORY]

The account's key comes in the environment. With a directory it holds, after any end, what it has
acknowledged. Without a port it takes a free one, prints it, and ends when standard input does.
"""

from __future__ import annotations

import argparse
import gc
import os
from pathlib import Path

from tests.servers.azure.gen2.authorization import KEY_VARIABLE, Account
from tests.servers.azure.gen2.endpoint import Gen2Endpoint
from tests.servers.azure.gen2.service import Service
from tests.servers.azure.gen2.storage import Storage
from tests.servers.http_service.journal import Journal
from tests.servers.http_service.serving import serve


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.servers.azure.gen2")
    parser.add_argument("--account", required=True)
    parser.add_argument("--port", type=int)
    parser.add_argument("--directory", type=Path)
    asked = parser.parse_args()
    journal = None if asked.directory is None else Journal(asked.directory / "journal")
    service = Service(Storage(journal), Account(asked.account, os.environ[KEY_VARIABLE]))
    # What is stored is no garbage, and to look for some in it would take longer with each file.
    gc.disable()
    serve(Gen2Endpoint(service), port=asked.port)


if __name__ == "__main__":
    main()
