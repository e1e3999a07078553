"""How long a call waits before it is repeated, when it gives up, and what it says it failed for."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.effects.confirm import Effect, Undone, ask, classified, confirm
from fsspec_commit.effects.pacing import BACKOFF_S, BACKOFF_S_MAX, TRIES_MAX, Pace
from fsspec_commit.effects.silence import LONG_S
from fsspec_commit.errors import CommitStateUnknownError, Reply, StoreError
from fsspec_commit.ids import IdSource
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

TIMEOUT_S = 60.0


class Half(random.Random):
    """Jitter that is no chance."""

    def random(self) -> float:
        return 0.5


IDS = IdSource(Half(), lambda: datetime(2026, 11, 20, tzinfo=UTC))


def backoff_s(*turns: int) -> float:
    """How long it waits before these repetitions of a call."""
    return sum(0.5 * min(BACKOFF_S_MAX, BACKOFF_S * 2.0**turn) for turn in turns)


class Answers:
    """Calls that fail as a list says, and then do not; each may take its time."""

    def __init__(self, *replies: Reply, lasts_s: float = 0.0, after_s: float | None = None) -> None:
        self._replies = list(replies)
        self._lasts_s = lasts_s
        self.made = 0
        self.ended_s = 0.0
        self.retry_after_s = after_s

    async def __call__(self) -> str:
        self.made += 1
        await asyncio.sleep(self._lasts_s)
        self.ended_s = asyncio.get_running_loop().time()
        if self._replies:
            reply = self._replies.pop(0)
            raise StoreError(f"it is {reply.value}", reply=reply, retry_after_s=self.retry_after_s)
        return "done"


async def nothing() -> Undone:
    return Undone.UNDONE


def changed(call: Callable[[], Awaitable[str]], pace: Pace, **how: int) -> Awaitable[str]:
    return confirm(Effect(call, nothing, "writing", "a"), pace, **how)


def asked(call: Callable[[], Awaitable[str]], pace: Pace) -> Awaitable[str]:
    return ask(call, pace)


def is_long(pace: Pace) -> bool:
    return pace.silence.is_long


both = pytest.mark.parametrize("calling", [changed, asked])


@both
def test_a_call_waits_twice_as_long_before_each_repetition(
    calling: Callable[[Answers, Pace], Awaitable[str]],
) -> None:
    """Up to some seconds; also where nobody else takes a slot."""

    async def main() -> None:
        await calling(Answers(*[Reply.NOT_DONE] * (TRIES_MAX - 1)), Pace(IDS))

    assert run(main())[1] == pytest.approx(backoff_s(*range(1, TRIES_MAX)))


@both
def test_a_call_waits_as_long_as_it_was_asked_to(
    calling: Callable[[Answers, Pace], Awaitable[str]],
) -> None:
    async def main() -> None:
        await calling(Answers(Reply.NOT_DONE, Reply.NOT_DONE, after_s=7.0), Pace(IDS))

    assert run(main())[1] == pytest.approx(14 + backoff_s(1, 2))


def test_a_call_of_a_kind_that_has_just_failed_waits_at_first() -> None:
    async def main() -> None:
        await changed(Answers(Reply.NOT_DONE), Pace(IDS), backoff=3)

    assert run(main())[1] == pytest.approx(backoff_s(3, 4))


def test_what_is_looked_at_after_a_refusal_is_not_waited_for() -> None:
    """The store has answered."""
    looked_at = 0.0

    async def look() -> str:
        nonlocal looked_at
        looked_at = asyncio.get_running_loop().time()
        return "seen"

    async def main() -> None:
        await confirm(Effect(Answers(Reply.REFUSED), look, "writing", "a"), Pace(IDS))

    run(main())
    assert looked_at == 0


@both
def test_a_call_that_others_have_made_hopeless_gives_up_at_once(
    calling: Callable[[Answers, Pace], Awaitable[str]],
) -> None:
    """It had failed before the second failure of one that has used up its tries."""

    async def main() -> tuple[Answers, float]:
        pace = Pace(IDS, in_flight_max=10_000)
        first, second = [
            Answers(*[Reply.NOT_DONE] * 99, lasts_s=lasts_s) for lasts_s in (TIMEOUT_S, 100.0)
        ]
        failing = [asyncio.ensure_future(calling(one, pace)) for one in (first, second)]
        await asyncio.wait(failing)
        for one in failing:
            assert isinstance(one.exception(), StoreError)
        assert first.made == TRIES_MAX
        return second, asyncio.get_running_loop().time()

    (second, gave_up_s), _ = run(main())
    assert 1 < second.made < TRIES_MAX
    assert gave_up_s - second.ended_s <= backoff_s(TRIES_MAX)


@both
@pytest.mark.parametrize("reply", [Reply.NOT_DONE, Reply.UNKNOWN, Reply.REFUSED])
def test_an_answer_ends_a_long_silence(
    calling: Callable[[Answers, Pace], Awaitable[str]], reply: Reply
) -> None:
    """To whichever call: one that does something, one that looks, or a refusal."""

    async def main() -> None:
        pace = Pace(IDS)
        others = asyncio.ensure_future(ask(Answers(Reply.NOT_DONE, lasts_s=LONG_S * 3), pace))
        failed = Answers(Reply.NOT_DONE)
        with pytest.raises(StoreError):
            await classified(failed())
        pace.silence.last()
        await asyncio.sleep(LONG_S)
        assert is_long(pace)
        if reply is Reply.REFUSED:
            with pytest.raises(StoreError):
                await calling(Answers(reply), pace)
        else:
            await calling(Answers(lasts_s=0.5), pace)
        assert not is_long(pace)
        others.cancel()

    run(main())


def test_what_is_seen_ends_a_long_silence_as_well() -> None:
    async def main() -> None:
        pace = Pace(IDS)

        async def look() -> str:
            await asyncio.sleep(LONG_S)
            return "seen"

        assert await confirm(Effect(Answers(Reply.UNKNOWN), look, "w", "a"), pace) == "seen"
        assert not is_long(pace)

    run(main())


def test_what_may_still_be_carried_out_is_told_with_the_reason_of_the_last_answer() -> None:
    """That of a refusal, where there was one: it says why it was not repeated."""

    async def main() -> None:
        calls = Answers(Reply.UNKNOWN, Reply.REFUSED)
        with pytest.raises(CommitStateUnknownError, match="happened: it is refused") as caught:
            await changed(calls, Pace(IDS))
        assert str(caught.value.__cause__) == "it is refused"
        assert caught.value.path == "a"
        once = Effect(Answers(Reply.UNKNOWN), nothing, "writing", "a", is_repeatable=False)
        with pytest.raises(CommitStateUnknownError, match="happened: it is unknown") as caught:
            await confirm(once, Pace(IDS))
        assert str(caught.value.__cause__) == "it is unknown"

    run(main())


@pytest.mark.unforeseen("KeyError")
def test_of_an_error_that_no_adapter_should_raise_nothing_is_known() -> None:
    async def fail() -> None:
        raise KeyError("secret")

    async def main() -> StoreError:
        with pytest.raises(StoreError, match="failed with KeyError") as caught:
            await classified(fail())
        return caught.value

    error = run(main())[0]
    assert error.reply is Reply.UNKNOWN
    assert "secret" not in str(error)
