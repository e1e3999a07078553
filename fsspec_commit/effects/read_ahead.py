"""What is read for one item after the other, in order, while the next ones are read."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

from fsspec_commit.effects.parallel import heard, stop

T = TypeVar("T")
R = TypeVar("R")


async def read_ahead(
    items: AsyncIterator[T],
    read: Callable[[T], Coroutine[Any, Any, R]],
    *,
    at_once_max: int,
    size_of: Callable[[T], int],
    size_max: int,
) -> AsyncIterator[R]:
    """What *read* returns for each of *items*, in their order.

    The caller who does something with a result does not wait for a round trip before the next. An
    error is raised in the place of its result. After it, and when the caller stops and closes this
    generator, nothing is read any more.

    Args:
        items: None of them is ``None``; each is asked for when there is room to read it.
        read: Reads one; it may be cancelled.
        at_once_max: How many there are at once: read, waiting for the caller, and with him.
        size_of: How much memory one takes, in any unit.
        size_max: How much these take together; one that is larger is there by itself.
    """
    first = await anext(items, None)
    following = None if first is None else await anext(items, None)
    if first is None:
        return
    if following is None:  # It has nothing to go on beside.
        yield await read(first)
        return
    begun = deque[tuple[asyncio.Task[R], int]]()
    total = 0

    def begin(item: T) -> None:
        nonlocal total
        reading = asyncio.create_task(read(item))
        reading.add_done_callback(heard)
        begun.append((reading, size_of(item)))
        total += size_of(item)

    begin(first)
    try:
        while begun or following is not None:
            while following is not None and (
                not begun or (len(begun) < at_once_max and total + size_of(following) <= size_max)
            ):
                begin(following)
                following = await anext(items, None)
            reading, size = begun[0]
            result = await reading
            begun.popleft()
            yield result
            total -= size
            del reading, result
    finally:
        await stop(*(reading for reading, _ in begun))
