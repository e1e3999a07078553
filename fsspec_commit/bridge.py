"""Where synchronous callers meet the async core: the only module that knows a loop or a thread.

One daemon thread per process runs one loop; a forked child gets its own on first use. Unlike
``fsspec.asyn.sync``, an interrupted call is cancelled and awaited, so nothing is left running
behind a ``KeyboardInterrupt``, and a cancelled call raises.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def loop() -> asyncio.AbstractEventLoop:
    """Our own loop in its daemon thread; a new one after fork."""
    global _loop  # noqa: PLW0603  # one per process is the point
    # Without the lock once there is one: who asks may be interrupting somebody who holds it.
    running = _loop
    if running is not None:
        return running
    with _lock:
        if _loop is None:
            running = asyncio.new_event_loop()
            thread = threading.Thread(target=running.run_forever, name="fsspec-commit", daemon=True)
            thread.start()
            _loop = running
        return _loop


def _renew_lock() -> None:
    """The lock may have been held by a thread that the child does not have."""
    global _lock, _loop
    _lock, _loop = threading.Lock(), None


os.register_at_fork(after_in_child=_renew_lock)


def run(call: Coroutine[Any, Any, T], *, may_interrupt: Callable[[], bool] = lambda: True) -> T:
    """Run *call* on the loop and wait for it.

    The first Ctrl-C cancels it if *may_interrupt* says so at that moment, on the loop's thread;
    either way its end is awaited, and ``KeyboardInterrupt`` is raised then, also when it had
    succeeded. A second Ctrl-C cancels it in any case.

    Raises:
        RuntimeError: Called on a loop's own thread, where waiting would be for ever.
    """
    if threading.current_thread().name in {"fsspec-commit", "fsspecIO"}:
        call.close()
        message = (
            "fsspec-commit was called on an event-loop thread and would deadlock; call it from "
            "another thread, for example: await asyncio.to_thread(job.commit)"
        )
        raise RuntimeError(message)
    running = _Running(call, loop())
    try:
        running.start()
        return running.result()
    except KeyboardInterrupt as interrupt:
        try:
            running.stop(may_interrupt)
            running.wait()
        except KeyboardInterrupt:
            running.stop(lambda: True)
            running.wait()
        raise interrupt from None


class _ExitError(Exception):
    """Carries an exit out of a task: bare, it would end the loop, and all callers would hang."""

    def __init__(self, exit_: KeyboardInterrupt | SystemExit) -> None:
        super().__init__(exit_)
        self.exit = exit_


class _Running(Generic[T]):
    """One call on the loop, seen from the thread that waits for it."""

    def __init__(self, call: Coroutine[Any, Any, T], on: asyncio.AbstractEventLoop) -> None:
        self._loop = on
        self._call = call
        self._task: asyncio.Task[T] | None = None
        self._ended: Future[T] = Future()

    def start(self) -> None:
        """Hand the call to the loop; once, also when it was not told whether it has."""
        self._loop.call_soon_threadsafe(self._start)

    def result(self) -> T:
        """Wait for the end; return or raise what it did."""
        return self._ended.result()

    def wait(self) -> None:
        """Wait for the end of an interrupted call; an error of its own outranks the interrupt."""
        with suppress(asyncio.CancelledError):
            self._ended.result()

    def stop(self, may_interrupt: Callable[[], bool]) -> None:
        """Cancel the call, if *may_interrupt* still says so when the loop gets to it.

        An interrupt may have come before the loop was told of the call: then it starts now, to
        be stopped like any other.
        """

        def cancel() -> None:
            self._start()
            if self._task is not None and may_interrupt():
                self._task.cancel()

        self._loop.call_soon_threadsafe(cancel)

    def _start(self) -> None:
        if self._task is not None:
            return
        self._task = self._loop.create_task(self._without_exits())
        self._task.add_done_callback(self._end)

    async def _without_exits(self) -> T:
        try:
            return await self._call
        except (KeyboardInterrupt, SystemExit) as exit_:
            raise _ExitError(exit_) from None

    def _end(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self._ended.set_exception(asyncio.CancelledError())
            return
        error = task.exception()
        if error is not None:
            self._ended.set_exception(error.exit if isinstance(error, _ExitError) else error)
        else:
            self._ended.set_result(task.result())


def blocking(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """The synchronous form of an async function, same signature; no API is written twice."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return run(function(*args, **kwargs))

    return call
