"""What ``_SUCCESS`` must say in a simulated run: it stands for whole jobs, for no part of one."""

from collections.abc import Callable, Iterable
from typing import Protocol

from fsspec_commit.testing.simulation.bucket import Object
from fsspec_commit.testing.simulation.plan import JobPlan


class Marked(Protocol):
    """A decided job, as far as it matters here."""

    plan: JobPlan
    claimed_at_s: float
    decided_at_s: float


class Markers:
    """The marker of the destination.

    Args:
        are_removed: Whether jobs can remove an earlier marker; elsewhere it stays until the next.
        clock: The virtual time.
    """

    def __init__(self, *, are_removed: bool, clock: Callable[[], float]) -> None:
        self._are_removed = are_removed
        self._clock = clock
        self._since_s: float | None = None
        self._seen: list[tuple[Object, float]] = []

    def changed(self, marker: Object | None, *, has_whole_job: bool) -> str | None:
        """Note what stands now; return what is wrong with it, if anything."""
        self._since_s = None
        if marker is None:
            return None
        for seen, since_s in self._seen:
            if seen is marker:
                self._since_s = since_s  # taken for identification, and put back
                return None
        self._since_s = self._clock()
        self._seen.append((marker, self._since_s))
        return None if has_whole_job else "_SUCCESS appears, and nothing that is decided is whole"

    def speaks_for(self, job: Marked) -> bool:
        """Whether a marker still stands that *job*, of which a part appears, must have seen."""
        since_s = self._since_s
        return self._are_removed and since_s is not None and since_s < job.claimed_at_s

    def is_due(self, decided: Iterable[Marked]) -> bool:
        """Whether ``_SUCCESS`` must stand when all jobs that were *decided* are over.

        Who adds to data leaves a marker where one stood; who replaces all of them may leave none.
        """
        due = False
        for job in sorted(decided, key=lambda one: one.decided_at_s):
            replaces = job.plan.mode not in {"append", "overwrite_partitions"}
            if job.plan.success != "none":
                due = True
            elif replaces and self._are_removed:
                due = False
        return due
