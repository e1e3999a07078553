"""The list of old files as seen just before the look, written while the look finds them again.

A job lists its old files under its claim, and writes their list before it decides. Mostly nothing
changes at the destination meanwhile. So the job also lists them while it creates its claim, and
writes that list while it looks. The list counts only if the look then finds the same files, with
the same tokens: nothing else hangs on it. If the look finds others, their list cannot take the
place of that one, since a name is written once. A list is named after a claim; so the job writes
its claim once more, under another name, for the list that counts. The first claim stands all the
while: nobody can get between.
"""

import asyncio
from dataclasses import replace
from types import TracebackType
from typing import Self

from msgspec import structs

from fsspec_commit.effects.parallel import both, heard, stop
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

_WAIT_S = 5.0
"""How long to wait for the write of a list that turned out not to be needed."""
_PARTITIONS_MAX = 16
"""Each takes a request or two, and so does each directory above them."""
_PARTITIONS_OF_ALL_MAX = 1_000
"""Where the whole destination is replaced: no request, but two passes over their names."""


class ListAhead:
    """The list for the first claim of a job; leaving its context ends all of its requests.

    A job that had to wait for another one takes another claim, and writes no list ahead for that.
    """

    def __init__(self, job: BoundJob, new: NewFiles) -> None:
        self._job = job
        self._new = new
        self._claim: Claim | None = None
        self._other: Claim | None = None
        self._made: list[Claim] = []
        self._writing: asyncio.Task[None] | None = None
        self._claim_stands = asyncio.Event()
        self._content: bytes | None = None

    async def __aenter__(self) -> Self:
        """Nothing is listed yet."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """Send no more requests after this; what was written goes with the job's area."""
        if kind is None or issubclass(kind, Exception):
            await self._end()
        elif self._writing is not None:
            await stop(self._writing)

    def begin(self, claim: Claim) -> None:
        """Begin to list the old files, whether *claim* stands or not.

        Nothing is listed where new files may have the names of old ones: the job first finds out
        which names the store takes for one. Nor where old files are listed directory by directory,
        since a round trip is short there; nor where few calls may be in flight: the look needs all.
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
        most = _PARTITIONS_OF_ALL_MAX if is_whole else _PARTITIONS_MAX
        return not self._job.walks and listings_ahead(self._job.store) > 0 and partitions <= most

    async def write_or_stop(self, *, is_alone: bool) -> None:
        """Let the list be written, now that the claim stands; or give it up if not alone."""
        if is_alone:
            self._claim_stands.set()
        elif self._writing is not None:
            await stop(self._writing)

    async def claim_of_list(self, claim: Claim) -> Claim:
        """The claim whose nonce names the look's list: *claim*, or a second one.

        There is a second one only if a list was written under the name of *claim*; both stand then.

        Raises:
            CommitError: The second claim does not stand, as far as is known.
        """
        if self._claim is not claim or self._writing is None:
            return claim
        if self._content is None:
            await stop(self._writing)
            return claim
        if self._other is None:
            # Others have met the claim that stands, or will: no need to look for them again.
            store, layout = self._job.store, self._job.layout
            other = structs.replace(claim, nonce=store.ids.nonce()).outlined()
            self._made.append(other)
            path = layout.claim(other.nonce)
            if await establish(store, path, other, within=layout.area) is None:
                raise inactive(layout, "claim")
            self._other = other
        return self._other

    async def finish(
        self, claim: Claim, found: ListWriter | None, short: ShortList
    ) -> tuple[Claim, ReplacedList | None]:
        """Make sure that the list which the look has *found* under *claim* stands.

        No other list is under way when this returns.

        Returns:
            The claim that names it, for the decision; and what :func:`finish_list` returns.
        """
        if found is None or found.is_empty:
            await self._end()
            return claim, None
        written = self._content if self._claim is claim else None
        if written is not None and self._writing is not None and found.adopt(written):
            await self._writing
            return claim, await finish_list(found, short)
        claim = await self.claim_of_list(claim)
        found.path = self._job.layout.replaced(claim.nonce)
        replaced, _ = await both(finish_list(found, short), self._end())
        return claim, replaced

    async def withdraw(self) -> None:
        """Withdraw the second claim, if there is one, or may be."""
        for other in self._made:
            await withdraw_claim(self._job, other)

    async def _end(self) -> None:
        """Leave no list under way, even if whoever waits for that is interrupted.

        A list that is being written is waited for, so that it does not arrive after the area has
        gone; but not for long, since the caller of the commit is waiting.
        """
        if self._writing is None:
            return
        try:
            if self._content is not None:
                await asyncio.wait({self._writing}, timeout=_WAIT_S)
        finally:
            await stop(self._writing)

    async def _write(self, claim: Claim) -> None:
        writer = ListWriter(self._job, self._job.layout.replaced(claim.nonce), _give_up)
        ahead = replace(self._job, looks_ahead=True)
        try:
            await list_replaced(ahead, self._new, FilesOutside(), writer)
        except (CommitError, TooMuchError):
            return  # The look will say what there is to say.
        if writer.is_empty:
            return
        await self._claim_stands.wait()
        self._content = writer.content
        await writer.finish()


async def _give_up() -> None:
    raise TooMuchError
