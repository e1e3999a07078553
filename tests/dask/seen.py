"""What the tests of Dask look at."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from tests.protocol.invariants import raw_visible, snapshot_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest
    from distributed import Client


def contents(destination: Path) -> list[str]:
    found = raw_visible(snapshot_of(destination)).values()
    return sorted(data.decode() for data in found if data)


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What this library has warned of."""
    ours = [one for one in caplog.records if one.name == "fsspec_commit"]
    return [one.getMessage() for one in ours if one.levelno >= logging.WARNING]


def workers(client: Client) -> set[str]:
    return set(client.nthreads())


def until(is_so: Callable[[], bool]) -> None:
    """Wait for what a scheduler, or a client's loop, is told by a message."""
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)
