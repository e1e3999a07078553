"""The bridge from synchronous callers to the async core: no other module knows a loop or a thread.

One daemon thread per process runs one loop; a forked child gets its own on first use. Unlike
``fsspec.asyn.sync``, an interrupted call is cancelled and awaited, so nothing is left running
behind a ``KeyboardInterrupt``, and a cancelled call raises.

An interrupt can come between any two steps of the thread that waits. So that thread shares nothing
with the loop that it could leave locked: the locks of ``concurrent.futures`` and ``threading``'s
conditions are taken and given back in several steps, and one that stays taken stops the loop, and
with it every caller, for ever.
"""

import asyncio
import atexit
import importlib
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial, wraps
from typing import Any, Generic, ParamSpec, TypeVar

from fsspec_commit.client_pool import end as close_kept_clients
from fsspec_commit.client_pool import serve

P = ParamSpec("P")
T = TypeVar("T")

_EXIT_S = 5.0
"""How long an exit waits for clients that are being closed."""
_WAIT_AT_EXIT_S = 30.0
"""How long an exit waits for work that still goes on."""
_log = logging.getLogger("fsspec_commit")
_waited_for = set[Callable[[], Coroutine[Any, Any, None]]]()
_ending = threading.Event()
_lock = threading.RLock()
_loop: asyncio.AbstractEventLoop | None = None


def loop() -> asyncio.AbstractEventLoop:
    """The loop of this process, in its daemon thread; a new one after a fork."""
    # No lock once there is a loop: the caller may be interrupting code that holds the lock.
    running = _loop
    if running is not None:
        return running
    with _lock:
        return _begin() if _loop is None else _loop


def _begin() -> asyncio.AbstractEventLoop:
    global _loop  # noqa: PLW0603  # one per process is the point
    made = asyncio.new_event_loop()
    if _loop is not None:
        # The handler of a signal has made one meanwhile, in this thread.
        made.close()
        return _loop
    made.set_default_executor(_Threads(thread_name_prefix="fsspec-commit"))
    serve(made, tell_first=_close_at_exit)
    threading.Thread(target=_serve, args=[made], name="fsspec-commit", daemon=True).start()
    _loop = made
    return made


class _Threads(ThreadPoolExecutor):
    """A pool of threads that takes work even when the main thread of the program has ended.

    Python ends all pools at that moment, and only then waits for threads that are no daemons. What
    they still do may need the loop, and a name to be resolved: that has a thread of its own then.
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call *fn* in one of the threads."""
        try:
            return super().submit(fn, *args, **kwargs)
        except RuntimeError:
            pass
        answer: Future[T] = Future()

        def call() -> None:
            if not answer.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001  # whoever waits gets it, as from a pool
                answer.set_exception(error)
            else:
                answer.set_result(result)

        threading.Thread(target=call, name="fsspec-commit late call", daemon=True).start()
        return answer


def _serve(on: asyncio.AbstractEventLoop) -> None:
    """Run the loop, whatever is raised on it: an exit would end it for all callers."""
    while True:
        try:
            on.run_forever()
        except (KeyboardInterrupt, SystemExit):
            _log.debug("an exit was raised on the loop", exc_info=True)


def _close_at_exit() -> None:
    """Close kept clients at exit, before the exit handlers that libraries have registered."""
    atexit.register(_close_clients)


def _close_clients() -> None:
    if _loop is not None:
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(close_kept_clients(), _loop).result(_EXIT_S)


def wait_at_exit(
    end: Callable[[], Coroutine[Any, Any, None]], given_up: Callable[[], None]
) -> bool:
    """Have the program wait for *end* before it ends, but not for ever.

    The wait comes before thread pools are ended, too: the loop resolves host names in one.

    Args:
        end: Awaited on the loop.
        given_up: Called if it takes too long, or somebody interrupts the wait.

    Returns:
        Whether the program will wait; if not, it is ending already.
    """
    if _ending.is_set() or end in _waited_for:
        return not _ending.is_set()
    begin_of_end: Callable[[Callable[[], None]], object]
    begin_of_end = getattr(threading, "_register_atexit", atexit.register)
    try:
        # What is registered last is called first, and ours must run before thread pools are ended.
        importlib.import_module("concurrent.futures.thread")
        begin_of_end(partial(_wait, end, given_up))
    except RuntimeError:
        return False
    _waited_for.add(end)
    return True


@contextmanager
def about_to_end() -> Iterator[None]:
    """Take the program to be ending: in the block, nothing is left to go on in the background."""
    was_ending = _ending.is_set()
    _ending.set()
    try:
        yield
    finally:
        if not was_ending:
            _ending.clear()


def _wait(end: Callable[[], Coroutine[Any, Any, None]], given_up: Callable[[], None]) -> None:
    on = _loop
    _ending.set()  # From now on, a commit itself waits for what it would leave to the background.
    if on is None:
        return
    try:
        asyncio.run_coroutine_threadsafe(end(), on).result(_WAIT_AT_EXIT_S)
    except BaseException:  # noqa: BLE001  # whatever it is, others wait for the end of the program
        given_up()


def _renew_lock() -> None:
    """Make a new lock: the old one may have been held by a thread that the child does not have."""
    global _lock, _loop, _ending
    _lock, _loop, _ending = threading.RLock(), None, threading.Event()


os.register_at_fork(after_in_child=_renew_lock)


def run(call: Coroutine[Any, Any, T], *, may_interrupt: Callable[[], bool] = lambda: True) -> T:
    """Run *call* on the loop and wait for it.

    The first Ctrl-C cancels the call if *may_interrupt* allows it at that moment, on the loop's
    thread; either way its end is awaited, and then ``KeyboardInterrupt`` is raised, even if the
    call succeeded. A second Ctrl-C cancels it in any case. Any other exception that the handler of
    a signal raises here, such as an exit by SIGTERM or a time limit, does the same.

    Raises:
        RuntimeError: It was called on the thread of a loop, where it would wait for ever.
    """
    if threading.current_thread().name in {"fsspec-commit", "fsspecIO"}:
        call.close()
        message = (
            "fsspec-commit was called on an event-loop thread and would deadlock; call it from "
            "another thread, for example: await asyncio.to_thread(job.commit)"
        )
        raise RuntimeError(message)
    running = _Running(call, loop())
    interrupt: BaseException | None = None
    try:
        running.start()
        running.wait()
    except BaseException as first:  # noqa: BLE001  # the call's own errors come by `result`
        interrupt = first
        try:
            running.stop(may_interrupt)
            running.wait()
        except BaseException:  # noqa: BLE001  # another signal
            running.stop(lambda: True)
            running.wait()
    return running.result(interrupt)


class _ExitError(Exception):
    """Carries an exit out of a task: unwrapped, it would stop the loop."""

    def __init__(self, exit_: KeyboardInterrupt | SystemExit) -> None:
        super().__init__(exit_)
        self.exit = exit_


class _Running(Generic[T]):
    """One call on the loop, as seen by the thread that waits for it.

    The outcome is written on the loop's thread, before it releases the lock that the waiting thread
    acquires: one operation each, which an interrupt cannot divide. The task itself is released
    there, too, since asyncio's code for that would swallow an interrupt.
    """

    def __init__(self, call: Coroutine[Any, Any, T], on: asyncio.AbstractEventLoop) -> None:
        self._loop = on
        self._call: Coroutine[Any, Any, T] | None = call
        self._task: asyncio.Task[T] | None = None
        self._outcome: Callable[[], T] | None = None
        self._ended = threading.Lock()
        self._ended.acquire()

    def start(self) -> None:
        """Hand the call to the loop, once, even if an interrupt hid whether that was done."""
        self._loop.call_soon_threadsafe(self._start)

    def wait(self) -> None:
        """Wait for the end."""
        while self._outcome is None:
            self._ended.acquire()

    def result(self, interrupt: BaseException | None) -> T:
        """Return or raise the outcome of the call; its own error takes precedence."""
        if self._outcome is None:
            raise AssertionError("the call has not ended")
        try:
            result = self._outcome()
        except asyncio.CancelledError:
            if interrupt is None:
                raise
        if interrupt is not None:
            raise interrupt from None
        return result

    def stop(self, may_interrupt: Callable[[], bool]) -> None:
        """Cancel the call, if *may_interrupt* still allows it when the loop gets to it.

        If the interrupt came before the call was handed to the loop, the call starts now, and is
        cancelled like any other.
        """

        def cancel() -> None:
            self._start()
            if self._task is not None and may_interrupt():
                self._task.cancel()

        self._loop.call_soon_threadsafe(cancel)

    def _start(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            self._task = self._loop.create_task(_without_exits(call))
            self._task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[T]) -> None:
        self._task = None
        self._outcome = _outcome_of(task)
        self._ended.release()


async def _without_exits(call: Coroutine[Any, Any, T]) -> T:
    try:
        return await call
    except (KeyboardInterrupt, SystemExit) as exit_:
        raise _ExitError(exit_) from None


def _outcome_of(task: asyncio.Task[T]) -> Callable[[], T]:
    """A function that returns or raises the outcome of *task*."""
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if error is None:
        result = task.result()
        return lambda: result
    raised = error.exit if isinstance(error, _ExitError) else error

    def fail() -> T:
        raise raised

    return fail


async def iterated(things: Callable[[], Iterable[T]], name: str) -> AsyncIterator[T]:
    """Iterate over what *things* returns on a separate thread, and yield each item as it comes.

    The thread is a daemon: when the caller is cancelled it goes on, and nobody waits for its end.
    An exception ends the iteration, and is raised here; one that would look like a cancellation
    of the caller is raised as a ``RuntimeError``.
    """
    on = asyncio.get_running_loop()
    come = asyncio.Queue[tuple[T] | BaseException | None]()

    def tell(thing: tuple[T] | BaseException | None) -> None:
        on.call_soon_threadsafe(come.put_nowait, thing)

    def iterate() -> None:
        try:
            for thing in things():
                tell((thing,))
        except (asyncio.CancelledError, GeneratorExit) as error:
            tell(RuntimeError(type(error).__name__))
        except BaseException as error:  # noqa: BLE001  # raised where it is awaited
            tell(error)
        else:
            tell(None)

    threading.Thread(target=iterate, name=name, daemon=True).start()
    while (told := await come.get()) is not None:
        if isinstance(told, BaseException):
            raise told
        yield told[0]


def blocking(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make an async function synchronous, with the same signature."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return run(function(*args, **kwargs))

    return call
