"""How many calls in flight, and how long to wait before sending one again.

One :class:`Pace` belongs to one opened store and lives on one loop; it sleeps on that loop, which
a simulator makes virtual. Today it is bounded and simple: a fixed number of slots and exponential
back-off with full jitter. Pacing anchored to measured goodput goes behind the same two methods.
"""

import asyncio
from collections import deque

from fsspec_commit.errors import StoreError
from fsspec_commit.ids import IdSource

TRIES_MAX = 8
BACKOFF_S = 0.02
BACKOFF_S_MAX = 5.0
IN_FLIGHT_MAX = 64


class Pace:
    """Hands out the slots in which one call may be sent, one at a time."""

    def __init__(self, ids: IdSource, *, in_flight_max: int = IN_FLIGHT_MAX) -> None:
        self._ids = ids
        self._free = in_flight_max
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._asked_to_wait_s = 0.0
        self.in_flight_max = in_flight_max

    def heard(self, error: StoreError) -> None:
        """Slow down, as the store asked."""
        if error.retry_after_s is not None:
            self._asked_to_wait_s = max(self._asked_to_wait_s, error.retry_after_s)

    def enter_now(self) -> bool:
        """Take a free slot if there is one; then :meth:`leave` is due."""
        if self._free > 0:
            self._free -= 1
            return True
        return False

    async def enter(self, nth: int) -> None:
        """Wait until a call may be sent for the *nth* time again: the back-off, a free slot."""
        if nth:
            await asyncio.sleep(self._delay_s(nth))
        if self.enter_now():
            return
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(slot)
        try:
            await slot
        except asyncio.CancelledError:
            if slot.done() and not slot.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        """Give the slot to whoever waits for one."""
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
