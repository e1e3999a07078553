"""A driver whose job is published on a cluster; it is killed while slices of it run there.

python -m tests.dask.killed_driver ADDRESS DESTINATION MARK
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from distributed import Client

import fsspec_commit as fc
from fsspec_commit.sync import spreading
from tests.dask.on_workers import Slow, Spoilt, write

if TYPE_CHECKING:
    from tests.dask.on_workers import Function


def die_with(mark: Path) -> None:
    while not mark.exists():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


def main(address: str, destination: str, mark: Path) -> None:
    spreading.FILES_MIN = 6

    def slow(function: Function) -> Function:
        return Slow(function, mark, seconds=0.5)

    threading.Thread(target=die_with, args=[mark], daemon=True).start()
    client = Client(address, set_as_default=False)
    write(destination, mode="append", publisher=Spoilt(fc.dask.publisher(client), slow))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
