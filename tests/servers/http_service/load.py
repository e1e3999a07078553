"""What makes the server slow: the time that each call takes, and how many a second it answers."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any


class Load:
    """How slow the server is, and what it has counted; both may be asked at any time.

    Attributes:
        latency_s: From the end of a request to the first byte of its reply.
        rate_per_s: Requests above it are answered 503 `SlowDown`; None: there is no such limit.
        burst_s: What an idle server takes at once, as seconds of that rate.
    """

    def __init__(self) -> None:
        self.latency_s = 0.0
        self.rate_per_s: float | None = None
        self.burst_s = 0.0
        self._tokens = 0.0
        self._filled_s = time.monotonic()
        self._requests: Counter[str] = Counter()
        self._throttled: Counter[str] = Counter()
        self._in_flight = 0
        self._in_flight_max = 0
        self._steps = 0

    def set(self, *, latency_s: float, rate_per_s: float | None, burst_s: float) -> None:
        self.latency_s, self.rate_per_s, self.burst_s = latency_s, rate_per_s, burst_s
        self._tokens = (rate_per_s or 0.0) * burst_s
        self._filled_s = time.monotonic()
        self._in_flight_max = self._in_flight

    def begin(self, operation: str) -> bool:
        """Count a call; False: it is one too many, and only refused."""
        self._requests[operation] += 1
        self._steps += not self._in_flight
        self._in_flight += 1
        self._in_flight_max = max(self._in_flight_max, self._in_flight)
        if self.rate_per_s is None:
            return True
        now = time.monotonic()
        # At least one call must fit, or none would ever be answered.
        room = max(1.0, self.rate_per_s * self.burst_s)
        self._tokens = min(room, self._tokens + (now - self._filled_s) * self.rate_per_s)
        self._filled_s = now
        if self._tokens < 1.0:
            self._throttled[operation] += 1
            return False
        self._tokens -= 1.0
        return True

    def end(self) -> None:
        """A call is answered."""
        self._in_flight -= 1

    def statistics(self) -> dict[str, Any]:
        """Since the start, but for `in_flight_max`: since the load was set."""
        return {
            "requests": dict(self._requests),
            "throttled": dict(self._throttled),
            "in_flight_max": self._in_flight_max,
            "steps": self._steps,
            "cpu_s": time.process_time(),
            "time_s": time.monotonic(),
        }
