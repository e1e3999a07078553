"""The files of one attempt once they are closed: where they are stored, and which are."""

from collections.abc import Callable, Mapping

from fsspec_commit.committers import AttemptOutput, NewFile
from fsspec_commit.committers.write_behind import DroppedError, WriteBehind, not_stored
from fsspec_commit.effects.budget import Budget
from fsspec_commit.errors import StoreError
from fsspec_commit.names import Target
from fsspec_commit.store import DirectWriter
from fsspec_commit.sync import bridge
from fsspec_commit.sync.attempt_names import AttemptNames
from fsspec_commit.sync.part_sink import PartSink


class ClosedFiles:
    """Stores the files of an attempt, on the caller's thread, on the loop, or by write-behind.

    Args:
        output: The attempt.
        budget: What may be on its way at once; ``None`` if a file is stored when it is closed.
        names: The names of the attempt.
        explain: Raises another error than the store's, if the other one says more.

    Attributes:
        output: What commits and drops the files.
    """

    def __init__(
        self,
        output: AttemptOutput,
        budget: Budget | None,
        names: AttemptNames,
        explain: Callable[[StoreError | DroppedError, str], None],
    ) -> None:
        self._behind = None if budget is None else WriteBehind(output, budget)
        self._names = names
        self._explain = explain
        self.output: AttemptOutput = self._behind or output

    def sink(self, final: Target) -> DirectWriter[NewFile]:
        """A writer of the file *final*, once no earlier file of that name is on its way."""
        direct = self.output.direct_writer(final)
        if direct is not None:
            return direct
        behind = self._behind
        if behind is not None and behind.is_on_its_way(final):
            bridge.run(behind.settled([final]))
        return PartSink(self.output.writer(final), final, behind)

    def wait(self) -> None:
        """Wait until every closed file is stored, or could not be.

        Raises:
            CommitFailedError: A failure to store one was not reported yet; its name is spoiled.
            JobNotActiveError: That is because the job was settled meanwhile.
        """
        behind = self._behind
        if behind is not None and behind.has_any_on_its_way:
            bridge.run(behind.settled())
        self.raise_failure()

    def raise_failure(self) -> None:
        """Raise an error for the closed files whose failures were not reported yet, if any.

        Raises:
            CommitFailedError: One could not be stored; its name is spoiled.
            JobNotActiveError: That is because the job was settled meanwhile.
        """
        behind = self._behind
        if behind is None or not behind.untold():
            return  # Do not look at every name whenever a file is opened.
        failed = _those_in(behind.untold(), self._names.whole())
        for name, (final, _) in failed.items():
            self._names.lose(name)
            behind.told(final)
        self._raise(failed)

    def sizes(self, below: str) -> dict[str, int]:
        """The whole files named *below*, or in the directory of that name, with their sizes.

        Waits for those of them that are on their way.

        Raises:
            CommitFailedError: One could not be stored.
            JobNotActiveError: That is because the job was settled meanwhile.
        """
        whole = self._whole(below)
        if not whole:
            return {}  # Most often a library looks for what it is about to write.
        behind = self._behind
        if behind is not None and any(map(behind.is_on_its_way, whole.values())):
            bridge.run(behind.settled(whole.values()))
        sizes = {file.target: file.size_bytes for file in self.output.finished()}
        failed = {} if behind is None else behind.failed()
        # Last: a name whose failure another thread was told of, or that it rewrites, is not whole.
        whole = self._whole(below)
        self._raise(_those_in(failed, whole))
        return {name: sizes[final] for name, final in whole.items() if final in sizes}

    def take_no_more(self) -> None:
        """Refuse every file from now on; called on the loop."""
        if self._behind is not None:
            self._behind.take_no_more()

    async def stop(self) -> None:
        """Store nothing more, and wait for the requests that are on their way."""
        if self._behind is not None:
            await self._behind.stop()

    def _whole(self, below: str) -> dict[str, Target]:
        inside = f"{below}/" if below else ""
        return {
            name: final
            for name, final in self._names.whole().items()
            if name == below or name.startswith(inside)
        }

    def _raise(self, failed: Mapping[str, tuple[Target, BaseException]]) -> None:
        """Raise one error for all of *failed*."""
        if not failed:
            return
        (name, (_, error)), *others = failed.items()
        if isinstance(error, StoreError | DroppedError):
            self._explain(error, name)
        told = not_stored(name, error)
        if told is not error:
            for other, (_, why) in others:
                told.add_note(f"nor could {other!r} be stored: {why}")
        raise told


def _those_in(
    failed: Mapping[Target, BaseException], whole: Mapping[str, Target]
) -> dict[str, tuple[Target, BaseException]]:
    """The names of *whole* that have failed, with their final names and their errors."""
    if not failed:
        return {}
    return {name: (final, failed[final]) for name, final in whole.items() if final in failed}
