"""Calls to a store, counted and timed under Hadoop's names."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from fsspec_commit.effects.confirm import ask
from fsspec_commit.effects.pacing import Pace
from fsspec_commit.errors import StoreError
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import Store

T = TypeVar("T")

_log = logging.getLogger("fsspec_commit")


class Counted:
    """Counts and times calls under Hadoop's names."""

    def __init__(self, store: Store, pace: Pace, statistics: Statistics) -> None:
        self._store = store
        self._pace = pace
        self._statistics = statistics
        self.clock = asyncio.get_running_loop().time

    async def _counted(self, name: str, call: Awaitable[T]) -> T:
        begin = self.clock()
        try:
            answer = await call
        except StoreError as error:
            _log.debug("%s failed: %s", name, error)
            self._statistics.failed(name)
            raise
        self._statistics.took(name, self.clock() - begin)
        return answer

    async def _ask(self, name: str, question: Callable[[], Awaitable[T]]) -> T:
        return await ask(lambda: self._counted(name, question()), self._pace)
