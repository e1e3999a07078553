"""A store that falls silent is given up soon by all who wait for it, and by nobody else."""

from __future__ import annotations

import asyncio
import gc
import random
import weakref
from functools import partial
from typing import TYPE_CHECKING, cast

import pytest

from fsspec_commit.effects.confirm import Effect, Undone, ask, confirm
from fsspec_commit.effects.confirmed.writer import ConfirmedWriter
from fsspec_commit.effects.pacing import TRIES_MAX, Pace
from fsspec_commit.effects.parallel import for_each
from fsspec_commit.effects.silence import LONG_S, Silence, Trouble
from fsspec_commit.errors import CommitError, Reply, StoreError
from fsspec_commit.ids import SYSTEM_IDS, IdSource
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from fsspec_commit.store import Entry

TIMEOUT_S = 60.0
IN_FLIGHT = 64


class Calls:
    """A store whose answers take their time: *answer* says which, by how many came before."""

    def __init__(self, answer: Callable[[int], bool], reply: Reply = Reply.NOT_DONE) -> None:
        self.made = 0
        self._answer = answer
        self._reply = reply

    async def __call__(self) -> None:
        nth, self.made = self.made, self.made + 1
        await asyncio.sleep(TIMEOUT_S)
        if not self._answer(nth):
            raise StoreError("no answer", reply=self._reply)


class Chunks:
    """A writer that can go on."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def write(self, _data: bytes) -> None:
        try:
            await self._calls()
        except StoreError as error:
            error.can_go_on = error.reply is not Reply.REFUSED
            raise

    async def finish(self) -> Entry:
        raise NotImplementedError

    async def discard(self) -> None:
        raise NotImplementedError


async def asked(calls: Callable[[], Awaitable[None]], pace: Pace) -> None:
    await ask(calls, pace)


async def changed(calls: Callable[[], Awaitable[None]], pace: Pace) -> None:
    async def observe() -> Undone:
        await calls()
        return Undone.UNDONE

    await confirm(Effect(calls, observe, "writing", "a"), pace)


async def written(calls: Calls, pace: Pace) -> None:
    await ConfirmedWriter(Chunks(calls), pace).write(b"1")


async def all_together(one: Callable[[], Awaitable[None]]) -> None:
    async def files() -> AsyncIterator[list[int]]:
        yield list(range(1_000))

    await for_each(files(), lambda _: one(), in_flight_max=IN_FLIGHT)


@pytest.mark.parametrize("reply", [Reply.NOT_DONE, Reply.UNKNOWN])
@pytest.mark.parametrize("calling", [asked, changed, written])
def test_a_store_that_is_silent_is_given_up_by_all_at_once(
    calling: Callable[[Calls, Pace], Awaitable[None]], reply: Reply
) -> None:
    """After little more than one call's tries; each by itself, one after the other, took hours."""
    calls = Calls(lambda _: False, reply)

    async def main() -> None:
        pace = Pace(SYSTEM_IDS)
        with pytest.raises(CommitError):
            await all_together(lambda: calling(calls, pace))

    _, lasted_s = run(main())
    assert lasted_s < 2 * TRIES_MAX * TIMEOUT_S
    assert calls.made < 4 * IN_FLIGHT


class Last:
    """A store that does as it is told, and then lets every request time out."""

    def __init__(self, *answers: Reply | None) -> None:
        self._answers = list(answers)

    async def __call__(self) -> None:
        reply: Reply | None = Reply.UNKNOWN
        lasts_s = TIMEOUT_S
        if self._answers:
            reply, lasts_s = self._answers.pop(0), 0.05
        await asyncio.sleep(lasts_s)
        if reply is not None:
            raise StoreError("no", reply=reply)


@pytest.mark.parametrize(
    "last",
    [
        [*[Reply.NOT_DONE] * IN_FLIGHT, None],
        [Reply.REFUSED] * IN_FLIGHT,
        [*[Reply.NOT_DONE] * 2 * IN_FLIGHT, Reply.REFUSED],
    ],
    ids=["busy", "refusing", "both"],
)
def test_nor_does_it_take_hours_where_it_has_answered_just_before(last: list[Reply | None]) -> None:
    """All that are in flight had failed before that, and nobody began to fail in the silence."""
    calls = Last(*last)

    async def main() -> None:
        pace = Pace(SYSTEM_IDS)
        await asyncio.gather(
            *(changed(calls, pace) for _ in range(IN_FLIGHT)), return_exceptions=True
        )

    _, lasted_s = run(main())
    assert lasted_s < 2 * TRIES_MAX * TIMEOUT_S


@pytest.mark.parametrize("begins_s", [0, 3_600])
def test_a_store_that_answers_nobody_for_seconds_is_waited_for(begins_s: float) -> None:
    """As while an ingress restarts: in turn, the tries of 64 calls last for half a minute.

    Also where the last that was asked of it, an hour before, was not answered either.
    """

    async def call() -> None:
        await asyncio.sleep(0.1)
        if asyncio.get_running_loop().time() < begins_s + 25:
            raise StoreError("503", reply=Reply.NOT_DONE)

    async def main() -> None:
        pace = Pace(SYSTEM_IDS)
        with pytest.raises(StoreError):
            await ask(call, pace)
        await asyncio.sleep(begins_s)
        await all_together(lambda: ask(call, pace))

    run(main())


def test_a_store_that_answers_some_is_not_given_up() -> None:
    """One call in four fails; each is tried until it is answered."""
    chance = random.Random(20261122)
    calls = Calls(lambda _: chance.random() < 3 / 4)

    async def main() -> None:
        pace = Pace(SYSTEM_IDS)
        await all_together(lambda: changed(calls, pace))

    run(main())
    assert calls.made > 1_000


@pytest.mark.parametrize("calling", [asked, changed, written])
def test_whoever_comes_after_the_silence_has_all_its_tries(
    calling: Callable[[Calls, Pace], Awaitable[None]],
) -> None:
    silent = Calls(lambda _: False)
    again = Calls(lambda nth: nth == TRIES_MAX - 1)

    async def main() -> None:
        pace = Pace(SYSTEM_IDS)
        with pytest.raises(CommitError):
            await calling(silent, pace)
        await calling(again, pace)

    run(main())
    assert (silent.made, again.made) == (TRIES_MAX, TRIES_MAX)


@pytest.mark.parametrize("calling", [asked, changed, written])
def test_a_refusal_is_an_answer(calling: Callable[[Calls, Pace], Awaitable[None]]) -> None:
    """Somebody is there: what fails elsewhere is worth its own tries."""
    refused = Calls(lambda _: False, Reply.REFUSED)

    async def main() -> None:
        pace = Pace(SYSTEM_IDS)
        Trouble(pace.silence).failed(Reply.UNKNOWN, is_last=False)
        await asyncio.sleep(LONG_S)
        assert pace.silence.is_long
        with pytest.raises(CommitError):
            await calling(refused, pace)
        assert not pace.silence.is_long

    run(main())


@pytest.mark.parametrize("before", [0, TRIES_MAX - 2])
def test_only_what_had_failed_before_its_second_try_gives_up_with_it(before: int) -> None:
    """Who was turned away by a busy store has asked the silent one twice, and speaks for nobody."""

    async def main() -> bool:
        silence = Silence()
        trouble = Trouble(silence)
        for _ in range(before):
            trouble.failed(Reply.NOT_DONE, is_last=False)
        silence.end()
        other = Trouble(silence)
        other.failed(Reply.UNKNOWN, is_last=False)
        for _ in range(before, TRIES_MAX - 1):
            trouble.failed(Reply.UNKNOWN, is_last=False)
            await asyncio.sleep(LONG_S)
        trouble.failed(Reply.UNKNOWN, is_last=True)
        return other.is_hopeless

    assert run(main())[0] is (not before)


def test_whoever_fails_later_has_all_its_tries() -> None:
    """The one that gives up may be none that anything depends on: a sign of life, say."""
    first = Calls(lambda _: False)
    later = Calls(lambda nth: nth == TRIES_MAX - 1)

    async def main() -> None:
        pace = Pace(SYSTEM_IDS)

        async def begin_later() -> None:
            await asyncio.sleep(3 * TIMEOUT_S)
            await changed(later, pace)

        given_up, _ = await asyncio.gather(
            asked(first, pace), begin_later(), return_exceptions=True
        )
        assert isinstance(given_up, StoreError)

    run(main())
    assert later.made == TRIES_MAX


class Bucket:
    """It serves so many calls a second, whoever asks, and turns the others away."""

    def __init__(self, per_s: float) -> None:
        self._per_s = per_s
        self._room = 0.0
        self._at_s = 0.0

    async def call(self) -> None:
        await asyncio.sleep(0.01)
        now = asyncio.get_running_loop().time()
        self._room = min(self._per_s / 10, self._room + (now - self._at_s) * self._per_s)
        self._at_s = now
        if self._room < 1:
            raise StoreError("slow down", reply=Reply.NOT_DONE)
        self._room -= 1
        await asyncio.sleep(0.04)


def test_a_store_that_turns_some_away_is_asked_in_turn() -> None:
    """Where those that had failed most went first, they had spent their tries too soon."""

    async def main() -> None:
        bucket = Bucket(350)
        paces = [Pace(IdSource(random.Random(job), SYSTEM_IDS.now)) for job in range(10)]

        async def undone() -> Undone:
            raise NotImplementedError

        async def job(pace: Pace) -> None:
            async def files() -> AsyncIterator[range]:
                yield range(100)

            write = Effect(bucket.call, undone, "writing", "a")
            await for_each(files(), lambda _: confirm(write, pace), in_flight_max=IN_FLIGHT)

        await asyncio.gather(*(job(pace) for pace in paces))

    run(main())


@pytest.mark.parametrize("calling", ["ask", "write"])
def test_what_was_sent_does_not_wait_for_the_collector(calling: str) -> None:
    """An error leads to the frame that keeps it: each part sent twice was held, 8 MiB of it."""

    class Part(bytearray):
        pass

    calls = Calls(lambda nth: nth > 0)

    async def main() -> Callable[[], Part | None]:
        pace = Pace(SYSTEM_IDS)
        part = Part()
        if calling == "write":
            await ConfirmedWriter(Chunks(calls), pace).write(cast("bytes", part))
        else:
            await ask(partial(put, part), pace)
        return weakref.ref(part)

    async def put(_part: Part) -> None:
        await calls()

    gc.disable()
    try:
        sent, _ = run(main())
        assert sent() is None
    finally:
        gc.enable()
