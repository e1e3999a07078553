"""Synchronous clients run in threads that nobody has to wait for: a dead NameNode answers nothing.

Not a pool of the standard library, which joins its threads when the program ends.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

_IDLE_S = 10.0
"""A thread without work ends by then: a store that is dropped and not closed leaves none behind."""
_Call: TypeAlias = tuple[Future[Any], Callable[[], Any]]


class NotBegunError(Exception):
    """No thread was free in time; nothing was sent."""


def heard(future: asyncio.Future[T]) -> asyncio.Future[T]:
    """Return *future*; asyncio will not log its error, secrets and all, where nobody waits."""
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future


class Threads:
    """At most *most* daemon threads, made when needed.

    One more may run for each call that goes on though nobody waits for it any more.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._running = 0
        self._waiting = 0
        self._idle = 0
        self._given_up = set[Future[Any]]()

    async def run(self, call: Callable[[], T], *, timeout_s: float | None = None) -> T:
        """What *call* returns.

        If the caller is cancelled, a call that has not begun is dropped; one that has begun is
        waited for first, for at most another *timeout_s*.

        Raises:
            TimeoutError: It did not end in time, and may still.
            NotBegunError: It did not begin in time, and will not.
        """
        future: Future[T] = Future()
        with self._lock:
            self._waiting += 1
            if self._waiting > self._idle and self._running < self._most:
                self._start()
        self._calls.put((future, call))
        waiting = heard(asyncio.wrap_future(future))
        try:
            done, _ = await asyncio.wait([waiting], timeout=timeout_s)
        except asyncio.CancelledError:
            if not future.cancel():
                try:
                    await asyncio.wait([waiting], timeout=timeout_s)
                finally:
                    self._give_up(future)
            raise
        if done:
            return waiting.result()
        if future.cancel():
            raise NotBegunError
        self._give_up(future)
        raise TimeoutError

    def close(self) -> None:
        """Let the threads end."""
        with self._lock:
            running = self._running
        for _ in range(running):
            self._calls.put(None)

    def _give_up(self, future: Future[Any]) -> None:
        """Let another thread run in place of the one that is at a call, until that has ended."""
        with self._lock:
            if not future.done():
                self._given_up.add(future)
                self._most += 1

    def _start(self) -> None:
        self._running += 1
        self._idle += 1
        threading.Thread(target=self._work, name=self._name, daemon=True).start()

    def _work(self) -> None:
        while (waiting := self._next()) is not None:
            future, call = waiting
            with self._lock:
                self._waiting -= 1
                self._idle -= 1
            if future.set_running_or_notify_cancel():
                answer(future, call)
            with self._lock:
                if future in self._given_up:
                    self._given_up.remove(future)
                    self._most -= 1
                if self._running > self._most:
                    self._running -= 1
                    return
                self._idle += 1
            del waiting, future, call

    def _next(self) -> _Call | None:
        """The next call; ``None``, and counted out, when this thread is to end."""
        while True:
            has_idled = False
            try:
                waiting = self._calls.get(timeout=_IDLE_S)
            except Empty:
                waiting, has_idled = None, True
            if waiting is not None:
                return waiting
            with self._lock:
                # A call that is just being put has counted on this thread.
                if has_idled and self._waiting >= self._idle:
                    continue
                self._running -= 1
                self._idle -= 1
            return None


def answer(future: Future[T], call: Callable[[], T]) -> None:
    """Answer *future* with what *call* returns or raises."""
    try:
        returned = call()
    except BaseException as error:  # noqa: BLE001  # whoever waits gets it
        future.set_exception(error)
    else:
        future.set_result(returned)
