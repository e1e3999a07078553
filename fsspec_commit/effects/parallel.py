"""Concurrent work, bounded and streamed: after an error nothing starts, and the rest is awaited."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeAlias, TypeVar

from fsspec_commit.records.entries import in_batches

T = TypeVar("T")
R = TypeVar("R")
Progress: TypeAlias = Callable[[int], None]
"""Called with how many more items are done."""

_BREATH = 128
"""After this many items without a wait, a worker lets the loop run, so that it can be stopped."""


async def for_each(
    batches: AsyncIterator[Sequence[T]],
    run: Callable[[T], Awaitable[None]],
    *,
    in_flight_max: int,
    progress: Progress | None = None,
) -> int:
    """Run *run* for every item, at most *in_flight_max* at a time; return how many.

    Memory holds a batch or two, never all items. After the first error nothing new starts, what
    is in flight is awaited, and that error is raised: no call is left running behind it.
    """
    feed = _Feed(batches)
    workers: list[asyncio.Future[None]] = []

    def start_worker() -> None:
        # A worker that finds something to do starts the next one, so that there are as many as
        # the work needs, however it is cut into batches.
        if len(workers) < in_flight_max:
            workers.append(asyncio.ensure_future(_work(feed, run, progress, start_worker)))

    start_worker()
    try:
        while working := [worker for worker in workers if not worker.done()]:
            await asyncio.wait(working)
    except asyncio.CancelledError as error:
        feed.fail(error)
        for worker in workers:
            worker.cancel()
        raise
    finally:
        await asyncio.gather(*workers, return_exceptions=True)
    if feed.failed is not None:
        raise feed.failed
    return feed.done


async def batches_of(items: Iterable[T]) -> AsyncIterator[Sequence[T]]:
    """*items* in batches, as :func:`for_each` takes them."""
    for batch in in_batches(items):
        yield batch


async def all_of(
    items: Sequence[T], run: Callable[[T], Awaitable[R]], *, in_flight_max: int
) -> list[R]:
    """The results of *run* for all items, in their order; errors are as of :func:`for_each`."""
    given: dict[int, R] = {}

    async def one(index: int) -> None:
        given[index] = await run(items[index])

    async def indexes() -> AsyncIterator[Sequence[int]]:
        yield range(len(items))

    await for_each(indexes(), one, in_flight_max=in_flight_max)
    return [given[index] for index in range(len(items))]


async def _work(
    feed: "_Feed[T]",
    run: Callable[[T], Awaitable[None]],
    progress: Progress | None,
    start_worker: Callable[[], None],
) -> None:
    streak, alone = 0, True
    while (items := feed.ready()) is not None or (items := await feed.fill()) is not None:
        if alone:
            alone = False
            start_worker()
        for item in items:
            try:
                await run(item)
                feed.done += 1
                if progress is not None:
                    progress(1)
            except BaseException as error:
                feed.fail(error)
                raise
        streak += 1
        if streak == _BREATH:
            streak = 0
            await asyncio.sleep(0)


class _Feed(Generic[T]):
    """Hands out items one at a time to several workers."""

    def __init__(self, batches: AsyncIterator[Sequence[T]]) -> None:
        self._batches = batches
        self._items: Iterator[T] = iter(())
        self._filling = asyncio.Lock()
        self._ended = False
        self.done = 0
        self.failed: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        """Hand out nothing more."""
        if self.failed is None:
            self.failed = error

    def ready(self) -> tuple[T] | None:
        """The next item, if one is at hand."""
        if self.failed is None:
            for item in self._items:
                return (item,)
        return None

    async def fill(self) -> tuple[T] | None:
        """The next item, after fetching another batch; ``None`` when there is none."""
        async with self._filling:
            while self.failed is None and (item := self.ready()) is None:
                try:
                    if not await self._fetch():
                        return None
                except BaseException as error:
                    self.fail(error)
                    raise
            return item if self.failed is None else None

    async def _fetch(self) -> bool:
        """Fetch batches until one holds something; False at the end."""
        while not self._ended:
            batch = await anext(self._batches, None)
            if batch is None:
                self._ended = True
            elif batch:
                self._items = iter(batch)
                return True
        return False
