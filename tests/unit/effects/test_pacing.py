"""How many calls at once, and how long until the next: in virtual time."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.effects.pacing import (
    ASKED_S_MAX,
    BACKOFF_S,
    BACKOFF_S_MAX,
    IN_FLIGHT_MAX,
    TRIES_MAX,
    Pace,
)
from fsspec_commit.effects.parallel import for_each
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import IdSource
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


IN_FLIGHT_REMOTE_MAX = 512


class Fixed(random.Random):
    """Jitter that is always the same."""

    def __init__(self, value: float) -> None:
        super().__init__(0)
        self.value = value

    def random(self) -> float:
        return self.value


def pace(in_flight_max: int = IN_FLIGHT_MAX, jitter: float = 0.5) -> Pace:
    ids = IdSource(Fixed(jitter), lambda: datetime(2026, 11, 20, tzinfo=UTC))
    return Pace(ids, in_flight_max=in_flight_max)


async def call(on: Pace, nth: int = 0, lasting_s: float = 1.0) -> float:
    """Take a slot for a while; when it began."""
    await on.enter(nth)
    try:
        began = asyncio.get_running_loop().time()
        await asyncio.sleep(lasting_s)
        return began
    finally:
        on.leave()


def test_no_more_calls_are_in_flight_than_there_are_slots() -> None:
    async def ten() -> list[float]:
        on = pace(3)
        return await asyncio.gather(*(call(on) for _ in range(10)))

    began, took = run(ten())
    assert began == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]
    assert took == pytest.approx(4)


def test_a_slot_is_taken_at_once_or_not_at_all() -> None:
    async def three() -> list[bool]:
        on = pace(2)
        taken = [on.enter_now() for _ in range(3)]
        on.leave()
        return [*taken, on.enter_now()]

    assert run(three())[0] == [True, True, False, True]


@pytest.mark.parametrize("jitter", [0.0, 0.5, 0.999])
def test_the_back_off_doubles_up_to_a_limit_with_full_jitter(jitter: float) -> None:
    for nth in range(1, 20):
        _, took = run(call(pace(jitter=jitter), nth, lasting_s=0))
        assert took == pytest.approx(jitter * min(BACKOFF_S_MAX, BACKOFF_S * 2**nth))


def test_all_tries_together_take_seconds_not_minutes() -> None:
    async def tries() -> None:
        on = pace(jitter=0.999)
        for nth in range(TRIES_MAX):
            await call(on, nth, lasting_s=0)

    assert run(tries())[1] < 10


def test_who_backs_off_holds_no_slot() -> None:
    async def both() -> tuple[float, float]:
        on = pace(1)
        return await asyncio.gather(call(on, nth=6, lasting_s=0), call(on))

    (_, began), _ = run(both())
    assert began == 0


def test_the_store_is_left_alone_as_long_as_it_asked() -> None:
    async def throttled() -> list[float]:
        on = pace(jitter=0)
        on.slow_down(StoreError("slow down", retry_after_s=3))
        on.slow_down(StoreError("slow down", retry_after_s=1))
        on.slow_down(StoreError("no time named"))
        return [await call(on, nth=1, lasting_s=0), await call(on, nth=1, lasting_s=0)]

    assert run(throttled())[0] == [3, 3]


@pytest.mark.parametrize("asked", [604_800.0, float("inf")])
def test_no_store_is_left_alone_for_a_week(asked: float) -> None:
    """A job would stand still, and say nothing."""

    async def throttled() -> float:
        on = pace(jitter=0)
        on.slow_down(StoreError("down for maintenance", retry_after_s=asked))
        return await call(on, nth=1, lasting_s=0)

    assert run(throttled())[0] == ASKED_S_MAX


@pytest.mark.parametrize("rate_per_s", [500, 1_000])
def test_under_a_limited_rate_nearly_every_call_is_answered_at_once(rate_per_s: int) -> None:
    """A store with a bucket of tokens; without the cut two of three would be turned away."""
    sent = 0

    async def main() -> None:
        nonlocal sent
        on, loop = pace(64), asyncio.get_running_loop()
        tokens, filled_s = 10.0, loop.time()

        async def one() -> None:
            nonlocal sent, tokens, filled_s
            for nth in range(TRIES_MAX):
                await on.enter(nth)
                try:
                    sent += 1
                    tokens = min(10.0, tokens + (loop.time() - filled_s) * rate_per_s)
                    filled_s = loop.time()
                    answered = tokens >= 1
                    tokens -= answered
                    await asyncio.sleep(0.02)
                    if answered:
                        return
                    on.slow_down(StoreError("slow down", reply=Reply.NOT_DONE))
                finally:
                    on.leave()
            raise AssertionError("a call was given up")

        async def files() -> AsyncIterator[list[int]]:
            yield list(range(3_000))

        await for_each(files(), lambda _: one(), in_flight_max=64)

    run(main())
    assert sent < 3_000 * 1.15


@pytest.mark.parametrize(
    ("error", "slots"),
    [
        (StoreError("slow down", reply=Reply.NOT_DONE), 44),
        (StoreError("a bare 503", reply=Reply.UNKNOWN, is_overload=True), 44),
        (StoreError("one name too often", reply=Reply.NOT_DONE, is_overload=False), 64),
        (StoreError("no answer", reply=Reply.UNKNOWN), 64),
        (StoreError("there already", reply=Reply.REFUSED), 64),
    ],
)
def test_fewer_calls_are_in_flight_at_once_where_too_much_is_asked(
    error: StoreError, slots: int
) -> None:
    """Whatever is known of the call itself; a store that does not answer is another matter."""

    async def main() -> int:
        on = pace(IN_FLIGHT_REMOTE_MAX)
        assert on.enter_now()
        on.slow_down(error)
        taken = 1
        while on.enter_now():
            taken += 1
        return taken

    assert run(main())[0] == slots


@pytest.mark.parametrize("is_overload", [True, False])
def test_calls_that_all_fail_are_sent_one_by_one_in_the_end(*, is_overload: bool) -> None:
    """While a host restarts, connections are refused: so that each call has tries left after it."""

    async def main() -> list[int]:
        on = pace(IN_FLIGHT_REMOTE_MAX)
        taken = []
        for _ in range(20):
            while on.enter_now():
                pass
            taken.append(on._taken)
            for _ in range(taken[-1]):
                on.slow_down(StoreError("no", reply=Reply.NOT_DONE, is_overload=is_overload))
                on.leave()
        return taken

    assert run(main())[0][-1] == 1


def test_a_slot_is_given_back_where_no_loop_runs() -> None:
    """A coroutine that is collected, or closed as the program ends, must not fail at that."""
    on = pace(IN_FLIGHT_REMOTE_MAX)

    async def enter() -> None:
        assert on.enter_now()

    run(enter())
    on.leave()


def waited_s(*, singles: int) -> tuple[list[float], list[float]]:
    """When each of some single calls begins, and each of a hundred of many, that came before."""

    async def main() -> tuple[list[float], list[float]]:
        on = pace(1)
        many: list[float] = []

        async def one(_: int) -> None:
            many.append(await call(on))

        crew = asyncio.ensure_future(for_each(range(100), one, in_flight_max=100))
        await asyncio.sleep(0.5)
        began = await asyncio.gather(*(call(on) for _ in range(singles)))
        await crew
        return began, many

    return run(main())[0]


def test_a_single_call_does_not_wait_for_all_that_are_made_for_each_of_many_things() -> None:
    """A driver that lists, deletes or publishes must be able to say that it lives."""
    assert waited_s(singles=1)[0] == [1]


def test_nor_do_those_wait_for_all_single_calls() -> None:
    began, many = waited_s(singles=10)
    assert began == [float(nth) for nth in range(1, 21, 2)]
    assert many[:11] == [0, *(float(nth) for nth in range(2, 22, 2))]


def cancelled(when_done: Callable[[Pace], None]) -> None:
    async def main() -> None:
        on = pace(1)
        assert on.enter_now()
        waiting = [asyncio.ensure_future(call(on)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        when_done(on)
        waiting[1].cancel()
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        assert [isinstance(answer, asyncio.CancelledError) for answer in answers] == [
            True,
            True,
            False,
        ]
        assert on.enter_now(), "no slot is lost"
        assert not on.enter_now(), "and none is made"

    run(main())


def test_no_slot_is_lost_when_waiting_is_cancelled() -> None:
    cancelled(lambda on: on.leave())


def test_no_slot_is_lost_when_it_was_handed_over_just_then() -> None:
    async def main() -> None:
        on = pace(1)
        assert on.enter_now()
        waiting = asyncio.ensure_future(call(on))
        await asyncio.sleep(0)
        on.leave()  # hands the slot to the waiting one, which has not run yet
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert on.enter_now()

    run(main())
