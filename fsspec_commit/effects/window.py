"""How many calls may be in flight at once: found by what comes of more, and of too many.

A store's limit is reached by its rate times its latency of calls in flight, and neither is known.
So at first more are tried after each round, as long as they bring more answers a second. Where
twice as many have not brought a quarter more, the store, the network or this machine does no more:
that is BBR's test for a full pipe. Delay, by which TCP Vegas and gradient limits go, says nothing
of stores that turn a call away as soon as they would answer it.

Once a call has been turned away the window follows the store as TCP follows a network: a call more
after each round, a share less after one in which some were turned away (Chiu and Jain, 1989). All
jobs on a store gain as much and lose the same share, so that they come to the same rate. A large
window loses less (RFC 3649, HighSpeed TCP), since it comes back by one call a round as well.

An answer that is lost says nothing of the load, unless many are.
"""

from typing import NamedTuple

SLOTS_FIRST = 64
"""So many calls leave before anything is known of a store."""
_MORE = 16
_GAIN = 1.25
_TWICE = 2
_REST = 64
"""So many rounds pass before more are tried again."""
_CUT = 0.7
_CUT_LARGE = 0.8
"""Of more than `SLOTS_FIRST`."""
_LOST_SHARE = 1 / 8


class _Found(NamedTuple):
    """So many slots gave so many answers a second."""

    slots: int
    goodput_per_s: float


class Window:
    """The slots for calls in flight, and how the calls of this round have ended.

    Calls are not told apart. As many end while one of them is in flight as were in flight when it
    left: so many make a round, but no fewer than there are slots, or `SLOTS_FIRST` of them, so that
    it takes more than a few calls to change much.

    Attributes:
        slots: How many calls may be in flight.
        is_used: Whether a call has waited in this round because no slot was free.
    """

    def __init__(self, slots_max: int) -> None:
        self.slots = min(SLOTS_FIRST, slots_max)
        self.is_used = False
        self._max = slots_max
        self._found: _Found | None = _Found(self.slots, 0.0)
        """What the last gain came from; ``None`` once a call has been turned away."""
        self._rest = 0
        self._is_cut = False
        self._lost = 0
        self._ends = 0
        self._ends_min = self.slots
        self._began_s = 0.0

    def begin(self, now_s: float) -> None:
        """A call leaves, and none is in flight; how long there was none says nothing."""
        self._ends, self._began_s = 0, now_s

    def turn_away(self, in_flight: int) -> None:
        """A call was turned away. Once a round: those that were in flight together fail together.

        Args:
            in_flight: How many still are.
        """
        if not self._is_cut:
            self._is_cut = True
            self._found = None
            self._shrink()
            self._ends, self._ends_min = 0, self._round_of(in_flight)

    def lose(self) -> None:
        """A call was not answered."""
        self._lost += 1

    def end(self, now_s: float, in_flight: int) -> None:
        """A call has ended, however.

        Args:
            now_s: The time.
            in_flight: How many still are.
        """
        self._ends += 1
        if self._ends < self._ends_min:
            return
        if self._lost >= self._ends * _LOST_SHARE:
            self._shrink()
        elif not self._is_cut:
            self._grow(now_s)
        self._ends, self._ends_min = 0, self._round_of(in_flight)
        self._lost, self._is_cut, self.is_used = 0, False, False
        self._began_s = now_s

    def _round_of(self, in_flight: int) -> int:
        return max(in_flight, min(SLOTS_FIRST, self.slots))

    def _shrink(self) -> None:
        cut = _CUT_LARGE if self.slots > SLOTS_FIRST else _CUT
        self.slots = max(1, int(self.slots * cut))

    def _grow(self, now_s: float) -> None:
        if self.slots < SLOTS_FIRST or self._found is None:
            if self.is_used or self.slots < SLOTS_FIRST:
                self.slots = min(self._max, self.slots + 1)
        elif self._rest:
            self._rest -= 1
        elif self.is_used and now_s > self._began_s:
            self._try_more(self._found, self._ends / (now_s - self._began_s))

    def _try_more(self, found: _Found, goodput_per_s: float) -> None:
        if goodput_per_s >= _GAIN * found.goodput_per_s:
            found = _Found(self.slots, goodput_per_s)
        if self.slots >= _TWICE * found.slots:
            self.slots, self._rest = found.slots, _REST
            self._found = _Found(self.slots, 0.0)
        else:
            self.slots = min(self._max, self.slots + _MORE)
            self._found = found
