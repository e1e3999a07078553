"""Where the time of a program goes that works in threads it starts, as ours does on its loop."""

from __future__ import annotations

import cProfile
import pstats
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PROFILED_FUNCTIONS = 30


class ThreadProfile:
    """cProfile of every thread that starts after it, which is where a commit runs: on our loop."""

    def __init__(self, timer: Callable[[], float] = time.perf_counter) -> None:
        self._timer = timer
        self._profiles: list[cProfile.Profile] = []
        threading.setprofile(self._start)

    def _start(self, *_: object) -> None:
        profile = cProfile.Profile(self._timer)
        self._profiles.append(profile)
        profile.enable()

    def clear(self) -> None:
        """Forget what has run so far; the threads must be idle."""
        for profile in self._profiles:
            profile.clear()

    def show(self) -> None:
        """Print the functions that took the most time of their own; idle threads have none."""
        self.statistics().sort_stats("tottime").print_stats(PROFILED_FUNCTIONS)

    def statistics(self) -> pstats.Stats:
        """Of all threads together."""
        ran = [profile for profile in self._profiles if profile.getstats()]
        return pstats.Stats(*ran)
