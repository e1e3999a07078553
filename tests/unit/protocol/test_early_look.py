"""What a look at the destination has seen early is used, or is dropped, once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

import pytest

from fsspec_commit.protocol.early_look import Look

if TYPE_CHECKING:
    from fsspec_commit.records.job import Claim

CLAIM = cast("Claim", None)


class Looked:
    """What was looked at, and what of it was dropped."""

    def __init__(self, fails: BaseException | None = None) -> None:
        self.seen: list[int] = []
        self.dropped: list[int] = []
        self._fails = fails
        self.look = Look(self._see, drop=self._drop)

    async def _see(self, _: Claim) -> int:
        if self._fails is not None:
            raise self._fails
        self.seen.append(len(self.seen))
        return self.seen[-1]

    async def _drop(self, seen: int) -> None:
        self.dropped.append(seen)


def test_one_that_was_not_taken_early_is_nothing_to_drop() -> None:
    async def main() -> None:
        looked = Looked()
        await looked.look.drop()
        assert await looked.look(CLAIM) == 0
        await looked.look.drop()
        assert (looked.seen, looked.dropped) == ([0], [])

    asyncio.run(main())


def test_one_that_does_not_count_is_dropped_once_and_taken_anew() -> None:
    async def main() -> None:
        looked = Looked()
        looked.look.begin(CLAIM)
        await asyncio.sleep(0)
        await looked.look.drop()
        await looked.look.drop()
        assert (looked.dropped, looked.look.begun) == ([0], None)
        assert await looked.look(CLAIM) == 1
        assert looked.dropped == [0]

    asyncio.run(main())


@pytest.mark.parametrize("error", [OSError("no"), asyncio.CancelledError()], ids=repr)
def test_one_that_saw_nothing_is_nothing_to_drop(error: BaseException) -> None:
    """The error is not the commit's: it looks once more, and may see what it needs."""

    async def main() -> None:
        looked = Looked(error)
        looked.look.begin(CLAIM)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await looked.look.drop()
        assert (looked.dropped, looked.look.begun) == ([], None)

    asyncio.run(main())
