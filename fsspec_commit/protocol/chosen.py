"""The chosen attempts: in the decision if they are few, else in a list beside it.

The list is written before the claim, since the partitions of the claim are read from the manifests
in the list. A crash before the decision leaves the list in the area, where it means nothing.
"""

from array import array
from bisect import bisect_left
from collections.abc import AsyncIterator, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import msgspec

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.ending import ending
from fsspec_commit.errors import RecordError
from fsspec_commit.layout import JobLayout, StorePath
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.streamed_list import Listed, ListWriter, read_list
from fsspec_commit.records.job import ChosenList, Decision, TaskCommit

INLINE_BYTES_MAX = 64 << 10
"""The most bytes of messages in a decision; more are put into a list of their own."""
_HELD_MAX = 4096
_BUCKETS = 256


@dataclass(frozen=True, slots=True)
class ChosenTasks:
    """One message for every task, in the order of tasks, to be iterated as often as needed.

    Attributes:
        job: The job.
        count: How many messages there are.
        held: The messages, if they are few enough to be held in memory.
        listed: The list of the messages, if they are too many for the decision.
    """

    job: BoundJob
    count: int
    held: tuple[TaskCommit, ...] | None
    listed: ChosenList | None = None

    @property
    def inline(self) -> tuple[TaskCommit, ...]:
        """The messages in the decision itself: all, or none."""
        return () if self.listed is not None or self.held is None else self.held

    async def batches(self) -> AsyncIterator[Sequence[TaskCommit]]:
        """The messages, in batches.

        Raises:
            RecordError: At the end, if the list is not the one that the decision names.
        """
        if self.held is not None:
            yield self.held
        elif self.listed is not None:
            reading = read_chosen(self.job.store, self.job.layout, self.listed)
            async with ending(reading) as batches:
                async for batch in batches:
                    yield batch

    async def attempt_ids(self) -> "AttemptIds":
        """The ids of the attempts, compact."""
        ids = AttemptIds()
        async with ending(self.batches()) as batches:
            async for batch in batches:
                ids.extend(message.attempt_id for message in batch)
        ids.freeze()
        return ids


class AttemptIds(Container[str]):
    """A set of attempt ids, 8 bytes each: an id is a number of 64 bits."""

    def __init__(self) -> None:
        self._buckets = [array("Q") for _ in range(_BUCKETS)]

    def extend(self, attempt_ids: Iterable[str]) -> None:
        """Add ids; they can be looked up after :meth:`freeze`."""
        for attempt_id in attempt_ids:
            number = int(attempt_id, 16)
            self._buckets[number % _BUCKETS].append(number)

    def freeze(self) -> None:
        """Sort the ids."""
        self._buckets = [array("Q", sorted(bucket)) for bucket in self._buckets]

    def __contains__(self, attempt_id: object) -> bool:
        number = int(str(attempt_id), 16)
        bucket = self._buckets[number % _BUCKETS]
        index = bisect_left(bucket, number)
        return index < len(bucket) and bucket[index] == number


def chosen_by(job: BoundJob, decision: Decision) -> ChosenTasks:
    """The attempts that *decision* publishes.

    Raises:
        RecordError: The decision has both the messages and a list.
    """
    listed = decision.chosen_list
    if listed is None:
        return ChosenTasks(job, len(decision.chosen), decision.chosen)
    if decision.chosen:
        path = job.layout.decision
        raise RecordError(f"{path}: it holds chosen attempts and names a list of them", path=path)
    return ChosenTasks(job, listed.count, None, listed)


def named_manifests(layout: JobLayout, decision: Decision) -> set[StorePath]:
    """The manifests that *decision* itself names; none where it names a list of the attempts."""
    return {layout.attempt(one.task_id, one.attempt_id).manifest for one in decision.chosen}


async def read_chosen(
    store: ConfirmedStore, layout: JobLayout, listed: ChosenList
) -> AsyncIterator[Sequence[TaskCommit]]:
    """The messages in a list that a decision names, in batches.

    Raises:
        RecordError: At the end, if it is not the list that the decision names.
    """
    path, wanted = layout.chosen_list(listed.nonce), Listed(listed.count, listed.digest)
    async with ending(read_list(store, path, TaskCommit, wanted)) as batches:
        async for batch in batches:
            yield batch


async def list_chosen(job: BoundJob, messages: AsyncIterator[Sequence[TaskCommit]]) -> ChosenTasks:
    """Record the chosen attempts, given one message for every task, in the order of tasks.

    If they are too many for the decision, they are written to a list, and not held in memory.
    """
    nonce = job.store.ids.nonce()
    writer = ListWriter(job, job.layout.chosen_list(nonce))
    held: list[TaskCommit] = []
    size_bytes = count = 0
    try:
        async with ending(messages) as batches:
            async for batch in batches:
                for message in batch:
                    line = msgspec.json.encode(message)
                    size_bytes += len(line) + 1
                    await writer.add(line)
                count += len(batch)
                if count <= _HELD_MAX:
                    held.extend(batch)
        whole = tuple(held) if count == len(held) else None
        if whole is not None and size_bytes <= INLINE_BYTES_MAX:
            return ChosenTasks(job, count, whole)
        listed = await writer.finish()
    except BaseException:
        await writer.discard()
        raise
    if listed is None:
        raise AssertionError("a long list has lines")
    fixed = ChosenList(nonce=nonce, count=listed.count, digest=listed.digest)
    return ChosenTasks(job, count, whole, fixed)


async def by_batches(messages: Iterator[TaskCommit]) -> AsyncIterator[Sequence[TaskCommit]]:
    """Split *messages* into batches."""
    while batch := tuple(islice(messages, _HELD_MAX)):
        yield batch
