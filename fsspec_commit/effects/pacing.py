"""How many calls may be in flight, and how long to wait before one is sent again.

One :class:`Pace` belongs to one opened store and lives on one loop; it sleeps on that loop, which
a simulator makes virtual. A call that failed is sent again after an exponential back-off with full
jitter. How many are in flight adapts to the store's answers, as a `Window` says: a fixed number
could exceed a store's rate for ever, so that some call is refused each time it is sent, or fall
short of it for ever.
"""

import asyncio
from collections import deque
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias

from fsspec_commit.effects.silence import Silence, Trouble
from fsspec_commit.effects.window import SLOTS_FIRST, Window
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import IdSource

if TYPE_CHECKING:
    from collections.abc import Callable

TRIES_MAX = 8
BACKOFF_S = 0.02
BACKOFF_S_MAX = 5.0
ASKED_S_MAX = 60.0
"""The longest wait that a store may ask for."""
IN_FLIGHT_MAX = SLOTS_FIRST
"""Where a store does not say that more are of use."""

is_one_of_many = ContextVar("is_one_of_many", default=False)
"""Whether a call is one of those that are made for each of many things."""

_Waiting: TypeAlias = deque[tuple[int, Trouble | None, asyncio.Future[None]]]


class Pace:
    """Hands out the slots in which one call may be sent, one at a time.

    Attributes:
        in_flight_max: How many slots there are at most.
        silence: How long the store has not answered any of its calls.
    """

    def __init__(self, ids: IdSource, *, in_flight_max: int = IN_FLIGHT_MAX) -> None:
        self._ids = ids
        self._taken = 0
        self._window = Window(in_flight_max)
        self._single: _Waiting = deque()
        self._many: _Waiting = deque()
        self._turn_of_many = False
        self._asked_to_wait_s = 0.0
        self._clock: Callable[[], float] | None = None
        self.in_flight_max = in_flight_max
        self.silence = Silence()

    def slow_down(self, error: StoreError) -> None:
        """Wait as long as the store asked for, and have fewer calls in flight if it is too busy."""
        if error.retry_after_s is not None:
            asked = min(error.retry_after_s, ASKED_S_MAX)
            self._asked_to_wait_s = max(self._asked_to_wait_s, asked)
        if error.reply is Reply.REFUSED:
            return
        if error.is_overload:
            self._window.turn_away(self._taken)
        else:
            self._window.lose()

    def enter_now(self) -> bool:
        """Take a free slot if there is one; then :meth:`leave` is due."""
        if self._taken >= self._window.slots:
            self._window.is_used = True
            return False
        if not self._taken:
            self._window.begin(self._now_s())
        self._taken += 1
        return True

    async def enter(self, nth: int, trouble: Trouble | None = None) -> bool:
        """Wait for the back-off and for a free slot, until a call may be repeated the *nth* time.

        Returns:
            Whether it may be. If not, its *trouble* says that it is hopeless, and no slot is taken.
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
        lane = self._many if is_one_of_many.get() else self._single
        lane.append((nth, trouble, slot))
        try:
            await slot
        except asyncio.CancelledError:
            if slot.done() and not slot.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        """Give the slot to the next call that waits, unless there are too many slots by now."""
        self._taken -= 1
        self._window.end(self._now_s(), self._taken)
        while self._is_waited_for and self._taken < self._window.slots:
            slot = self._next()
            if not slot.done():
                self._taken += 1
                slot.set_result(None)
        if self._is_waited_for:
            self._window.is_used = True

    @property
    def _is_waited_for(self) -> bool:
        return bool(self._single or self._many)

    def _next(self) -> asyncio.Future[None]:
        """The next call: the one that waited longest, so that tries last while a store restarts.

        Calls that are one of many take turns with the others: a job that does something for each of
        its files must not wait for all of them before it shows that it is alive. In a long silence
        the call that failed most often goes first: either it ends the silence, or all give up soon.
        """
        if self.silence.is_long:
            longest = [
                (one, lane)
                for lane in (self._single, self._many)
                for one in lane
                if one[1] is not None and one[1].in_long_silence
            ]
            if longest:
                first, lane = max(longest, key=lambda found: found[0][0])
                lane.remove(first)
                return first[2]
        is_of_many = bool(self._many) and (self._turn_of_many or not self._single)
        self._turn_of_many = not is_of_many
        return (self._many if is_of_many else self._single).popleft()[2]

    def _delay_s(self, nth: int) -> float:
        asked, self._asked_to_wait_s = self._asked_to_wait_s, 0.0
        longest: float = min(BACKOFF_S_MAX, BACKOFF_S * 2**nth)
        return asked + longest * self._ids.jitter()

    def _now_s(self) -> float:
        """The time, even if the loop has ended by now; always 0 where the window needs none."""
        if self._clock is None:
            is_asked = self.in_flight_max > SLOTS_FIRST
            self._clock = asyncio.get_running_loop().time if is_asked else float
        return self._clock()
