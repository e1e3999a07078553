"""Concurrent work, bounded and streamed: after an error nothing starts, and the rest is awaited."""

import asyncio
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Sequence,
)
from operator import length_hint
from typing import Any, Generic, TypeAlias, TypeVar

from fsspec_commit.effects.ending import close
from fsspec_commit.effects.pacing import is_one_of_many
from fsspec_commit.errors import CommitError

T = TypeVar("T")
R = TypeVar("R")
Progress: TypeAlias = Callable[[int], None]
"""Called with how many more items are done."""

_BREATH = 128
"""After this many items without a wait, a worker lets the loop run, so that it can be stopped."""
_MANY = 2


async def for_each(
    items: AsyncIterator[Sequence[T]] | Iterable[T],
    run: Callable[[T], Awaitable[None]],
    *,
    in_flight_max: int,
    progress: Progress | None = None,
) -> int:
    """Run *run* for every item, at most *in_flight_max* at a time; return how many.

    Items that come in batches are fetched as they are needed: memory holds a batch or two, never
    all of them. After the first error nothing new starts, what is in flight is awaited, and that
    error is raised: no call is left running behind it. What would be fetched next is given up.
    """
    feed = _Feed(items)
    if feed.has_one_at_most:
        for item in feed.ready() or ():
            await _run_one(feed, item, run, progress)
        return feed.done
    crew = _Crew(feed, run, progress, in_flight_max)
    crew.start_worker()
    try:
        while working := [worker for worker in crew.workers if not worker.done()]:
            await asyncio.wait(working)
    except asyncio.CancelledError as error:
        feed.fail(error)
        for worker in crew.workers:
            worker.cancel()
        raise
    finally:
        try:
            if feed.failed is not None:
                await ended(crew.workers)
        finally:
            await feed.close()
    if feed.failed is not None:
        raise feed.failed
    return feed.done


async def all_of(
    items: Sequence[T], run: Callable[[T], Awaitable[R]], *, in_flight_max: int
) -> list[R]:
    """The results of *run* for all items, in their order; errors are as with :func:`for_each`."""
    given: dict[int, R] = {}

    async def one(index: int) -> None:
        given[index] = await run(items[index])

    await for_each(range(len(items)), one, in_flight_max=in_flight_max)
    return [given[index] for index in range(len(items))]


async def both(one: Coroutine[Any, Any, T], other: Coroutine[Any, Any, R]) -> tuple[T, R]:
    """Run two calls at once, neither of which needs what the other does; return both results.

    It ends only when both have ended, even if one of them fails or the caller is cancelled: after
    that neither sends a request, whatever the caller does next.

    Raises:
        CancelledError: The caller was cancelled, and so were both calls.
        BaseException: The worst of their errors. One that leaves open what has happened must not be
            hidden by one that says that nothing has.
    """
    tasks = asyncio.ensure_future(one), asyncio.ensure_future(other)
    await ended(tasks)
    errors = [found for task in tasks if (found := _error_of(task)) is not None]
    if errors:
        raise max(errors, key=_badness)
    return tasks[0].result(), tasks[1].result()


async def failure_or(call: Coroutine[Any, Any, T]) -> T | CommitError:
    """What *call* returns, or the error it raises: of two calls, neither error hides the other."""
    try:
        return await call
    except CommitError as error:
        return error


async def stop(*calls: asyncio.Future[Any]) -> None:
    """Cancel *calls*, and return when all have ended: none of them sends a request after that.

    Each is cancelled once: it may need time to undo what it has begun. Their errors are not
    logged.

    Raises:
        CancelledError: The caller was cancelled meanwhile; all have ended nevertheless.
    """
    for call in calls:
        call.cancel()
    await ended(calls, cancels_again=False)


async def ended(calls: Sequence[asyncio.Future[Any]], *, cancels_again: bool = True) -> None:
    """Return when all *calls* have ended; their errors are not logged, since the caller has them.

    Args:
        calls: What is waited for.
        cancels_again: Whether a cancellation of the caller cancels all that have not ended.

    Raises:
        CancelledError: The caller was cancelled meanwhile; all have ended nevertheless.
    """
    cancelled: asyncio.CancelledError | None = None
    while running := [call for call in calls if not call.done()]:
        try:
            await asyncio.wait(running)
        except asyncio.CancelledError as error:
            cancelled = error
            for call in running if cancels_again else ():
                call.cancel()
    for call in calls:
        heard(call)
    if cancelled is not None:
        raise cancelled


def heard(call: asyncio.Future[Any]) -> None:
    """Keep the loop from logging an error that nobody waits for any more: a done-callback."""
    if not call.cancelled():
        call.exception()


def _error_of(task: asyncio.Future[Any]) -> BaseException | None:
    return asyncio.CancelledError() if task.cancelled() else task.exception()


def _badness(error: BaseException) -> int:
    """How much *error* leaves open; of two that leave as much open, the first one counts."""
    if not isinstance(error, Exception):
        return 3
    if not isinstance(error, CommitError):
        return 1
    return {"unknown": 2, "not_committed": 0}.get(error.outcome, 1)


async def _run_one(
    feed: "_Feed[T]",
    item: T,
    run: Callable[[T], Awaitable[None]],
    progress: Progress | None,
) -> None:
    try:
        await run(item)
        feed.done += 1
        if progress is not None:
            progress(1)
    except BaseException as error:
        feed.fail(error)
        raise


class _Crew(Generic[T]):
    """Workers, as many as the work needs, however it is cut into batches."""

    def __init__(
        self,
        feed: "_Feed[T]",
        run: Callable[[T], Awaitable[None]],
        progress: Progress | None,
        most: int,
    ) -> None:
        self.workers: list[asyncio.Future[None]] = []
        self._feed = feed
        self._run = run
        self._progress = progress
        self._most = most

    def start_worker(self) -> None:
        """Start one more, unless there are enough; it starts the next if it finds work."""
        if len(self.workers) < self._most:
            self.workers.append(asyncio.ensure_future(self._work()))

    async def _work(self) -> None:
        is_one_of_many.set(True)  # In the context of this worker's task.
        feed, streak, alone = self._feed, 0, True
        while (items := feed.ready()) is not None or (items := await feed.fill()) is not None:
            if alone and feed.may_have_more:
                alone = False
                self.start_worker()
            for item in items:
                await _run_one(feed, item, self._run, self._progress)
            streak += 1
            if streak == _BREATH:
                streak = 0
                await asyncio.sleep(0)


class _Feed(Generic[T]):
    """Hands out items one at a time to several workers."""

    def __init__(self, items: AsyncIterator[Sequence[T]] | Iterable[T]) -> None:
        self._batches = items if isinstance(items, AsyncIterator) else None
        self._items: Iterator[T] = iter(()) if isinstance(items, AsyncIterator) else iter(items)
        self._filling = asyncio.Lock()
        self._fetching: asyncio.Task[Any] | None = None
        self._ended = self._batches is None
        self.done = 0
        self.failed: BaseException | None = None

    @property
    def may_have_more(self) -> bool:
        """Whether it is not certain that all items are handed out."""
        return not self._ended or length_hint(self._items, 1) > 0

    @property
    def has_one_at_most(self) -> bool:
        """Whether it is certain that there is one item, or none."""
        return self._ended and length_hint(self._items, _MANY) < _MANY

    def fail(self, error: BaseException) -> None:
        """Hand out nothing more, and cancel a fetch whose items nobody wants any more."""
        if self.failed is None:
            self.failed = error
            if self._fetching is not None and self._fetching is not asyncio.current_task():
                self._fetching.cancel()

    def ready(self) -> tuple[T] | None:
        """The next item, if one is at hand."""
        if self.failed is None:
            try:
                for item in self._items:
                    return (item,)
            except BaseException as error:
                self.fail(error)
                raise
        return None

    async def fill(self) -> tuple[T] | None:
        """The next item, after fetching another batch; ``None`` when there is none."""
        async with self._filling:
            self._fetching = asyncio.current_task()
            try:
                while self.failed is None and (item := self.ready()) is None:
                    if not await self._fetch():
                        return None
            except BaseException as error:
                self.fail(error)
                raise
            finally:
                self._fetching = None
            return item if self.failed is None else None

    async def close(self) -> None:
        """Fetch nothing more: close what the batches come from; the first error is what counts."""
        if self._batches is not None:
            try:
                await close(self._batches)
            except Exception:
                if self.failed is None:
                    raise

    async def _fetch(self) -> bool:
        """Fetch batches until one holds something; False at the end."""
        while self._batches is not None and not self._ended:
            batch = await anext(self._batches, None)
            if batch is None:
                self._ended = True
            elif batch:
                self._items = iter(batch)
                return True
        return False
