"""Streams that are closed where they are used, with all that is under way for them."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


@asynccontextmanager
async def ending(stream: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    """Close *stream* at the end of the block, and not when it is garbage-collected."""
    try:
        yield stream
    finally:
        await close(stream)


async def close(stream: AsyncIterator[T]) -> None:
    """End *stream*, if it is a generator that has not ended."""
    if isinstance(stream, AsyncGenerator):
        await stream.aclose()
