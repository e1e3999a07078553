"""How many calls may be in flight at once: found by trying more, until there are too many.

A store is at its limit when as many calls are in flight as its rate times its latency, and neither
is known. So more are tried after each round, as long as they bring more answers a second. Where
twice as many have not brought a quarter more, the store, the network or this machine can do no
more: that is BBR's test for a full pipe. Delay, which TCP Vegas and gradient limits go by, says
nothing about stores that turn a call away as fast as they would answer it.

When the first of many calls in flight is turned away, that shows the limit: half as many are sent
until those in flight with it have ended, then as many as were answered of those, less a few.

From there the window follows the store as TCP follows a network: a share less whenever a call is
turned away, then a call or two more after each round, as long as that passes the same test (Chiu
and Jain, 1989). All jobs on a store gain as much and lose the same share, so that they converge to
the same rate. A large window loses less (RFC 3649, HighSpeed TCP), since it, too, regains only two
calls a round. Where most of a round was turned away, what was answered is all that the store takes.
Once none has been turned away for many rounds, more are tried again, but not as many at once.

An answer that is lost says nothing of the load, unless many are.
"""

from typing import NamedTuple

SLOTS_FIRST = 64
"""How many calls may be in flight before anything is known of a store."""
_MORE = 16
_MORE_WARILY = 4
"""For a store that has turned calls away, but not lately."""
_MORE_LATELY = 2
"""For one that has lately; only one more where there are fewer slots than `_SMALL`."""
_SMALL = 16
_GAIN = 1.25
_TWICE = 2
_REST = 64
"""How many rounds pass before more are tried again."""
_CUT = 0.7
_CUT_LARGE = 0.75
"""For a window of more than `SLOTS_FIRST` slots."""
_WHILE_MEASURED = 1 / 2
_KEPT = 0.97
"""Of as many as the store has answered."""
_KEPT_MIN = 0.6
"""A smaller share says too little: half as many stay, until the next round shows more."""
_LOST_SHARE = 1 / 8
_MOST_OF_ROUND = 3 / 4


class _Found(NamedTuple):
    """How many answers a second a number of slots gave."""

    slots: int
    goodput_per_s: float


class Window:
    """The slots for calls in flight, and how the calls of this round have ended.

    Calls are not told apart. While one is in flight, as many end as were in flight when it left:
    that many make a round, but no fewer than there are slots, or than `SLOTS_FIRST` if there are
    more, so that it takes more than a few calls to change much.

    Attributes:
        slots: How many calls may be in flight.
        is_used: Whether a call has waited in this round because no slot was free.
    """

    def __init__(self, slots_max: int) -> None:
        self.slots = min(SLOTS_FIRST, slots_max)
        self.is_used = False
        self._max = slots_max
        self._found = _Found(self.slots, 0.0)
        """What the last gain came from; no goodput until a round has been measured."""
        self._rest = 0
        self._is_wary = False
        self._is_cut = False
        self._reached = 0
        """How many slots there were when the limit being measured was found; 0 if none is."""
        self._turned_away = 0
        self._lost = 0
        self._ends = 0
        self._ends_min = self.slots
        self._began_s = 0.0
        self._idle_since_s = 0.0

    def begin(self, now_s: float) -> None:
        """Note that a call leaves while none is in flight; idle time before it does not count."""
        self._began_s += now_s - self._idle_since_s

    def turn_away(self, in_flight: int) -> None:
        """Note that a call was turned away; shrink once a round, as calls in flight fail together.

        Args:
            in_flight: How many calls still are in flight.
        """
        if not self._is_cut:
            self._is_cut = True
            if in_flight >= SLOTS_FIRST and self.slots > SLOTS_FIRST and not self._is_wary:
                self._reached = self.slots
                self._take(int(self.slots * _WHILE_MEASURED))
            else:
                self._shrink()
            self._rest, self._is_wary = _REST, True
            self._turned_away = self._lost = 0
            self._ends = 0
            self._ends_min = in_flight if self._reached else self._round_of(in_flight)
        self._turned_away += 1

    def lose(self) -> None:
        """Note that a call was not answered."""
        self._lost += 1

    def end(self, now_s: float, in_flight: int) -> None:
        """Note that a call has ended, in whatever way.

        Args:
            now_s: The time.
            in_flight: How many calls still are in flight.
        """
        self._ends += 1
        if not in_flight:
            self._idle_since_s = now_s
        if self._ends < self._ends_min:
            return
        if self._turned_away >= self._ends * _MOST_OF_ROUND:
            self._take(min(self.slots, max(1, self._ends - self._turned_away)))
        elif self._reached:
            answered = 1 - (self._turned_away + self._lost) / self._ends
            if answered >= _KEPT_MIN:
                self._take(int(self._reached * _KEPT * answered))
        elif self._lost >= self._ends * _LOST_SHARE:
            self._shrink()
        elif not self._is_cut:
            self._grow(now_s)
        self._ends, self._ends_min = 0, self._round_of(in_flight)
        self._turned_away, self._lost, self._reached = 0, 0, 0
        self._is_cut = self.is_used = False
        self._began_s = now_s

    def _round_of(self, in_flight: int) -> int:
        return max(in_flight, min(SLOTS_FIRST, self.slots))

    def _shrink(self) -> None:
        cut = _CUT_LARGE if self.slots > SLOTS_FIRST else _CUT
        self._take(max(1, int(self.slots * cut)))

    def _take(self, slots: int) -> None:
        """Set the number of slots, of which nothing is known yet."""
        self.slots = slots
        self._found = _Found(slots, 0.0)

    def _grow(self, now_s: float) -> None:
        if self._rest:
            self._rest -= 1
            more = (1 if self.slots < _SMALL else _MORE_LATELY) if self._is_wary else 0
        else:
            more = _MORE_WARILY if self._is_wary else _MORE
        if self.slots < SLOTS_FIRST:
            self._take(min(self._max, self.slots + (more or 1)))
        elif more and self.is_used and now_s > self._began_s:
            self._try_more(more, self._ends / (now_s - self._began_s))

    def _try_more(self, more: int, goodput_per_s: float) -> None:
        found = self._found
        # Half the rate is not due to more slots: these are calls of another kind, that take longer.
        is_slower = goodput_per_s * _TWICE <= found.goodput_per_s
        if is_slower or goodput_per_s >= _GAIN * found.goodput_per_s:
            self._found = found = _Found(self.slots, goodput_per_s)
        if self.slots >= _TWICE * found.slots:
            self._take(found.slots)
            self._rest, self._is_wary = _REST, False
        else:
            self.slots = min(self._max, self.slots + more)
