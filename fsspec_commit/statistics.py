"""Counters and durations under Hadoop's names, so that tools read both.

Names follow ``StoreStatisticNames`` and ``ManifestCommitterStatisticNames`` of Hadoop 3.5:
``op_*`` for store calls, ``job_stage_*`` for steps, ``committer_*`` for totals. A duration adds
``.min``, ``.mean`` and ``.max`` in milliseconds, a failure ``.failures``.
"""

from dataclasses import dataclass, field


@dataclass(slots=True)
class _Duration:
    count: int = 0
    total_s: float = 0.0
    min_s: float = 0.0
    max_s: float = 0.0


@dataclass(slots=True)
class Statistics:
    """What happened, in numbers; owned by one opened destination, changed on one thread."""

    counters: dict[str, int] = field(default_factory=dict)
    durations: dict[str, _Duration] = field(default_factory=dict)

    def count(self, name: str, by: int = 1) -> None:
        """Add *by* to the counter *name*."""
        self.counters[name] = self.counters.get(name, 0) + by

    def took(self, name: str, seconds: float) -> None:
        """Record that one *name* succeeded and how long it took."""
        duration = self.durations.get(name)
        if duration is None:
            self.durations[name] = _Duration(1, seconds, seconds, seconds)
            return
        duration.count += 1
        duration.total_s += seconds
        if seconds < duration.min_s:
            duration.min_s = seconds
        elif seconds > duration.max_s:
            duration.max_s = seconds

    def failed(self, name: str) -> None:
        """Record that one *name* failed."""
        self.count(name + ".failures")

    def snapshot(self) -> dict[str, int]:
        """All of it as plain integers, sorted by name."""
        numbers = dict(self.counters)
        for name, duration in self.durations.items():
            numbers[name] = numbers.get(name, 0) + duration.count
            numbers[name + ".min"] = round(duration.min_s * 1000)
            numbers[name + ".mean"] = round(duration.total_s * 1000 / duration.count)
            numbers[name + ".max"] = round(duration.max_s * 1000)
        return dict(sorted(numbers.items()))
