"""When a store that answers nobody is given up: by all who wait for it at once.

Each call by itself is tried again some times, over some seconds. Were all that are in flight
together to use up their tries, it would take hours: they are sent one after the other by then, and
each may wait a minute for nothing. So when one has spent its tries, and nobody has been answered
for long, the others give up as well that had failed before it was tried again. Whoever has failed
later has all its tries: the one that gave up may be none that anything depends on.
"""

import asyncio

from fsspec_commit.errors import Reply

LONG_S = 60.0
"""A silence is long from then on; before that a store may be busy, or restart."""


class Silence:
    """What the calls to one opened store know of each other."""

    def __init__(self) -> None:
        self.failures = 0
        """How many calls were not answered."""
        self.hopeless_until = 0
        """Hopeless is now whoever met the first failure before so many had been met."""
        self._since_s: float | None = None

    @property
    def is_long(self) -> bool:
        """Whether nobody has been answered since somebody failed, long ago."""
        return self._since_s is not None and _now_s() - self._since_s >= LONG_S

    def end(self) -> None:
        """The store has answered, if only by a refusal."""
        self.hopeless_until = 0
        self._since_s = None

    def last(self) -> None:
        """One more call was not answered."""
        self.failures += 1
        if self._since_s is None:
            self._since_s = _now_s()


class Trouble:
    """One call's, from its first failure on."""

    def __init__(self, silence: Silence) -> None:
        self._silence = silence
        self._began_s = _now_s()
        self._first = silence.failures
        self._second = 0
        self._failures = 0

    @property
    def in_long_silence(self) -> bool:
        """Whether it has waited itself for as long: where nobody asks, nobody is answered."""
        return self._silence.is_long and _now_s() - self._began_s >= LONG_S

    @property
    def is_hopeless(self) -> bool:
        """Whether another call has spent the rest of its tries since, and nobody was answered."""
        return self._first < self._silence.hopeless_until

    def failed(self, reply: Reply, *, is_last: bool) -> None:
        """One more try has; the last one counts for the others, if they have heard nothing."""
        silence = self._silence
        if reply is Reply.REFUSED:
            silence.end()
            return
        if self._failures == 1:
            self._second = silence.failures
        self._failures += 1
        silence.last()
        if is_last and self.in_long_silence:
            silence.hopeless_until = max(silence.hopeless_until, self._second)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
