"""Several streams merged into one, in bounded memory: only a few are open at a time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Generic, TypeVar

from fsspec_commit.effects.ending import close
from fsspec_commit.effects.parallel import ended, heard

T = TypeVar("T")
R = TypeVar("R")

_BATCH_MAX = 256


async def merged(
    take: Callable[[], T | None],
    stream: Callable[[T], AsyncIterator[R]],
    *,
    in_flight_max: int,
) -> AsyncIterator[list[R]]:
    """What several streams hold, in batches, in the order in which it arrives.

    At most *in_flight_max* streams are open at a time. When as many batches wait for the caller,
    the streams wait as well: memory does not depend on how long they are. After the first
    error nothing new starts, the other streams are closed, and that error is raised. If the caller
    stops, every stream is closed before this generator is.

    Args:
        take: Returns the next item to open a stream of; ``None`` if there is none now. Called again
            whenever a stream has ended, so that what a stream shows may lead to more items.
        stream: Opens the stream of an item.
        in_flight_max: How many are open at a time.
    """
    streams = _Streams(take, stream, in_flight_max)
    try:
        streams.start()
        while (batch := await streams.next()) is not None:
            yield batch
    finally:
        await streams.close()


class _Streams(Generic[T, R]):
    """Open streams, and what has arrived from them."""

    def __init__(
        self,
        take: Callable[[], T | None],
        stream: Callable[[T], AsyncIterator[R]],
        in_flight_max: int,
    ) -> None:
        self._take = take
        self._stream = stream
        self._most = in_flight_max
        self._open = 0
        self._tasks = set[asyncio.Task[None]]()
        self._arrived = asyncio.Queue[list[R] | None]()
        self._failure: BaseException | None = None
        self._room = asyncio.Semaphore(in_flight_max)

    def start(self) -> None:
        """Open as many streams as may be open; if none is left, signal that nothing will follow."""
        while self._failure is None and self._open < self._most:
            item = self._take()
            if item is None:
                break
            self._open += 1
            task = asyncio.create_task(self._run(item))
            self._tasks.add(task)
            task.add_done_callback(self._forget)
        if not self._open:
            self._arrived.put_nowait(None)

    async def next(self) -> list[R] | None:
        """The next batch; ``None`` when all streams have ended.

        Raises:
            BaseException: The first error of a stream.
        """
        batch = await self._arrived.get()
        if batch is not None:
            self._room.release()
        elif self._failure is not None:
            raise self._failure
        return batch

    async def close(self) -> None:
        """Close every stream; one that survives its cancellation ends when it has more to send."""
        self._failure = self._failure or asyncio.CancelledError()
        closing = [task for task in self._tasks if not task.done()]
        for task in closing:
            task.cancel()
            self._room.release()
        await ended(closing)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        heard(task)  # Whoever takes the batches gets its error.

    async def _run(self, item: T) -> None:
        try:
            await self._read(self._stream(item))
            self._open -= 1
            self.start()
        except BaseException as error:
            self._failure = self._failure or error
            self._arrived.put_nowait(None)
            raise

    async def _read(self, stream: AsyncIterator[R]) -> None:
        batch: list[R] = []
        try:
            async for one in stream:
                batch.append(one)
                if len(batch) == _BATCH_MAX:
                    await self._send(batch)
                    batch = []
            if batch:
                await self._send(batch)
        finally:
            await close(stream)

    async def _send(self, batch: list[R]) -> None:
        await self._room.acquire()
        if self._failure is not None:
            raise asyncio.CancelledError
        self._arrived.put_nowait(batch)
