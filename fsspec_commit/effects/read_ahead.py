"""Reading for one item after another, in order, with the reads for the next already under way."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

from fsspec_commit.effects.parallel import ended

T = TypeVar("T")
R = TypeVar("R")


async def read_ahead(
    items: AsyncIterator[T],
    read: Callable[[T], Coroutine[Any, Any, R]],
    *,
    at_once_max: int,
    size_of: Callable[[R], int],
    size_max: int,
) -> AsyncIterator[R]:
    """What *read* returns for each of *items*, in their order.

    A caller that works on one result does not wait for a round trip before the next. An error of
    *read* is raised in the place of its result, one of *items* when it comes. After an error, and
    when the caller stops and closes this generator, nothing is read any more.

    Args:
        items: None of them is ``None``; one more is fetched than there is room to read.
        read: Reads one; it may be cancelled.
        at_once_max: The most results at once: being read, waiting for the caller, and with it.
        size_of: How much memory a result takes, in any unit.
        size_max: How much these take together at most, if none is larger than the largest before;
            where two would be too large, the next is read when the caller is done with the first.
    """
    first = await anext(items, None)
    following = None if first is None else await anext(items, None)
    if first is None:
        return
    if following is None:  # There is nothing to read ahead.
        yield await read(first)
        return
    begun, largest = deque([asyncio.create_task(read(first))]), 0
    try:
        while begun or following is not None:
            if not begun and following is not None:
                begun.append(asyncio.create_task(read(following)))
                following = await anext(items, None)
            await asyncio.wait([begun[0]])  # Not awaited itself: the end below cancels them all.
            result = begun[0].result()
            begun.popleft()
            largest = max(largest, size_of(result))
            most = min(at_once_max, size_max // max(largest, 1))
            while following is not None and 1 + len(begun) < most:
                begun.append(asyncio.create_task(read(following)))
                following = await anext(items, None)
            yield result
            del result
    finally:
        for reading in begun:
            reading.cancel()
        await ended(begun)  # If the caller is cancelled once more, so are those that go on.
