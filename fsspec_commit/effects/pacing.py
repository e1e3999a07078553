"""How many calls in flight, and how long to wait before sending one again.

One :class:`Pace` belongs to one opened store and lives on one loop; it sleeps on that loop, which
a simulator makes virtual. A call that failed is sent again after an exponential back-off with full
jitter. How many are in flight follows what the store answers, as TCP follows a network: each round
of calls without a failure adds a slot, one with a failure takes three of ten away (Chiu and Jain,
1989). Else those in flight together would exceed a store's rate for ever, and one call in so many
would be turned away each time that it is tried. Pacing anchored to measured goodput goes behind
the same methods.
"""

import asyncio
from collections import deque
from operator import itemgetter

from fsspec_commit.effects.silence import Silence, Trouble
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import IdSource

TRIES_MAX = 8
BACKOFF_S = 0.02
BACKOFF_S_MAX = 5.0
ASKED_S_MAX = 60.0
"""How long a store is left alone at most, whatever it asks for."""
IN_FLIGHT_MAX = 64
_CUT = 0.7


class Pace:
    """Hands out the slots in which one call may be sent, one at a time.

    Attributes:
        in_flight_max: How many slots there are at most.
        silence: What its calls know of each other.
    """

    def __init__(self, ids: IdSource, *, in_flight_max: int = IN_FLIGHT_MAX) -> None:
        self._ids = ids
        self._taken = 0
        self._slots = in_flight_max
        self._round = 0
        """Calls that ended since the number of slots was last judged."""
        self._failed = False
        self._waiting: deque[tuple[int, Trouble | None, asyncio.Future[None]]] = deque()
        self._asked_to_wait_s = 0.0
        self.in_flight_max = in_flight_max
        self.silence = Silence()

    def slow_down(self, error: StoreError) -> None:
        """Wait as long as the store asked for, and have fewer calls in flight from now on."""
        if error.retry_after_s is not None:
            asked = min(error.retry_after_s, ASKED_S_MAX)
            self._asked_to_wait_s = max(self._asked_to_wait_s, asked)
        if error.reply is not Reply.REFUSED and not self._failed:
            # Once a round: those that were in flight together fail together.
            self._failed = True
            self._round = 0
            self._slots = max(1, int(self._slots * _CUT))

    def enter_now(self) -> bool:
        """Take a free slot if there is one; then :meth:`leave` is due."""
        if self._taken < self._slots:
            self._taken += 1
            return True
        return False

    async def enter(self, nth: int, trouble: Trouble | None = None) -> bool:
        """Wait until a call may be sent for the *nth* time again: the back-off, a free slot.

        Returns:
            Whether it may. If not, no slot is taken: by its *trouble* it is hopeless now.
        """
        if nth:
            await asyncio.sleep(self._delay_s(nth))
        if not self.enter_now():
            await self._slot(nth, trouble)
        if trouble is not None and trouble.is_hopeless:
            self.leave()
            return False
        return True

    async def _slot(self, nth: int, trouble: Trouble | None) -> None:
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((nth, trouble, slot))
        try:
            await slot
        except asyncio.CancelledError:
            if slot.done() and not slot.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        """Give the slot to whoever waits for one, unless there are too many by now."""
        self._taken -= 1
        self._round += 1
        if self._round >= self._slots:
            self._round = 0
            if not self._failed:
                self._slots = min(self.in_flight_max, self._slots + 1)
            self._failed = False
        while self._waiting and self._taken < self._slots:
            slot = self._next()
            if not slot.done():
                self._taken += 1
                slot.set_result(None)

    def _next(self) -> asyncio.Future[None]:
        """In turn, so that the tries last as long as a store is busy, or restarts.

        But in a long silence whoever has failed most goes first: soon it is over, or all give up.
        """
        if self.silence.is_long:
            longest = [
                one for one in self._waiting if one[1] is not None and one[1].in_long_silence
            ]
            if longest:
                first = max(longest, key=itemgetter(0))
                self._waiting.remove(first)
                return first[2]
        return self._waiting.popleft()[2]

    def _delay_s(self, nth: int) -> float:
        asked, self._asked_to_wait_s = self._asked_to_wait_s, 0.0
        longest: float = min(BACKOFF_S_MAX, BACKOFF_S * 2**nth)
        return asked + longest * self._ids.jitter()
