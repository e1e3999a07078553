"""What a store is opened with to ask again, as the settled store asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from fsspec_commit.errors import Reply, StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


async def ask_twice(question: Callable[[], Awaitable[T]], /) -> T:
    """The answer to the first question, or to the second; a refusal is one."""
    try:
        return await question()
    except StoreError as error:
        if error.reply is Reply.REFUSED:
            raise
    return await question()
