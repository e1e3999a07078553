"""Counters and durations under Hadoop's names, so that tools can read them like Hadoop's own.

Names follow ``StoreStatisticNames`` and ``ManifestCommitterStatisticNames`` of Hadoop 3.5:
``op_*`` for store calls, ``committer_*`` for totals. A duration adds
``.min``, ``.mean`` and ``.max`` in milliseconds, a failure ``.failures``.
"""

import logging
from dataclasses import dataclass, field
from math import inf

_log = logging.getLogger("fsspec_commit")


@dataclass(slots=True)
class _Duration:
    count: int = 0
    total_s: float = 0.0
    min_s: float = inf
    max_s: float = 0.0


@dataclass(slots=True)
class Statistics:
    """The counters and durations of one opened destination, changed on one thread only."""

    counters: dict[str, int] = field(default_factory=dict)
    durations: dict[str, _Duration] = field(default_factory=dict)

    def count(self, name: str, by: int = 1) -> None:
        """Add *by* to the counter *name*."""
        self.counters[name] = self.counters.get(name, 0) + by

    def took(self, name: str, seconds: float, *, times: int = 1) -> None:
        """Record that *name* succeeded, a number of *times*, and how long that took in all."""
        if times == 0:
            return
        _log.debug("%s, %d done in %.1f ms", name, times, seconds * 1000)
        duration = self.durations.get(name)
        if duration is None:
            duration = self.durations[name] = _Duration()
        each = seconds / times
        duration.count += times
        duration.total_s += seconds
        duration.min_s = min(duration.min_s, each)
        duration.max_s = max(duration.max_s, each)

    def failed(self, name: str) -> None:
        """Record that one *name* failed."""
        self.count(name + ".failures")

    def snapshot(self) -> dict[str, int]:
        """All numbers as plain integers, sorted by name."""
        numbers = dict(self.counters)
        for name, duration in self.durations.items():
            numbers[name] = numbers.get(name, 0) + duration.count
            numbers[name + ".min"] = round(duration.min_s * 1000)
            numbers[name + ".mean"] = round(duration.total_s * 1000 / duration.count)
            numbers[name + ".max"] = round(duration.max_s * 1000)
        return dict(sorted(numbers.items()))
