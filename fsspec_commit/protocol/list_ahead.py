"""The list of old files, written beside the look that finds them, as they were seen just before.

A job lists its old files under its claim, and writes their list before it decides. Mostly nothing
changes at the destination meanwhile. So the job lists them beside its claim as well, and writes
that list beside the look. It counts only if the look then finds the same files, with the same
tokens: nothing else hangs on it. If the look finds others, their list cannot take its place, since
a name is written once. A list is named after a claim; so the job writes its claim once more, under
another name, for the list that counts. The first one stands beside it: nobody can get between.
"""

import asyncio
from dataclasses import replace
from types import TracebackType
from typing import Self

from msgspec import structs

from fsspec_commit.effects.parallel import failure_or, heard, stop
from fsspec_commit.effects.stored_records import establish, inactive
from fsspec_commit.errors import CommitError
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.branches import TooMuchError, listings_ahead
from fsspec_commit.protocol.claim import withdraw_claim
from fsspec_commit.protocol.manifests import NewFiles
from fsspec_commit.protocol.old_partitions import FilesOutside
from fsspec_commit.protocol.replaced import finish_list, list_replaced, replaces
from fsspec_commit.protocol.streamed_list import ListWriter, ShortList
from fsspec_commit.records.job import Claim, ReplacedList

_BYTES_MAX = 64 << 10
"""Some hundred files: to list many more than once costs more than the round trip that is saved."""
_PARTITIONS_MAX = 16
"""Each is a request, or two; and so is each directory above them."""


class ListAhead:
    """The list for the first claim of a job; as a context, none is under way after its end.

    Who had to wait for another job takes another claim, and writes no list ahead for that.
    """

    def __init__(self, job: BoundJob, new: NewFiles) -> None:
        self._job = job
        self._new = new
        self._claim: Claim | None = None
        self._other: Claim | None = None
        self._writing: asyncio.Task[bytes | None] | None = None
        self._may_write = asyncio.Event()
        self._is_name_taken = False

    async def __aenter__(self) -> Self:
        """Nothing is listed yet."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """Send no more requests after this; what was written goes with the job's area.

        A list that is being written is waited for, so that it does not come when the area has gone;
        but not by who is interrupted.
        """
        if self._writing is None:
            return
        if self._is_name_taken and (kind is None or issubclass(kind, Exception)):
            await failure_or(self._written())
        await stop(self._writing)

    def begin(self, claim: Claim) -> None:
        """Begin to list the old files, whether *claim* stands or not.

        Not where new files may have the names of old ones: the job first finds out which names the
        store takes for one. Nor where old ones are listed directory by directory, or where few
        calls may be in flight: there a round trip is short, or the look needs all of them.
        """
        if self._claim is not None:
            return
        self._claim = claim
        if replaces(self._job) and not self._new.may_meet_others and self._is_little():
            self._writing = asyncio.create_task(self._write(claim))
            self._writing.add_done_callback(heard)

    def _is_little(self) -> bool:
        partitions = len(self._new.partitions) + len(self._job.record.partitions)
        is_whole = self._job.record.mode == "overwrite"
        return (
            not self._job.walks
            and listings_ahead(self._job.store) > 0
            and (is_whole or partitions <= _PARTITIONS_MAX)
        )

    async def go_on(self, *, is_worth_it: bool) -> None:
        """Write the list, when it is made, now that the claim stands; or no list."""
        if is_worth_it:
            self._may_write.set()
        elif self._writing is not None:
            await stop(self._writing)

    async def claim_of_list(self, claim: Claim) -> Claim:
        """The claim after which the list is named that the look writes: *claim*, or another one.

        Another one only if a list was written under the name of *claim*. It stands as well.

        Raises:
            CommitError: It does not stand, as far as is known.
        """
        if self._claim is not claim or self._writing is None:
            return claim
        if not self._is_name_taken:
            await stop(self._writing)
            return claim
        if self._other is None:
            # Others have met the claim that stands, or will: nobody has to be looked for.
            nonce = self._job.store.ids.nonce()
            self._other = other = structs.replace(claim, nonce=nonce).outlined()
            layout = self._job.layout
            path = layout.claim(other.nonce)
            if await establish(self._job.store, path, other, within=layout.area) is None:
                raise inactive(layout, "claim")
        return self._other

    async def finish(
        self, claim: Claim, found: ListWriter | None, short: ShortList
    ) -> tuple[Claim, ReplacedList | None]:
        """Have the list stand that the look has *found* under *claim*, as of :func:`finish_list`.

        Returns:
            The claim after which it is named, for the decision; and the list.
        """
        if found is None or found.is_empty:
            return claim, None
        if self._claim is claim and self._is_name_taken:
            written = await self._written()
            if written is not None and found.is_written(written):
                return claim, await finish_list(found, short)
        claim = await self.claim_of_list(claim)
        found.path = self._job.layout.replaced(claim.nonce)
        return claim, await finish_list(found, short)

    async def withdraw(self) -> None:
        """Withdraw the other claim, if there is one."""
        other, self._other = self._other, None
        if other is not None:
            await withdraw_claim(self._job, other)

    async def _written(self) -> bytes | None:
        return None if self._writing is None else await self._writing

    async def _write(self, claim: Claim) -> bytes | None:
        path = self._job.layout.replaced(claim.nonce)
        writer = ListWriter(self._job, path, _give_up, short_bytes_max=_BYTES_MAX)
        ahead = replace(self._job, looks_ahead=True)
        try:
            await list_replaced(ahead, self._new, FilesOutside(), writer)
        except (CommitError, TooMuchError):
            return None  # The look will say what there is to say.
        if writer.is_empty:
            return None
        await self._may_write.wait()
        self._is_name_taken = True
        await writer.finish()
        return writer.short.data


async def _give_up() -> None:
    raise TooMuchError
