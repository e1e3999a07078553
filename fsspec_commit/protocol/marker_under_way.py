"""The marker of a claim, prepared while the claim is taken and the destination is looked at.

Preparing it takes the claim's nonce, and nothing that a look finds. Only a job without a marker of
its own waits for the look, since what it leaves depends on the marker that stands.
"""

import asyncio
from types import TracebackType
from typing import Self

from fsspec_commit.effects.parallel import heard, stop
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.manifests import NewFiles
from fsspec_commit.protocol.success import prepare_success
from fsspec_commit.records.job import Claim, FileIdentity


class MarkerUnderWay:
    """The marker that a decision will name; the context withdraws it at its end if none does.

    A driver that is interrupted gives up a marker that is still being prepared, and leaves one that
    is prepared, as with the claim: whoever ends the job removes it, like all that it has prepared.
    """

    def __init__(self, job: BoundJob, new: NewFiles) -> None:
        self._job = job
        self._new = new
        self._claim: Claim | None = None
        self._preparing: asyncio.Future[FileIdentity | None] | None = None

    async def __aenter__(self) -> Self:
        """Return this object; nothing is prepared yet."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """Withdraw the marker, or if interrupted stop preparing it; send no more requests."""
        if kind is None or issubclass(kind, Exception):
            await self.withdraw()
        elif self._preparing is not None:
            await stop(self._preparing)

    def begin(self, claim: Claim) -> None:
        """Begin to prepare the marker of *claim*, whether the claim stands yet or not.

        Nothing is begun if the marker that stands says which one the job leaves, nor where uploads
        are kept by path: there a job that publishes its marker drops all others that are prepared,
        and a job that this one waits for, or that has just ended, would drop this marker.
        """
        if self._job.record.success == "none" or self._job.attempts_in_names:
            return
        self._claim = claim
        preparing = prepare_success(self._job, claim, self._new, None)
        self._preparing = asyncio.ensure_future(preparing)
        self._preparing.add_done_callback(heard)

    async def is_ready(self, claim: Claim) -> None:
        """Wait until the marker of *claim* is prepared, if it does not depend on what a look finds.

        What was prepared for another claim is withdrawn.
        """
        if self._claim is not claim:
            await self.withdraw()
            self.begin(claim)
        if self._preparing is not None:
            await asyncio.wait({self._preparing})

    async def prepared(self, claim: Claim, stale: FileIdentity | None) -> FileIdentity | None:
        """The marker of *claim*, the caller's from now on; ``None`` if the job leaves none.

        Args:
            claim: A claim that stands; what was prepared for another one is withdrawn.
            stale: The marker of an earlier job that stands.
        """
        if self._claim is not claim:
            await self.withdraw()
        if self._preparing is None:
            return await prepare_success(self._job, claim, self._new, stale)
        marker = await self._preparing
        self._preparing = None
        return marker

    async def withdraw(self) -> None:
        """Drop what was prepared for the last claim, so that a marker for another may be.

        What is still being prepared is given up, and not retried where the store does not answer:
        somebody is waiting to be told that the job cannot commit now.
        """
        preparing = self._preparing
        if preparing is None:
            return
        await stop(preparing)
        self._preparing = None
        if preparing.cancelled() or preparing.exception() is not None:
            return  # It is not prepared.
        marker = preparing.result()
        if marker is not None:
            await self._job.committer.withdraw_success(self._job.layout, marker)
