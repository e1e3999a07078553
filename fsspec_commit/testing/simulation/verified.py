"""What ``verify`` may say of a destination at which jobs are at work."""

from collections.abc import Callable, Collection, Iterator, Sequence

from fsspec_commit.protocol.verify import Comparison
from fsspec_commit.testing.simulation.known import KnownJob
from fsspec_commit.testing.simulation.model import Model
from fsspec_commit.testing.simulation.rules import is_visible

Wrong = Iterator[tuple[str, str]]
"""What is wrong with an answer, each with the promise that it breaks."""


class Watch:
    """All that was true at any moment of a call, and all that was true throughout.

    Args:
        model: The destination, as the call begins.
        fold: Maps all names that the store takes for the same one to a common form.
        is_alone: Whether nobody else has left anything there, and no other destination is inside.
    """

    def __init__(self, model: Model, fold: Callable[[str], str], *, is_alone: bool) -> None:
        self._model = model
        self._fold = fold
        self._is_alone = is_alone
        self._stood = self._stood_always = frozenset(model.actual)
        self._decided: set[str] = set()
        self._damaged: set[str] = set()
        self._published_always = {one.job_id for one in self._at_work() if one.is_published}
        self.look()

    def look(self) -> None:
        """Note what is true now that the store has changed."""
        standing = frozenset(self._model.actual)
        self._stood |= standing
        self._stood_always &= standing
        at_work = {one.job_id for one in self._at_work()}
        self._decided |= at_work
        self._published_always &= at_work
        self._damaged |= {one.job_id for one in self._model.jobs.values() if one.looks_damaged}

    def _at_work(self) -> Iterator[KnownJob]:
        """The jobs that are decided and not finished."""
        for job in self._model.jobs.values():
            if job.state == "committed" and job.spec and job.is_in_place:
                yield job

    def untruths(self, actor: str, found: Comparison) -> Wrong:
        """What is wrong with a comparison: what it says of a file or a job must have been so once.

        What others have written or deleted is not judged.
        """
        for line in (*found.missing, *found.changed):
            name, is_one, _ = line.rpartition(": ")
            touched = self._model.touched
            if self._fold(name) not in touched if is_one else not touched:
                yield "P1 P2", f"{actor} is told of files that are not as a job left them: {line}"
        if not self._is_alone:
            return
        least, most = (sum(map(is_visible, one)) for one in (self._stood_always, self._stood))
        if not least <= found.file_count <= most:
            yield "P1 P2", f"{actor} counts {found.file_count} files of {least} to {most}"
        least, most = len(self._names(self._published_always)), self._most_that_are_known()
        if not least <= found.checked_count <= most:
            yield "P1 P2", f"{actor} compares {found.checked_count} files of {least} to {most}"

    def _names(self, job_ids: Collection[str]) -> set[str]:
        return {name for job_id in job_ids for name in self._model.jobs[job_id].new}

    def _most_that_are_known(self) -> int:
        """How many files jobs at work have written down, or one that has left its names.

        A job that writes no marker may have to leave one where another stood.
        """
        at_work = sum(len(self._model.jobs[job_id].new) for job_id in self._decided)
        named = (
            len(one.new)
            for one in self._model.jobs.values()
            if one.plan.success != "marker" and one.state == "committed"
        )
        return max(at_work, *named, 0)

    def untruths_of_remains(self, actor: str, shown: Sequence[str]) -> Wrong:
        """What is wrong with what is said of jobs that need somebody to settle them."""
        for line in shown:
            job_id, _, what = line.partition(": ")
            if job_id not in self._model.jobs:
                continue
            if what.startswith("committed") and job_id not in self._decided:
                yield "P7", f"{actor} is told of a job that has not decided, or is over: {line}"
            if what.startswith("damaged") and job_id not in self._damaged:
                yield "P8", f"{actor} is told of a job that is not damaged: {line}"
