"""What ``_SUCCESS`` must say in a simulated run: it stands for whole jobs, for no part of one."""

import json
from collections.abc import Callable, Collection, Container, Iterable, Iterator

from fsspec_commit.testing.simulation.bucket import Object
from fsspec_commit.testing.simulation.known import KnownJob


class Markers:
    """The marker of the destination.

    Args:
        are_removed: Whether jobs can remove an earlier marker; elsewhere it stays until the next.
        clock: The virtual time.
        fold: Maps all names that the store takes for the same one to a common form.
    """

    def __init__(
        self, *, are_removed: bool, clock: Callable[[], float], fold: Callable[[str], str] = str
    ) -> None:
        self._are_removed = are_removed
        self._clock = clock
        self._fold = fold
        self._since_s: float | None = None
        self._seen: list[tuple[Object, float]] = []

    def changed(self, marker: Object | None, whole: Collection[KnownJob]) -> str | None:
        """Note what stands now; return what is wrong with it, if anything.

        Args:
            marker: The marker, if one stands.
            whole: The jobs that have done all but end.
        """
        self._since_s = None
        if marker is None:
            return None
        for seen, since_s in self._seen:
            if seen is marker:
                self._since_s = since_s  # taken for identification, and put back
                return None
        self._since_s = self._clock()
        had_one = bool(self._seen)
        self._seen.append((marker, self._since_s))
        if not whole:
            return "_SUCCESS appears, and nothing that is decided is whole"
        if not any(self._may_be_of(job, marker.data, had_one=had_one) for job in whole):
            return f"_SUCCESS appears with {marker.data!r}, which no job that is whole would say"
        return None

    def speaks_for(self, job: KnownJob) -> bool:
        """Whether a marker still stands that *job*, of which a part appears, must have seen."""
        since_s = self._since_s
        return self._are_removed and since_s is not None and since_s < job.claimed_at_s

    def untruths(
        self, marker: bytes | None, decided: Iterable[KnownJob], names: Container[str]
    ) -> Iterator[str]:
        """What is wrong with the *marker*, or its absence, when all that was *decided* is over.

        Args:
            marker: What it says, if one stands.
            decided: The jobs.
            names: The files that stand, or of which nothing is known.
        """
        if marker is None and self._is_due(decided):
            yield "_SUCCESS was published, and does not stand"
        gone = sorted(name for name in self._named(marker or b"") if name not in names)
        if gone:
            yield f"_SUCCESS names {gone}, which do not stand"

    def _is_due(self, decided: Iterable[KnownJob]) -> bool:
        """Whether ``_SUCCESS`` must stand when all jobs that were *decided* are over.

        A job that adds to data leaves a marker where one stood; one that replaces all may leave
        none.
        """
        due = False
        for job in sorted(decided, key=lambda one: one.decided_at_s):
            replaces = job.plan.mode not in {"append", "overwrite_partitions"}
            if job.plan.success != "none":
                due = True
            elif replaces and self._are_removed:
                due = False
        return due

    def _may_be_of(self, job: KnownJob, data: bytes, *, had_one: bool) -> bool:
        """Whether *job* may leave a marker of *data*; one without its own may restore another's."""
        success = job.plan.success
        restored = success == "none" and had_one
        if data == b"":
            return success == "marker" or restored
        return self._named(data) == job.new.keys() and (success == "json" or restored)

    def _named(self, marker: bytes) -> set[str]:
        """The files that a marker says its job has written, if it says anything."""
        return {*map(self._fold, json.loads(marker)["filenames"])} if marker else set()
