"""An event loop in virtual time: it waits for nothing, and runs the same way each time.

Callbacks run in the order that asyncio promises. What differs between two schedules is how long
each request and each reply takes, which a seed determines, and so which of them comes next.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from functools import partial
from itertools import count
from typing import Any, TypeVarTuple

Ts = TypeVarTuple("Ts")


_TIMERS_MAX = 100_000


class StuckError(Exception):
    """Nothing is left to happen, and somebody still waits; or what happens has no end."""


class SimulationLoop(asyncio.BaseEventLoop):
    """A loop whose clock jumps to what comes next, and which watches no file and no thread.

    Attributes:
        failures: What tasks raised that nobody awaits.
        now: Seconds since the simulation began.
    """

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[BaseException] = []
        self.now = 0.0
        self.set_exception_handler(self._note)
        # Each is called for every request, and Python's own wrappers cost more than what they do.
        self.create_future = partial(asyncio.Future, loop=self)  # type: ignore[method-assign]
        self.get_debug = bool  # type: ignore[method-assign]  # false: nothing is debugged
        self._due = deque[_Call]()
        self._timers: list[_Timer] = []
        self._numbers = count()
        self._uncancelled = _Soon(self, copy_context())

    def time(self) -> float:
        """Seconds since the simulation began."""
        return self.now

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Call *callback* after what is due already."""
        if context is not None:
            # Asked for by a task or a future, which keep no handle: it is never cancelled.
            self._due.append((None, context.run, (callback, *args)))
            return self._uncancelled
        handle = _Soon(self, copy_context())
        self._due.append((handle, callback, args))
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
        heapq.heappush(self._timers, (when, next(self._numbers), handle, callback, args))
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call *callback* after a time."""
        return self.call_at(self.now + delay, callback, *args, context=context)

    def after(self, delay_s: float, callback: Callable[[*Ts], object], *args: *Ts) -> None:
        """Call *callback* after a time; it cannot be cancelled, and costs half of `call_later`."""
        timer = (self.now + delay_s, next(self._numbers), None, callback, args)
        heapq.heappush(self._timers, timer)

    def drain(self) -> None:
        """Run until nothing is left to happen."""
        never = self.create_future()
        try:
            self.run_until_complete(never)
        except StuckError:
            never.cancel()
            if self._timers:
                raise

    def _run_once(self) -> None:
        """Run until somebody stops the loop."""
        due = self._due
        while not self._stopping:  # type: ignore[attr-defined]  # typeshed leaves it out
            handle, callback, args = due.popleft() if due else self._wait()
            if handle is None:
                callback(*args)
            elif not handle._cancelled:  # noqa: SLF001  # as asyncio's own loops do
                handle._context.run(callback, *args)  # type: ignore[attr-defined]  # noqa: SLF001  # too

    def _wait(self) -> "_Call":
        """Let time pass until something is due, and return it."""
        timers = self._timers
        while timers and (cancelled := timers[0][2]) is not None and cancelled.cancelled():
            heapq.heappop(timers)
        if not timers:
            raise StuckError("wait for ever")
        if timers[0][1] > _TIMERS_MAX:
            raise StuckError("go on for ever")
        when, _, handle, callback, args = heapq.heappop(timers)
        self.now = max(self.now, when)
        while timers and timers[0][0] <= self.now:
            self._due.append(heapq.heappop(timers)[2:])
        return handle, callback, args

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Do nothing: a timer that is cancelled is left out when its time comes."""

    _asyncgen_firstiter_hook = None
    """No asynchronous generator is registered: a simulation never shuts them down."""

    def _note(self, _: asyncio.AbstractEventLoop, told: dict[str, Any]) -> None:
        error = told.get("exception")
        if isinstance(error, BaseException):
            self.failures.append(error)


_Call = tuple[asyncio.Handle | None, Callable[..., object], tuple[Any, ...]]
"""What to call, unless its handle was cancelled."""
_Timer = tuple[float, int, asyncio.Handle | None, Callable[..., object], tuple[Any, ...]]
"""When, and what."""


class _Soon(asyncio.Handle):
    """A handle that can be cancelled; the loop itself knows what to call."""

    __slots__ = ()

    def __init__(self, loop: asyncio.AbstractEventLoop, context: Context) -> None:
        self._context = context
        self._loop = loop
        self._cancelled = False
