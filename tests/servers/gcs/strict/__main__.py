"""Run the server: prints its port when it listens.

python -m tests.servers.gcs.strict --port 0 --data FOLDER --until-eof
"""

from __future__ import annotations

import argparse
import gc
from pathlib import Path

from tests.servers.gcs.strict.endpoint import GcsEndpoint
from tests.servers.gcs.strict.journal import Journal
from tests.servers.gcs.strict.state import State
from tests.servers.http_service.serving import serve


def main() -> None:
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
    state = State(Journal(None if asked.data is None else asked.data / "journal"))
    serve(GcsEndpoint(state), port=asked.port, until_eof=asked.until_eof)


if __name__ == "__main__":
    main()
