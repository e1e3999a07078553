"""What keeps a name from being written too often."""

from __future__ import annotations

import time
from collections import deque

from tests.servers.gcs.strict.failures import write_rate_exceeded


class WriteRate:
    """When each name was last written, for as long as that matters."""

    def __init__(self) -> None:
        self._written_s: dict[tuple[str, str], float] = {}
        self._order: deque[tuple[float, tuple[str, str]]] = deque()

    def check(self, bucket: str, name: str, *, interval_s: float) -> None:
        """Raises: Failure: it was written less than the interval ago."""
        moment_s = time.monotonic()
        while self._order and moment_s - self._order[0][0] > interval_s:
            written_s, place = self._order.popleft()
            if self._written_s.get(place) == written_s:
                del self._written_s[place]
        if (bucket, name) in self._written_s:
            raise write_rate_exceeded(bucket, name)

    def note(self, bucket: str, name: str, *, interval_s: float) -> None:
        if interval_s:
            moment_s = time.monotonic()
            self._written_s[bucket, name] = moment_s
            self._order.append((moment_s, (bucket, name)))
