"""A writer in a thread of its own, fed from the caller's.

Arrow writes a dataset in one long call into C++, during which Ctrl-C waits. So that call has a
thread, and the caller's thread runs the source: an exception of the source is raised where it
happens, a source that belongs to one thread stays on it, and every wait can be interrupted.
"""

import atexit
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Generic, Literal, TypeAlias, TypeVar

T = TypeVar("T")
R = TypeVar("R")

State: TypeAlias = Literal["open", "ended", "refused", "stopped"]
_DEPTH = 4
_FINALITY: dict[State, int] = {"open": 0, "ended": 1, "refused": 2, "stopped": 3}
_GRACE_S = 1.0
_EXIT_S = 3.0


class StoppedError(Exception):
    """The feed was stopped: no more items will come, and those that came are not needed."""


class Feed(Generic[T]):
    """A short queue from one thread to another that either side can end."""

    def __init__(self) -> None:
        self._waiting: deque[T] = deque()
        self._changed = threading.Condition()
        self._state: State = "open"

    def put(self, item: T) -> bool:
        """Hand over one item when there is room; False if the feed has ended."""
        with self._changed:
            while self._state == "open" and len(self._waiting) >= _DEPTH:
                self._changed.wait()
            if self._state != "open":
                return False
            self._waiting.append(item)
            self._changed.notify_all()
            return True

    def end(self) -> None:
        """Mark the end of the items."""
        self._become("ended")

    def refuse(self) -> None:
        """End the feed from the writer's side: its items end, and :meth:`put` takes no more.

        The items end without an error: Arrow would wait for ever for a source that raises while
        Arrow's queue is full.
        """
        self._become("refused")

    def stop(self) -> None:
        """Give up: the writer's next step raises, and :meth:`put` takes no more."""
        self._become("stopped")

    def __iter__(self) -> Iterator[T]:
        """The items, for the writer.

        Raises:
            StoppedError: The feed was stopped.
        """
        while True:
            with self._changed:
                while self._state == "open" and not self._waiting:
                    self._changed.wait()
                if self._state == "stopped":
                    raise StoppedError
                if self._state == "refused" or not self._waiting:
                    return
                item = self._waiting.popleft()
                self._changed.notify_all()
            yield item

    def _become(self, state: State) -> None:
        with self._changed:
            if _FINALITY[state] > _FINALITY[self._state]:
                self._state = state
            self._changed.notify_all()


def write_fed(items: Iterable[T], write: Callable[[Iterator[T]], R], feed: Feed[T]) -> R:
    """Run *write* in a thread, feed it *items* from this one, and return its result.

    After Ctrl-C, or an exception of *items*, the writer has a second to end by itself. Then it is
    abandoned, so *write* must ensure that nothing is written after *feed* was stopped.
    """
    ended: Future[R] = Future()

    def work() -> None:
        try:
            result = write(iter(feed))
        except BaseException as error:  # noqa: BLE001  # raised where it is waited for
            ended.set_exception(error)
        else:
            ended.set_result(result)
        feed.stop()

    writer = threading.Thread(target=work, name="fsspec-commit-write", daemon=True)
    writer.start()
    try:
        for item in items:
            if not feed.put(item):
                break
        feed.end()
        return ended.result()
    except BaseException:
        feed.stop()
        try:
            ended.exception(_GRACE_S)
        except TimeoutError:
            # An interpreter that exits while Arrow's own threads are at work dies by an abort.
            atexit.register(writer.join, _EXIT_S)
        raise
