"""When a silence is long, whose failures make others hopeless, and how slots come and go."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.effects.silence import LONG_S, Silence, Trouble
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import IdSource
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Coroutine

IDS = IdSource(random.Random(1), lambda: datetime(2026, 11, 20, tzinfo=UTC))
BUSY = StoreError("slow down", reply=Reply.NOT_DONE)
failing = pytest.mark.parametrize("reply", [Reply.NOT_DONE, Reply.UNKNOWN])


def is_long(silence: Silence) -> bool:
    return silence.is_long


def scene(main: Coroutine[object, object, None]) -> None:
    run(main)


@pytest.mark.parametrize("begins_s", [0.0, LONG_S - 1])
def test_a_silence_is_long_when_nothing_was_answered_for_so_long(begins_s: float) -> None:
    async def main() -> None:
        silence = Silence()
        await asyncio.sleep(begins_s)
        assert not is_long(silence)
        silence.last()
        for passes_s in (0, LONG_S - 1):
            await asyncio.sleep(passes_s)
            assert not is_long(silence)
            silence.last()
        await asyncio.sleep(1)
        assert is_long(silence)
        silence.end()
        assert not is_long(silence)

    scene(main())


async def fails(trouble: Trouble, reply: Reply, *, times: int = 1, last: bool = False) -> None:
    for _ in range(times):
        trouble.failed(reply, is_last=False)
    if last:
        await asyncio.sleep(LONG_S)
        trouble.failed(reply, is_last=True)


@failing
def test_who_has_used_up_its_tries_makes_hopeless_who_had_failed_before_its_second(
    reply: Reply,
) -> None:
    async def main() -> None:
        silence = Silence()
        first, before = Trouble(silence), Trouble(silence)
        await fails(first, reply)
        between = Trouble(silence)
        await fails(between, reply)
        await fails(first, reply)
        later = Trouble(silence)
        await fails(later, reply)
        await fails(first, reply, times=3, last=True)
        assert [one.is_hopeless for one in (before, between, later)] == [True, True, False]
        silence.end()
        assert not any(one.is_hopeless for one in (before, between, later))

    scene(main())


@failing
def test_whose_tries_are_used_up_in_a_short_silence_gives_up_alone(reply: Reply) -> None:
    """Whether it is short by itself, or since some answer has come."""

    async def main() -> None:
        silence = Silence()
        one, other = Trouble(silence), Trouble(silence)
        await fails(one, reply, times=3)
        one.failed(reply, is_last=True)
        assert not other.is_hopeless
        await asyncio.sleep(LONG_S)
        silence.end()
        await fails(one, reply)
        one.failed(reply, is_last=True)
        assert not other.is_hopeless

    scene(main())


def test_a_refusal_is_no_failure_to_answer() -> None:
    async def main() -> None:
        silence = Silence()
        trouble = Trouble(silence)
        await fails(trouble, Reply.UNKNOWN)
        failures = silence.failures
        await asyncio.sleep(LONG_S)
        assert is_long(silence)
        trouble.failed(Reply.REFUSED, is_last=True)
        assert silence.failures == failures
        await asyncio.sleep(LONG_S)
        assert not is_long(silence)

    scene(main())


def test_a_call_has_been_in_a_long_silence_as_long_as_it_has_lasted() -> None:
    async def main() -> None:
        silence = Silence()
        early = Trouble(silence)
        silence.last()
        await asyncio.sleep(LONG_S - 1)
        late = Trouble(silence)
        assert not early.in_long_silence
        await asyncio.sleep(1)
        assert (early.in_long_silence, late.in_long_silence) == (True, False)

    scene(main())
