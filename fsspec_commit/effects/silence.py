"""When a store that answers no call is given up: by all calls that wait for it, at once.

Each call is repeated a number of times, over some seconds. If all calls in flight used up their
tries, that would take hours: by then they are sent one after the other, and each may wait a minute
for nothing. So when one call has used up its tries and none has been answered for long, the others
that had failed before its last repetition give up as well. A call that failed later has all its
tries, since the result of the one that gave up may not even be needed.
"""

import asyncio

from fsspec_commit.errors import Reply

LONG_S = 60.0
"""When a silence counts as long; until then a store may be busy, or restarting."""


class Silence:
    """How long, and how often, the calls to one opened store have not been answered."""

    def __init__(self) -> None:
        self.failures = 0
        """How many calls were not answered."""
        self.hopeless_until = 0
        """A call is hopeless if fewer failures than this had come before its own first one."""
        self._since_s: float | None = None

    @property
    def is_long(self) -> bool:
        """Whether no call has been answered for long."""
        return self._since_s is not None and _now_s() - self._since_s >= LONG_S

    def end(self) -> None:
        """Note that the store has answered, if only by a refusal."""
        self.hopeless_until = 0
        self._since_s = None

    def last(self) -> None:
        """Note that one more call was not answered."""
        self.failures += 1
        if self._since_s is None:
            self._since_s = _now_s()


class Trouble:
    """The failures of one call."""

    def __init__(self, silence: Silence) -> None:
        self._silence = silence
        self._began_s = _now_s()
        self._first = silence.failures
        self._second = 0
        self._failures = 0

    @property
    def in_long_silence(self) -> bool:
        """Whether the silence is long, and the call itself has waited for as long."""
        return self._silence.is_long and _now_s() - self._began_s >= LONG_S

    @property
    def is_hopeless(self) -> bool:
        """Whether another call has used up its tries since, and none was answered."""
        return self._first < self._silence.hopeless_until

    def failed(self, reply: Reply, *, is_last: bool) -> None:
        """Note a failed try; the last one makes others hopeless that were not answered either."""
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
