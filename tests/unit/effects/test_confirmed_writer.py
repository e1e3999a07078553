"""A writer that says that it can go on is asked again; every other one is not."""

from __future__ import annotations

import asyncio
import random

import pytest

from fsspec_commit.effects.confirm import ask
from fsspec_commit.effects.confirmed.writer import ConfirmedWriter
from fsspec_commit.effects.pacing import TRIES_MAX, Pace
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import NEVER, IdSource
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry, Token
from tests.unit.effects.virtual_time import run

WRITTEN = Entry(path=StorePath("a"), size_bytes=6, token=Token("t"))


class Failing:
    """Takes what it is given, and then fails as often as it is told to."""

    def __init__(self, *failures: StoreError) -> None:
        self.failures = list(failures)
        self.data = b""
        self.calls: list[str] = []

    async def write(self, data: bytes) -> None:
        self.calls.append(f"write {len(data)}")
        self.data += data
        self._fail()

    async def finish(self) -> Entry:
        self.calls.append("finish")
        self._fail()
        return WRITTEN

    async def discard(self) -> None:
        self.calls.append("discard")

    def _fail(self) -> None:
        if self.failures:
            raise self.failures.pop(0)


def lost() -> StoreError:
    return StoreError("lost", reply=Reply.UNKNOWN, can_go_on=True)


def pace() -> Pace:
    # Without the waiting: a back-off of nothing.
    class Hasty(random.Random):
        def random(self) -> float:
            return 0.0

    return Pace(IdSource(Hasty(), lambda: NEVER), in_flight_max=1)


async def written(writer: ConfirmedWriter) -> Entry:
    await writer.write(b"abc")
    await writer.write(b"def")
    return await writer.finish()


def test_it_goes_on_where_it_was() -> None:
    """Nothing that it has taken is given to it again."""
    failing = Failing(lost(), lost())
    assert asyncio.run(written(ConfirmedWriter(failing, pace()))) == WRITTEN
    assert failing.data == b"abcdef"
    assert failing.calls == ["write 3", "write 0", "write 0", "write 3", "finish"]


def test_finish_is_asked_again() -> None:
    failing = Failing()
    writer = ConfirmedWriter(failing, pace())

    async def finished() -> Entry:
        await writer.write(b"abc")
        failing.failures = [lost(), lost()]
        return await writer.finish()

    assert asyncio.run(finished()) == WRITTEN
    assert failing.calls == ["write 3", "finish", "finish", "finish"]


@pytest.mark.parametrize("reply", Reply)
def test_one_that_may_have_lost_something_is_not_asked_again(reply: Reply) -> None:
    failing = Failing(StoreError("torn", reply=reply))
    with pytest.raises(StoreError, match="torn"):
        asyncio.run(written(ConfirmedWriter(failing, pace())))
    assert failing.calls == ["write 3"]


def test_it_is_not_asked_for_ever() -> None:
    """And the slot is free again."""
    failing = Failing(*(lost() for _ in range(99)))
    shared = pace()
    with pytest.raises(StoreError, match="lost"):
        asyncio.run(written(ConfirmedWriter(failing, shared)))
    assert len(failing.calls) == TRIES_MAX
    assert shared.enter_now()


@pytest.mark.parametrize("reply", [Reply.REFUSED, Reply.UNKNOWN])
def test_what_a_store_asked_of_a_call_that_has_ended_slows_nobody_down(reply: Reply) -> None:
    """Nobody sends that one again; the next call waited as long as it had asked."""
    asking = StoreError("slow down", reply=reply, retry_after_s=30)
    shared, other = pace(), Failing(lost())

    async def main() -> None:
        with pytest.raises(StoreError, match="slow down"):
            await ConfirmedWriter(Failing(asking), shared).write(b"abc")
        with pytest.raises(StoreError, match="slow down"):
            await ask(asked_for_the_last_time, shared)
        await ConfirmedWriter(other, shared).write(b"abc")

    tries = [StoreError("no answer")] * (TRIES_MAX - 1) + [asking]

    async def asked_for_the_last_time() -> None:
        raise asking if reply is Reply.REFUSED else tries.pop(0)

    assert run(main())[1] == 0
    assert other.calls == ["write 3", "write 0"]
