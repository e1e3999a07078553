"""Files that somebody puts in the way of a job, and takes away again."""

from collections.abc import Callable, Iterable

from fsspec_commit.testing.simulation.known import KnownJob
from fsspec_commit.testing.simulation.rules import replaces


class Obstacles:
    """What stands in the way.

    Args:
        clock: The virtual time.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._stand: dict[str, tuple[bytes, float]] = {}

    def are_meant(self, actor: str, name: str, before: bytes | None) -> bool:
        """Whether an obstacle accounts for a change by *actor* of *name*, which held *before*."""
        return actor.startswith("obstacle") or before in self._stand.get(name, ())[:1]

    def changed(
        self, actor: str, name: str, after: bytes | None, decided: Iterable[KnownJob]
    ) -> str | None:
        """What is wrong with a change; jobs that were *decided* later may have listed it."""
        _, since_s = self._stand.pop(name, (b"", 0.0))
        if actor.startswith("obstacle"):
            if after is not None:
                self._stand[name] = after, self._clock()
            return None
        for job in decided:
            if job.decided_at_s > since_s and replaces(job.plan, job.new, name):
                return None
        return f"{actor}: {name!r}, which stood in the way, goes, or is changed"
