"""Work that can be watched."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence


class Work:
    """Items that take a second each; item 13 fails at once, if it is told to.

    Attributes:
        started: Which have begun.
        ended: Which have ended.
        most: How many were under way at once.
        fetched: How many batches were fetched, by then.
    """

    def __init__(self, *, failing: dict[int, BaseException] | None = None) -> None:
        self.failing = failing or {}
        self.started: list[int] = []
        self.ended: list[int] = []
        self.running = self.most = self.fetched = 0
        self.ahead = 0

    async def __call__(self, item: int) -> None:
        self.started.append(item)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if item in self.failing:
                await asyncio.sleep(0.5)
                raise self.failing[item]
            await asyncio.sleep(1)
            self.ended.append(item)
        finally:
            self.running -= 1

    async def batches(self, sizes: Sequence[int]) -> AsyncIterator[list[int]]:
        first = 0
        for size in sizes:
            self.fetched += size
            self.ahead = max(self.ahead, self.fetched - len(self.started))
            yield list(range(first, first + size))
            first += size
