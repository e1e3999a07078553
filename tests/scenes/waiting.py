"""Waiting for what another thread does."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_SOON_S = 20.0


def until(happened: Callable[[], bool]) -> None:
    """Wait for it."""
    wait = threading.Event()
    for _ in range(int(_SOON_S * 200)):
        if happened():
            return
        wait.wait(0.005)
    raise AssertionError("it never happened")
