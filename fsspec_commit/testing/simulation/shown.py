"""What a reader who asks must be told: whole jobs, from each job's ``published`` on."""

from collections.abc import Iterable

from fsspec_commit.testing.simulation.known import KnownJob
from fsspec_commit.testing.simulation.rules import is_visible


class Shown:
    """The files that are committed, from moment to moment.

    Args:
        names: Those that stand there in the beginning.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._whole: list[tuple[float, frozenset[str]]] = [(0.0, frozenset(names))]

    def published(self, job: KnownJob, at_s: float) -> None:
        """From now on a reader is told of *job*; of jobs that conflict, one by one."""
        whole = (self._whole[-1][1] - job.replaced.keys()) | job.new.keys()
        self._whole.append((at_s, frozenset(whole)))

    def half_told(self, told: frozenset[str], began_s: float) -> str | None:
        """What is wrong with an answer to who asked at that time: so it was at no moment since."""
        shown = [(at_s, frozenset(filter(is_visible, whole))) for at_s, whole in self._whole]
        since = [whole for at_s, whole in shown if at_s > began_s]
        before = [whole for at_s, whole in shown if at_s <= began_s]
        if told in (before[-1], *since):
            return None
        near = since[-1] if since else before[-1]
        return f"half a job: missing={sorted(near - told)}, surplus={sorted(told - near)}"
