"""One destination in a bucket, on a loop in virtual time, whose calls fail as a test says."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import IdSource
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import Expect
from fsspec_commit.testing.simulation.families import capabilities_of
from fsspec_commit.testing.wrapped import WrappedStore
from tests.flat.bucket import ALL_HABITS, Bucket
from tests.flat.store import FlatStore
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.store import Token

T = TypeVar("T")
IDS = IdSource(random.Random(13), lambda: datetime(2026, 11, 21, tzinfo=UTC))
ROOT = StorePath("b/out")
DESTINATION = DestinationLayout(ROOT)


def failure(reply: Reply, number: int | None = None) -> StoreError:
    """The answer to a call that failed."""
    error = StoreError(f"it is {reply.value}", reply=reply, path=ROOT)
    error.errno = number
    return error


class Place:
    """The destination.

    Attributes:
        bucket: Where it is.
        calls: Every call so far, by its verb.
        paths: Their paths.
        statistics: What was counted.
    """

    def __init__(self, kind: str = "gcs") -> None:
        self.bucket = Bucket("b", ALL_HABITS[kind])
        self.calls: list[str] = []
        self.paths: list[str] = []
        self.statistics = Statistics()
        self._steps: defaultdict[str, list[tuple[BaseException, bool]]] = defaultdict(list)

    def fail(self, verb: str, error: BaseException, *, times: int = 1, done: bool = False) -> None:
        """Have the next calls of a verb fail, all the same with their effect if they are *done*."""
        self._steps[verb] += [(error, done)] * times

    async def _carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[Any]]) -> Any:
        self.calls.append(verb)
        self.paths.append(path)
        if not self._steps[verb]:
            return await call()
        error, done = self._steps[verb].pop(0)
        if done:
            await call()
        raise error

    def use(self, main: Callable[[ConfirmedStore], Awaitable[T]], **how: int) -> T:
        """What *main* returns, of the destination as it is opened."""
        return self.time(main, **how)[0]

    def time(self, main: Callable[[ConfirmedStore], Awaitable[T]], **how: int) -> tuple[T, float]:
        """The same, and how long it took."""

        async def opened() -> T:
            store = FlatStore(ROOT, self.bucket, capabilities_of(self.bucket.habits))
            wrapped = WrappedStore(store, self._carry)
            return await main(ConfirmedStore(wrapped, ids=IDS, statistics=self.statistics, **how))

        return run(opened())

    def put(self, path: str, data: bytes = b"old") -> Token:
        """Write a file, and the directories that it needs."""
        return self.bucket.put(StorePath(path), data, None, Expect.ANYTHING)
