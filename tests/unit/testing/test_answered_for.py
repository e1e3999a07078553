"""What the contract takes for true of a store that somebody else answers."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.testing.simulation.families import capabilities_of
from fsspec_commit.testing.store_contract.answered_for import LOGIN_PAGE, _failure, _Try, _verbs
from fsspec_commit.testing.wrapped import WrappedStore
from tests.flat.bucket import GEN2, Bucket
from tests.flat.store import FlatStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.testing.store_contract.answered_for import ForeignAnswer

T = TypeVar("T")
ROOT = StorePath("b/out")


@dataclass
class Between:
    """Each verb is a look and a request that counts; one of the two is answered by another.

    Attributes:
        reply: What the store says then.
    """

    reply: Reply
    nth: int = 0
    is_carried_out: bool = False
    met: bool = False

    def begin(self, nth: int, answer: ForeignAnswer, *, is_carried_out: bool) -> None:
        self.nth, self.is_carried_out, self.met = nth, is_carried_out, False

    def end(self) -> bool:
        self.nth = 0
        return self.met

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if self.nth == 0:
            return await call()
        self.met = True
        if self.nth > 1 and self.is_carried_out:
            await call()
        raise StoreError(f"cannot {verb}", reply=self.reply, path=path)


@pytest.mark.parametrize("verb", ["create", "put", "delete", "delete_tree", "rename"])
@pytest.mark.parametrize(
    ("reply", "of_a_look", "of_what_counts"),
    [
        (Reply.UNKNOWN, None, None),
        (Reply.NOT_DONE, None, "said to be not done, and done: "),
        (Reply.REFUSED, "the reply is ", "the reply is "),
    ],
)
def test_not_done_is_true_of_a_look_only(
    verb: str, reply: Reply, of_a_look: str | None, of_what_counts: str | None
) -> None:
    for nth, words in ((1, of_a_look), (2, of_what_counts)):
        bucket, between = Bucket("b", GEN2), Between(reply)
        store = WrappedStore(FlatStore(ROOT, bucket, capabilities_of(GEN2)), between.carry)

        def read_raw(path: StorePath, bucket: Bucket = bucket) -> bytes | None:
            found = bucket.objects.get(path)
            return None if found is None else found.data

        def at(name: str) -> StorePath:
            return StorePath(f"{ROOT}/{name}")

        one = _Try(store, at, read_raw, between, nth, LOGIN_PAGE)
        said = asyncio.run(_failure(verb, _verbs(store)[verb], one))
        assert (said is None) == (words is None), said
        assert (words or "") in (said or "")
