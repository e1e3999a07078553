"""Creating a record, while others create and remove theirs under the same name."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from errno import EACCES, EEXIST
from typing import TYPE_CHECKING, TypeVar

import pytest

from fsspec_commit.effects.confirm import OUTDATED_MAX
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import IdSource
from fsspec_commit.layout import StorePath
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import Expect
from fsspec_commit.testing.wrapped import WrappedStore
from fsspec_commit_stores.memory import MemoryStore
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")
IDS = IdSource(random.Random(30), lambda: datetime(2026, 11, 21, tzinfo=UTC))
ROOT = StorePath("/confirmed-records/out")
AREA = StorePath(f"{ROOT}/area")
PATH = StorePath(f"{AREA}/decision")


class Others:
    """A store on which others do something before and after each of our calls."""

    def __init__(self, number: int, times: int) -> None:
        self.store = MemoryStore(ROOT)
        self.calls: list[str] = []
        self._refusal = number
        self._left = times

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        self.calls.append(verb)
        if verb == "create" and self._left:
            self._left -= 1
            error = StoreError("another's stands there, and goes", reply=Reply.REFUSED, path=path)
            error.errno = self._refusal
            raise error
        return await call()

    def create(self) -> bytes | None:
        async def created() -> bytes | None:
            spec = StorePath(f"{AREA}/job.json")
            await self.store.put(spec, b"", expecting=Expect.ANYTHING, within=None)
            wrapped = WrappedStore(self.store, self.carry)
            confirmed = ConfirmedStore(wrapped, ids=IDS, statistics=Statistics())
            try:
                return await confirmed.create(PATH, b"ours", within=AREA)
            finally:
                await self.store.delete_tree(AREA)

        return run(created())[0]


@pytest.mark.parametrize("times", [1, OUTDATED_MAX])
def test_what_was_in_the_way_and_went_is_not(times: int) -> None:
    """An abort that retires its decision while a commit looks for it: absence decides nothing."""
    others = Others(EEXIST, times)
    assert others.create() == b"ours"
    assert others.calls == [*["create", "read", "stat"] * times, "create"]


@pytest.mark.parametrize(("number", "tries"), [(EEXIST, 1 + OUTDATED_MAX), (EACCES, 1)])
def test_what_is_refused_each_time_is(number: int, tries: int) -> None:
    others = Others(number, 99)
    with pytest.raises(StoreError, match="another's stands there"):
        others.create()
    assert others.calls.count("create") == tries


@pytest.mark.parametrize(("stands", "is_created"), [(b"ours", True), (b"another's", False)])
def test_what_stands_where_no_answer_came_says_whose_it_is(
    stands: bytes, *, is_created: bool
) -> None:
    async def lose(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "create":
            raise StoreError("no answer", reply=Reply.UNKNOWN, path=path)
        return await call()

    async def created() -> bool:
        store = MemoryStore(ROOT)
        await store.put(PATH, stands, expecting=Expect.ANYTHING, within=None)
        confirmed = ConfirmedStore(WrappedStore(store, lose), ids=IDS, statistics=Statistics())
        try:
            return await confirmed.create_unrepeated(PATH, b"ours", above=ROOT, backoff=0)
        finally:
            await store.delete_tree(AREA)

    assert run(created())[0] is is_created
