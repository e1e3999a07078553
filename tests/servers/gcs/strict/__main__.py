"""Run the server on a port of 127.0.0.1, until it is killed or standard input ends.

python -m tests.servers.gcs.strict [--port PORT --data FOLDER]

With a folder it holds, after any end, what it has acknowledged. Without a port it takes a free one,
prints it, and ends when standard input does.
"""

from __future__ import annotations

import argparse
import gc
from pathlib import Path

from tests.servers.gcs.strict.endpoint import GcsEndpoint
from tests.servers.gcs.strict.state import State
from tests.servers.http_service.journal import Journal
from tests.servers.http_service.serving import serve


def main() -> None:
    # What is stored is no garbage, and to look for some in it would take longer with each object.
    gc.freeze()
    gc.set_threshold(100_000, 50, 1_000)
    parser = argparse.ArgumentParser(prog="python -m tests.servers.gcs.strict")
    parser.add_argument("--port", type=int)
    parser.add_argument("--data", type=Path)
    asked = parser.parse_args()
    state = State(None if asked.data is None else Journal(asked.data / "journal"))
    serve(GcsEndpoint(state), port=asked.port)


if __name__ == "__main__":
    main()
