"""Small files are stored behind their writer's back: closing one does not wait for the store.

A network store takes a round trip or two to store a file, and its writer need not wait: what
counts is that every file is stored when the attempt commits. So that is when the attempt waits, and
it fails if a file was not stored. What is on its way at once is bounded by the budget of the store.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fsspec_commit.committers import AttemptOutput, FileWriter, NewFile
from fsspec_commit.committers.adopted import AdoptedFile
from fsspec_commit.effects.behind import behind
from fsspec_commit.effects.budget import Budget
from fsspec_commit.errors import CommitFailedError, JobNotActiveError
from fsspec_commit.names import Target
from fsspec_commit.store import DirectWriter


class DroppedError(Exception):
    """A file was dropped with its attempt, which takes no more of them."""


@dataclass(frozen=True, slots=True)
class HandedOver:
    """A closed file that may still be on its way.

    Attributes:
        target: Its name at the destination.
        size_bytes: Its size.
    """

    target: Target
    size_bytes: int


class WriteBehind:
    """An :class:`~fsspec_commit.committers.AttemptOutput` storing small files in the background.

    A name has one file at a time: whoever writes a name again, or drops it, waits for the file that
    is on its way. An attempt of which a file could not be stored is never sealed, unless that name
    was written again, or dropped.

    Args:
        output: The attempt, of a store that is reached on the event loop.
        budget: What may be on its way at once.
    """

    def __init__(self, output: AttemptOutput, budget: Budget) -> None:
        self._output = output
        self._budget = budget
        self._handed: dict[Target, tuple[FileWriter, asyncio.Task[NewFile]]] = {}
        self._failed: dict[Target, BaseException] = {}
        self._untold: dict[Target, BaseException] = {}
        self._is_dropped = False

    def writer(self, name: Target) -> FileWriter:
        """Write one file on the event loop; no file of that name may still be on its way.

        Raises:
            DroppedError: The attempt was dropped.
        """
        if self._is_dropped:
            raise DroppedError
        if name in self._handed:
            raise AssertionError(f"{name!r} is on its way: await settled()")
        self._forget(name)
        return self._output.writer(name)

    def direct_writer(self, name: Target) -> DirectWriter[NewFile] | None:
        """Write one file on the caller's thread; ``None`` if the store cannot."""
        return self._output.direct_writer(name)

    async def hand_over(self, name: Target, writer: FileWriter, data: bytes) -> NewFile:
        """Take *data*, a whole file; returns when it is on its way.

        That is at once, as long as there is room in the budget.

        Args:
            name: The name of the file.
            writer: Its writer, to which nothing was written.
            data: Its content, which must not change.

        Raises:
            DroppedError: The attempt was dropped meanwhile.
        """
        await self.settled([name])
        await self._budget.take(len(data), files=1)
        if self._is_dropped:
            self._budget.give_back(len(data), files=1)
            raise DroppedError
        file = HandedOver(name, len(data))

        def ended(error: BaseException | None) -> None:
            self._budget.give_back(file.size_bytes, files=1)
            if isinstance(error, asyncio.CancelledError):
                error = DroppedError()
            if error is not None:
                self._failed[name] = self._untold[name] = error
            self._handed.pop(name)  # Last: other threads then look whether it has failed.

        self._handed[name] = writer, behind(writer.store(data), writer.discard, ended)
        return file

    async def let_go(self, name: Target, writer: FileWriter) -> None:
        """Drop what was written by *writer*, unless it is stored already."""
        if name in self._handed and self._handed[name][0] is writer:
            await self._stop([name])
        else:
            await writer.discard()

    @property
    def has_any_on_its_way(self) -> bool:
        """Whether a file is closed, and not stored yet."""
        return bool(self._handed)

    def is_on_its_way(self, name: Target) -> bool:
        """Whether a file of that name is closed, and not stored yet."""
        return name in self._handed

    async def settled(self, names: Iterable[Target] | None = None) -> None:
        """Wait until no file of *names* is on its way; by default, none at all."""
        handed = self._handed
        wanted = [*handed] if names is None else [name for name in names if name in handed]
        if wanted:
            await asyncio.wait([handed[name][1] for name in wanted])

    def failed(self) -> Mapping[Target, BaseException]:
        """The files that could not be stored, and why, until their names are opened again."""
        return dict(self._failed)

    def untold(self) -> Mapping[Target, BaseException]:
        """The files that could not be stored, and why, unless the writer was told."""
        return dict(self._untold)

    def told(self, name: Target) -> None:
        """Note that the writer was told that a file could not be stored."""
        self._untold.pop(name, None)

    def finished(self) -> Sequence[NewFile]:
        """Every stored file, in the order of their names."""
        return self._output.finished()

    async def delete(self, name: Target) -> None:
        """Drop a file, once it is not on its way any more."""
        await self.settled([name])
        self._forget(name)
        await self._output.delete(name)

    async def adopt(self, files: Mapping[Target, AdoptedFile]) -> None:
        """Take finished files that another program has written."""
        await self._output.adopt(files)

    async def seal(self, rows: int | None) -> bytes:
        """Wait for every file, and fix the set of files.

        Raises:
            CommitFailedError: A file that was closed could not be stored.
        """
        await self.settled()
        if self._failed:
            raise not_stored(*next(iter(self._failed.items())))
        return await self._output.seal(rows)

    async def is_active(self) -> bool:
        """Whether the job is not over."""
        return await self._output.is_active()

    def take_no_more(self) -> None:
        """Refuse every file from now on: the attempt is about to be dropped."""
        self._is_dropped = True

    async def stop(self) -> None:
        """Take no more files; send nothing more of those on their way, and wait for what is sent.

        A request that arrived after everything of the attempt was removed would leave a file, or an
        upload that is paid for.
        """
        self.take_no_more()
        await self._stop(self._handed)

    async def discard(self) -> None:
        """Stop, and remove everything of the attempt."""
        await self.stop()
        await self._output.discard()

    async def _stop(self, names: Iterable[Target]) -> None:
        tasks = [self._handed[name][1] for name in names]
        for task in tasks:
            if not task.cancelling():  # If cancelled again, it would not await what it has sent.
                task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _forget(self, name: Target) -> None:
        self._failed.pop(name, None)
        self._untold.pop(name, None)


def not_stored(name: str, error: BaseException) -> BaseException:
    """The error for a file that was closed, and could not be stored because of *error*."""
    if isinstance(error, JobNotActiveError | CommitFailedError) or not isinstance(error, Exception):
        return error  # It says what became of the job or the attempt, or ends the program.
    if isinstance(error, DroppedError):
        message = f"{name!r} was dropped with its attempt; run the task again"
        return CommitFailedError(message, path=name, stage="write")
    why = str(error) or type(error).__name__
    remedy = "write it again, or run the task again"
    message = f"{name!r} was closed, and could not be stored: {why}; {remedy}"
    told = CommitFailedError(message, path=name, stage="write")
    told.__cause__ = error
    return told
