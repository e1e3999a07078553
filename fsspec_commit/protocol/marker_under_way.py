"""The marker of a claim, prepared while the claim is taken and the destination is looked at.

To prepare it takes the claim's nonce, and nothing that a look finds. Only what a job without a
marker of its own leaves depends on the marker that stands, and waits for that.

A job that adds to data looks for the marker that stands as soon as its claim does: others that add
come and go beside it in any case, and each leaves one. A job that replaces files looks when it has
listed them, since whatever came while it listed speaks for half of it.
"""

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from fsspec_commit.errors import CommitError
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.manifests import NewFiles
from fsspec_commit.protocol.success import prepare_success, seen_success
from fsspec_commit.records.job import Claim, FileIdentity

T = TypeVar("T")


class MarkerUnderWay:
    """The marker that a decision will name; as a context, withdrawn at its end if none does.

    Who is interrupted withdraws nothing, as with the claim: whoever ends the job removes it, like
    all that the job has prepared.
    """

    def __init__(self, job: BoundJob, new: NewFiles) -> None:
        self._job = job
        self._new = new
        self._preparing: asyncio.Future[FileIdentity | None] | None = None
        self._looking: asyncio.Future[FileIdentity | None] | None = None

    async def __aenter__(self) -> Self:
        """Nothing is prepared yet."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """Send no more requests after this."""
        if kind is None or issubclass(kind, Exception):
            await self.withdraw()
        else:
            await _cancelled(self._preparing, self._looking)

    def begin(self, claim: Claim) -> None:
        """Begin to prepare the marker of *claim*, whether the claim stands or not.

        Not if what stands says which one the job leaves, nor where uploads are kept by path: there
        a job that publishes its marker drops all others that are prepared, and one that is waited
        for, or has just ended, would drop this one.
        """
        if self._job.record.success != "none" and not self._job.attempts_in_names:
            self._preparing = _begun(prepare_success(self._job, claim, self._new, None))

    def look(self) -> None:
        """Begin to look for the marker that stands, if it is time to: the claim stands."""
        if self._job.record.mode == "append":
            self._looking = _begun(seen_success(self._job))

    async def look_later(self) -> None:
        """Forget what was seen: there is a job to be waited for, which may leave another one."""
        looking, self._looking = self._looking, None
        await _cancelled(looking)

    async def seen(self) -> FileIdentity | None:
        """The marker of an earlier job that stands, as of :func:`seen_success`."""
        if self._looking is None:
            return await seen_success(self._job)
        return await self._looking

    async def prepared(self, claim: Claim, stale: FileIdentity | None) -> FileIdentity | None:
        """The marker of *claim*, which is the caller's from now on; ``None`` if it has none.

        Args:
            claim: The claim that stands.
            stale: The marker of an earlier job that stands.
        """
        if self._preparing is None:
            return await prepare_success(self._job, claim, self._new, stale)
        marker = await self._preparing
        self._preparing = None
        return marker

    async def withdraw(self) -> None:
        """Drop what was done for the last claim; another one may be claimed with."""
        await self.look_later()
        preparing, self._preparing = self._preparing, None
        if preparing is None:
            return
        try:
            marker = await preparing
        except CommitError:
            return  # It is not prepared.
        if marker is not None:
            await self._job.committer.withdraw_success(self._job.layout, marker)


def _begun(call: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
    begun = asyncio.ensure_future(call)
    begun.add_done_callback(_heard)
    return begun


async def _cancelled(*calls: asyncio.Future[Any] | None) -> None:
    """End *calls*; when this returns, they send no more requests."""
    begun = [call for call in calls if call is not None]
    for call in begun:
        call.cancel()
    if begun:
        await asyncio.wait(begun)


def _heard(call: asyncio.Future[Any]) -> None:
    """Keep the loop from complaining of an error that nobody waits for any more."""
    if not call.cancelled():
        call.exception()
