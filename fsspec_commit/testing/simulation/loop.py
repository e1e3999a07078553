"""An event loop in virtual time: it waits for nothing, and runs the same way each time.

Callbacks run in the order that asyncio promises. What differs between two schedules is how long
each request and each reply takes, which a seed says, and so which of them comes next.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable
from contextvars import Context
from itertools import count
from typing import Any, TypeVarTuple

Ts = TypeVarTuple("Ts")


class StuckError(Exception):
    """Nothing is left to happen, and somebody still waits."""


class SimulationLoop(asyncio.BaseEventLoop):
    """A loop whose clock jumps to what comes next, and which hears of no file and no thread.

    Attributes:
        failures: What tasks raised that nobody awaits.
    """

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[BaseException] = []
        self.set_exception_handler(self._note)
        self._now = 0.0
        self._due = deque[asyncio.Handle]()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._numbers = count()

    def time(self) -> float:
        """Seconds since the simulation began."""
        return self._now

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Call *callback* after what is due already."""
        handle = asyncio.Handle(callback, args, self, context)
        self._due.append(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """The same: there is one thread."""
        return self.call_soon(callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call *callback* at a time; of several at one time the first asked for comes first."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._numbers), handle))
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call *callback* after a time."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def drain(self) -> None:
        """Run until nothing is left to happen."""
        never = self.create_future()
        try:
            self.run_until_complete(never)
        except StuckError:
            never.cancel()

    def _run_once(self) -> None:
        if not self._due:
            self._wait()
        for _ in range(len(self._due)):
            handle = self._due.popleft()
            if not handle.cancelled():
                handle._run()  # noqa: SLF001  # as asyncio's own loops do

    def _wait(self) -> None:
        """Let time pass until something is due."""
        timers = self._timers
        while timers and timers[0][2].cancelled():
            heapq.heappop(timers)
        if not timers:
            raise StuckError("nothing is left to happen")
        self._now = max(self._now, timers[0][0])
        while timers and timers[0][0] <= self._now:
            self._due.append(heapq.heappop(timers)[2])

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It is left out when its time comes."""

    def _note(self, _: asyncio.AbstractEventLoop, told: dict[str, Any]) -> None:
        error = told.get("exception")
        if isinstance(error, BaseException):
            self.failures.append(error)
