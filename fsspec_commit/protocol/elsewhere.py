"""Steps 5 and 6 in slices that workers elsewhere run; the driver does those not answered for.

The driver goes on only when each slice has answered that it is done, or the driver itself has done
it. So nothing else of the protocol changes: to those who come later, a process that runs a slice is
a resumer that does a part of the work.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fsspec_commit.effects.ending import ending
from fsspec_commit.names import Target
from fsspec_commit.protocol.chosen import ChosenTasks
from fsspec_commit.protocol.manifests import ChosenManifests
from fsspec_commit.protocol.publisher import Spread
from fsspec_commit.protocol.replaced import ReplacedFiles
from fsspec_commit.protocol.streamed_list import cut_list
from fsspec_commit.records.job import TaskCommit
from fsspec_commit.records.slices import (
    Deleted,
    DeleteSlice,
    ListRange,
    PublishSlice,
    Slice,
    SliceAnswer,
)

S = TypeVar("S", bound=Slice)

_log = logging.getLogger("fsspec_commit")
_FILES_MAX = 16_384
_TURNS = 4
"""How many slices each worker gets, so that all workers end at about the same time."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Has the slices of one job run by workers elsewhere.

    Attributes:
        spread: Who runs them.
        files_min: The fewest files of a slice.
    """

    spread: Spread
    files_min: int

    def is_worth_it(self, files: int) -> bool:
        """Whether so many files make two slices."""
        return files >= 2 * self.files_min

    async def publish(
        self,
        manifests: ChosenManifests,
        file_count: int,
        replaced: ReplacedFiles,
        *,
        resuming: bool,
        lost: list[Target] | None,
        progress: Callable[[int], None],
    ) -> ChosenManifests:
        """Publish the files of *manifests*, and return the manifests of those that are left.

        Args:
            manifests: The manifests.
            file_count: How many files are in them.
            replaced: The old files, some of which may be replaced in place.
            resuming: Whether somebody else may have published some.
            lost: Collects files whose sources are gone for good; ``None`` if these are errors.
            progress: Called as files are published.
        """
        groups = await self._groups(manifests, await self._files_each(file_count))
        slices = [
            PublishSlice(
                number=number,
                count=len(groups),
                decision=replaced.decision.nonce,
                chosen=tuple(group),
                resuming=resuming or not self.spread.runs_once,
                in_place=len(replaced.in_place) > 0,
                accept_loss=lost is not None,
            )
            for number, group in enumerate(groups)
        ]

        def is_done(one: PublishSlice, answer: SliceAnswer) -> bool:
            if answer.files != one.file_count:
                _log.warning(
                    "job %s: slice %d was answered with %d files instead of %d, and is done here",
                    manifests.job.record.job_id,
                    one.number,
                    answer.files,
                    one.file_count,
                )
                return False
            progress(answer.files)
            if lost is not None:
                lost.extend(map(Target, answer.lost))
            return True

        left = await self._run(slices, is_done)
        chosen = tuple(message for one in left for message in one.chosen)
        return ChosenManifests(
            manifests.job,
            ChosenTasks(manifests.job, len(chosen), chosen),
            manifests.kept,
            manifests.are_checked,
        )

    async def delete(self, replaced: ReplacedFiles) -> tuple[Deleted, list[ListRange] | None]:
        """Delete the replaced files; return what became of them, and which lines are left.

        If they are too few to be cut into slices, nothing is done, and the lines are ``None``: all.
        """
        if replaced.listed is None or not self.is_worth_it(replaced.count):
            return Deleted(), None
        path, listed = replaced.listed
        lines_max = await self._files_each(replaced.count)
        ranges = await cut_list(replaced.job.store, path, listed, lines_max=lines_max)
        slices = [
            DeleteSlice(
                number=number,
                count=len(ranges),
                decision=replaced.decision.nonce,
                lines=lines,
            )
            for number, lines in enumerate(ranges)
        ]
        deleted = Deleted()

        def is_done(_: DeleteSlice, answer: SliceAnswer) -> bool:
            nonlocal deleted
            deleted += answer.deleted
            return True

        left = await self._run(slices, is_done)
        return deleted, [one.lines for one in left]

    async def _run(self, slices: Sequence[S], is_done: Callable[[S, SliceAnswer], bool]) -> list[S]:
        """Have *slices* run, and return those that are not done: failed, or lost."""
        left = {one.number: one for one in slices}

        def told(answer: SliceAnswer) -> None:
            one = left.get(answer.number)
            if one is not None and not answer.failure and is_done(one, answer):
                del left[answer.number]

        await self.spread.run(slices, told)
        return list(left.values())

    async def _groups(self, manifests: ChosenManifests, most: int) -> list[list[TaskCommit]]:
        """Chosen attempts that have files, in groups of up to *most* files, or of one attempt."""
        groups: list[list[TaskCommit]] = [[]]
        files = 0
        async with ending(manifests.chosen.batches()) as batches:
            async for batch in batches:
                for message in batch:
                    if not message.file_count:
                        continue
                    if groups[-1] and files + message.file_count > most:
                        groups.append([])
                        files = 0
                    groups[-1].append(message)
                    files += message.file_count
        return groups

    async def _files_each(self, files: int) -> int:
        each = -(-files // (_TURNS * max(await self.spread.width(), 1)))
        return min(max(each, self.files_min), _FILES_MAX)
