"""How many calls in flight, and how long to wait before sending one again.

One :class:`Pace` belongs to one opened store and lives on one loop; it sleeps on that loop, which
a simulator makes virtual. Today it is bounded and simple: a fixed number of slots and exponential
back-off with full jitter. Pacing anchored to measured goodput goes behind the same two methods.
"""

import asyncio
from collections import deque
from types import TracebackType

from fsspec_commit.errors import StoreError
from fsspec_commit.ids import IdSource

TRIES_MAX = 8
BACKOFF_S = 0.02
BACKOFF_S_MAX = 5.0
IN_FLIGHT_MAX = 64


class Pace:
    """Hands out turns to send one call."""

    def __init__(self, ids: IdSource, *, in_flight_max: int = IN_FLIGHT_MAX) -> None:
        self._ids = ids
        self._free = in_flight_max
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._asked_to_wait_s = 0.0
        self.in_flight_max = in_flight_max

    def turn(self, nth: int = 0) -> "_Turn":
        """Enter when the call may be sent for the *nth* time again: a free slot, the back-off."""
        return _Turn(self, nth)

    def heard(self, error: StoreError) -> None:
        """Slow down, as the store asked."""
        if error.retry_after_s is not None:
            self._asked_to_wait_s = max(self._asked_to_wait_s, error.retry_after_s)

    async def _enter(self, nth: int) -> None:
        if nth:
            await asyncio.sleep(self._delay_s(nth))
        if self._free > 0:
            self._free -= 1
            return
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(slot)
        try:
            await slot
        except asyncio.CancelledError:
            if slot.done() and not slot.cancelled():
                self._leave()
            raise

    def _leave(self) -> None:
        while self._waiting:
            slot = self._waiting.popleft()
            if not slot.done():
                slot.set_result(None)
                return
        self._free += 1

    def _delay_s(self, nth: int) -> float:
        asked, self._asked_to_wait_s = self._asked_to_wait_s, 0.0
        longest: float = min(BACKOFF_S_MAX, BACKOFF_S * 2**nth)
        return asked + longest * self._ids.jitter()


class _Turn:
    __slots__ = ("_nth", "_pace")

    def __init__(self, pace: Pace, nth: int) -> None:
        self._pace = pace
        self._nth = nth

    async def __aenter__(self) -> None:
        await self._pace._enter(self._nth)  # noqa: SLF001  # a turn is the pace's own hand

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._pace._leave()  # noqa: SLF001
