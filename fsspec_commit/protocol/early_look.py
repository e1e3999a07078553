"""What a job looks at while the areas are listed, and whether that counts.

A job looks at the destination when its claim stands and nobody is in its way, which is mostly so at
once. So the areas are listed twice, while the claim is created and after that, and the destination
is looked at during the second listing. What was seen counts only if no job can have changed the
destination meanwhile without being met: a job that was there at the first listing, and has ended,
is missing in the second; one that has begun since, and has ended, has left an epoch; and whoever
begins later meets the claim. Otherwise everything is looked at once more, when nobody is in the
way. But if nobody may be in the way, or only jobs whose areas the second listing alone shows, all
but old files is looked at as soon as that is known, beside these areas: whoever has ended before
changes nothing any more. The rules, and that each is needed, are in the model
``tests/specs/look_beside.py``.

A listing that shows its beginning and its end as of different moments proves nothing: a job that
began after the first moment, and left its epoch before the second, may leave its marker even later.
So the store must have shown each listing at once, by one answer; even a short one may take two.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from fsspec_commit.effects.parallel import heard, stop
from fsspec_commit.errors import CommitError
from fsspec_commit.layout import DestinationLayout
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.job_state import Listed
from fsspec_commit.protocol.marks import epochs_among
from fsspec_commit.records.job import Claim

if TYPE_CHECKING:
    from fsspec_commit.protocol.list_ahead import ListAhead

T = TypeVar("T")


class Look(Generic[T]):
    """A look at the destination, taken early or not; calling it returns what counts.

    Attributes:
        only_alone: It is taken early only if no other job is listed, since it may cost much.
    """

    def __init__(
        self,
        look: Callable[[Claim], Coroutine[Any, Any, T]],
        *,
        only_alone: bool = False,
        drop: Callable[[T], Awaitable[None]] | None = None,
    ) -> None:
        self.only_alone = only_alone
        self._look = look
        self._drop = drop
        self._begun: asyncio.Task[T] | None = None

    @property
    def begun(self) -> asyncio.Task[T] | None:
        """The look that was taken early, if one was, and nobody has asked for what it saw."""
        return self._begun

    async def __call__(self, claim: Claim) -> T:
        """What was seen early, if that counts; else what is there now, under *claim*."""
        begun, self._begun = self._begun, None
        return await (self._look(claim) if begun is None else begun)

    def begin(self, claim: Claim) -> None:
        """Begin the look early, under *claim*: a call then returns what it saw, unless dropped."""
        self._begun = asyncio.create_task(self._look(claim))
        self._begun.add_done_callback(heard)

    async def drop(self) -> None:
        """Forget what was seen, which does not count, and remove what the look has written."""
        begun, self._begun = self._begun, None
        if begun is None or begun.cancelled() or begun.exception() is not None:
            return
        if self._drop is not None:
            await self._drop(begun.result())


class EarlyLook:
    """The looks of a job that are taken early; its context leaves none under way at its end."""

    def __init__(self, job: BoundJob, ahead: "ListAhead") -> None:
        self._job = job
        self._ahead = ahead
        self._looks: list[Look[Any]] = []
        self._listing: asyncio.Task[list[Listed] | None] | None = None
        self._before: Sequence[Listed] | None = None
        self._after: Sequence[Listed] | None = None
        self._is_renewed = False
        self._settled = asyncio.Event()
        self._settled.set()

    async def __aenter__(self) -> Self:
        """Nothing is looked at yet."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """Send no more requests after this; after an interrupt, what was written is not removed."""
        await self.end()
        if kind is None or issubclass(kind, Exception):
            with suppress(CommitError):  # What is left goes with the job's area.
                await self._drop()

    def take(self, look: Look[Any]) -> None:
        """Take *look* early, too."""
        self._looks.append(look)

    async def is_settled(self) -> None:
        """Wait until it is known whether an early look counts: before that it writes nothing."""
        await self._settled.wait()

    def list_first(self, claim: Claim) -> None:
        """Begin to list the areas, and old files ahead, whether *claim* stands or not."""
        self._ahead.begin(claim)
        self._settled.clear()
        self._before = self._after = None
        self._is_renewed = False
        self._listing = asyncio.create_task(self._list_at_once())
        self._listing.add_done_callback(heard)

    async def begin(self, claim: Claim) -> None:
        """Begin to look, now that *claim* stands, when the first listing is done."""
        if self._listing is None:
            return
        self._before = before = await self._listing
        self._listing = None
        areas = None if before is None else _areas(before, self._job.layout.destination)
        is_alone = areas is not None and areas <= {self._job.layout.area}
        await self._ahead.write_or_stop(is_alone=is_alone)
        if before is None:
            return
        for look in self._looks:
            if is_alone or not look.only_alone:
                look.begin(claim)

    @property
    def listed_first(self) -> Sequence[Listed]:
        """What the first listing has shown, if that was all by one answer."""
        return self._before or ()

    async def list_again(self) -> list[Listed]:
        """List the areas again, while the destination is looked at, if that has begun."""
        # Where nothing is looked at, it does not matter whether this listing is of one moment.
        self._after = after = None if self._before is None else await self._list_at_once()
        if after is not None:
            return after
        return await self._job.store.list_area(self._job.layout.destination.areas)

    async def renew(self, claim: Claim, *, anyway: bool) -> None:
        """Begin to look, once more or for the first time, if what was seen early does not count.

        It is begun when the areas have been listed. A look that may cost much is not: there may be
        another job that the second listing alone has shown.

        Args:
            claim: The claim, which stands.
            anyway: Whether to do so even if the listings have missed nobody: others were over when
                their areas were looked at.
        """
        if self._missed_nobody() and not anyway:
            return
        await self.end()
        await self._drop()
        self._is_renewed = True
        for look in self._looks:
            if not look.only_alone:
                look.begin(claim)

    async def settle(self, *, met_none: bool) -> None:
        """Find out whether what is seen counts; if not, no look is under way when this returns.

        Args:
            met_none: Whether every other job in the second listing was over before the look was
                begun again, or was passed by the names in its area, which were listed as of one
                moment or in their order.
        """
        if not (met_none and (self._is_renewed or self._missed_nobody())):
            await self.end()
            await self._drop()
        self._settled.set()

    async def end(self) -> None:
        """Leave nothing under way, even if whoever waits for that is interrupted."""
        begun = (self._listing, *(look.begun for look in self._looks))
        await stop(*(one for one in begun if one is not None))
        self._listing = None

    def _missed_nobody(self) -> bool:
        before, after = self._before, self._after
        if before is None or after is None:
            return False
        return is_steady(before, after, self._job.layout.destination)

    async def _list_at_once(self) -> list[Listed] | None:
        return await self._job.store.list_at_once(self._job.layout.destination.areas)

    async def _drop(self) -> None:
        for look in self._looks:
            await look.drop()


def is_steady(before: Sequence[Listed], after: Sequence[Listed], layout: DestinationLayout) -> bool:
    """Whether no job has ended between two listings of the areas, each as of one moment."""
    if {one.path for one in epochs_among(before, layout)} != {
        one.path for one in epochs_among(after, layout)
    }:
        return False
    return _areas(before, layout) <= _areas(after, layout)


def _areas(listed: Sequence[Listed], layout: DestinationLayout) -> set[str]:
    return {one.path for one in listed if layout.job_of(one.path) is not None}
