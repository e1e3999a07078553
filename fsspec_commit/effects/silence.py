"""When a store that answers nobody is given up: by all who wait for it at once.

Each call by itself is tried again some times, over some seconds. Were all that are in flight
together to use up their tries, it would take hours: they are sent one after the other by then, and
each may wait a minute for nothing. So when one has spent its tries, and nobody was answered since
it first failed, the others give up as well that had failed before it was tried again. Whoever has
failed later has all its tries: the one that gave up may be none that anything depends on.
"""


class Silence:
    """What the calls to one opened store know of each other."""

    def __init__(self) -> None:
        self.answers = 0
        """How many calls were answered, if only by a refusal."""
        self.failures = 0
        """How many were not."""
        self.hopeless_until = 0
        """Hopeless is now whoever met the first failure before so many had been met."""

    def end(self) -> None:
        """The store has answered."""
        self.answers += 1
        self.hopeless_until = 0


class Trouble:
    """One call's, from its first failure on."""

    def __init__(self, silence: Silence) -> None:
        self._silence = silence
        self._answers = silence.answers
        self._first = silence.failures
        self._second = 0
        self._failures = 0

    @property
    def in_silence(self) -> bool:
        """Whether nobody has been answered since."""
        return self._silence.answers == self._answers

    @property
    def is_hopeless(self) -> bool:
        """Whether another call has spent the rest of its tries since, and nobody was answered."""
        return self._first < self._silence.hopeless_until

    def failed(self, *, is_last: bool) -> None:
        """One more try has; the last one counts for the others, if they have heard nothing."""
        silence = self._silence
        if self._failures == 1:
            self._second = silence.failures
        self._failures += 1
        silence.failures += 1
        if is_last and self.in_silence:
            silence.hopeless_until = max(silence.hopeless_until, self._second)
