"""When a store that answers nobody is given up: by all who wait for it at once.

Each call by itself is tried again some times, over some seconds. Were all that are in flight
together to use up their tries, it would take hours: they are sent one after the other by then, and
each may wait a minute for nothing. So when one has spent its tries, and nobody was answered since
it first failed, the others that had failed by then give up as well. Whoever comes later has all
its tries.
"""


class Silence:
    """What the calls to one opened store know of each other."""

    def __init__(self) -> None:
        self.answers = 0
        """How many calls were answered, if only by a refusal."""
        self.given_up = 0
        """How often a call has spent its tries while nobody was answered."""
        self.lasts = False
        """Whether nobody has been answered since the last of those."""

    def end(self) -> None:
        """The store has answered."""
        self.answers += 1
        self.lasts = False


class Trouble:
    """One call's, from its first failure on."""

    def __init__(self, silence: Silence) -> None:
        self._silence = silence
        self._answers = silence.answers
        self._given_up = silence.given_up

    @property
    def is_hopeless(self) -> bool:
        """Whether another call has spent its tries since, and nobody has been answered."""
        return self._silence.lasts and self._silence.given_up > self._given_up

    def failed(self, *, is_last: bool) -> None:
        """One more try has; the last one counts for the others, if they have heard nothing."""
        if is_last and self._silence.answers == self._answers:
            self._silence.given_up += 1
            self._silence.lasts = True
