"""merged: several streams as one, bounded, and none left open."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.effects import merging
from fsspec_commit.effects.ending import ending
from fsspec_commit.effects.merging import merged
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable


def each_of(items: Iterable[int]) -> Callable[[], int | None]:
    coming = iter(items)
    return lambda: next(coming, None)


class Streams:
    """Streams of so many numbers each, of which one takes a second to arrive.

    Attributes:
        open: How many are open now.
        most: How many were open at once.
        arrived: How many numbers have arrived.
        failing: After how many numbers a stream fails, by its length.
    """

    def __init__(self, *, failing: dict[int, int] | None = None) -> None:
        self.open = self.most = self.arrived = 0
        self.failing = failing or {}

    async def __call__(self, length: int) -> AsyncIterator[int]:
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            for number in range(length):
                await asyncio.sleep(1)
                if self.failing.get(length) == number:
                    raise ValueError(length)
                self.arrived += 1
                yield length
        finally:
            self.open -= 1


@pytest.mark.parametrize(
    ("lengths", "at_once", "seconds"),
    [
        ([], 2, 0),
        ([0], 2, 0),
        ([5], 2, 5),
        ([5, 5, 5], 3, 5),
        ([9, 1, 1, 1, 1], 2, 9),
        ([2] * 6, 2, 6),
    ],
)
def test_each_stream_is_whole_and_they_run_side_by_side(
    lengths: list[int], at_once: int, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "_BATCH_MAX", 2)

    async def main() -> list[int]:
        return [
            one
            async for batch in merged(each_of(lengths), streams, in_flight_max=at_once)
            for one in batch
        ]

    streams = Streams()
    found, took = run(main())
    assert sorted(found) == sorted(length for length in lengths for _ in range(length))
    assert (took, streams.open) == (seconds, 0)
    assert streams.most == min(at_once, len(lengths))


def test_who_takes_them_slowly_holds_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "_BATCH_MAX", 2)

    async def main() -> int:
        taken = most = 0
        async for batch in merged(each_of([1_000] * 4), streams, in_flight_max=4):
            await asyncio.sleep(50)
            most = max(most, streams.arrived - taken)
            taken += len(batch)
        assert taken == 4_000
        return most

    streams = Streams()
    most, _ = run(main())
    # Four batches wait, and each stream holds one; and one has just been taken.
    assert most <= 2 * (4 + 4 + 1)


def test_what_a_stream_shows_may_lead_to_more() -> None:
    """Also where no other one is open any more, and where one that has begun adds some late."""
    waiting = [3]

    async def stream(length: int) -> AsyncIterator[int]:
        async for one in streams(length):
            yield one
        if length > 1:
            waiting.extend([length - 1] * 2)

    async def main() -> list[int]:
        merging = merged(lambda: waiting.pop() if waiting else None, stream, in_flight_max=2)
        return [one async for batch in merging for one in batch]

    streams = Streams()
    found, took = run(main())
    assert sorted(found) == sorted([3] * 3 + [2] * 4 + [1] * 4)
    # The first alone; its two at once; their four two at a time.
    assert took == 3 + 2 + 2


@pytest.mark.parametrize("count", [0, 1, 3])
def test_an_error_of_who_says_what_to_open_is_raised(count: int) -> None:
    items = [5] * count

    def take() -> int:
        if not items:
            raise ValueError(count)
        return items.pop()

    async def main() -> None:
        async for _ in merged(take, streams, in_flight_max=2):
            pass

    streams = Streams()
    with pytest.raises(ValueError, match=str(count)):
        run(main())
    assert streams.open == 0


def test_after_an_error_nothing_starts_and_the_others_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "_BATCH_MAX", 2)
    begun: list[int] = []

    async def stream(length: int) -> AsyncIterator[int]:
        begun.append(length)
        async for one in streams(length):
            yield one

    async def main() -> None:
        async for _ in merged(each_of([1_000, 5, 900, 800]), stream, in_flight_max=2):
            pass

    streams = Streams(failing={5: 3})
    with pytest.raises(ValueError, match=r"^5$"):
        run(main())
    assert begun == [1_000, 5]
    assert streams.open == 0
    assert streams.arrived < 10


@pytest.mark.parametrize("cancelled", [False, True])
def test_who_stops_leaves_none_open(cancelled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "_BATCH_MAX", 2)

    async def main() -> None:
        batches = merged(each_of([1_000] * 8), streams, in_flight_max=4)
        if not cancelled:
            async for _ in batches:
                break
            await batches.aclose()  # type: ignore[attr-defined]  # it is a generator
            return

        async def take() -> None:
            async for _ in batches:
                pass

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(take(), 10)

    streams = Streams()
    run(main())
    assert (streams.open, streams.most) == (0, 4)


@pytest.mark.parametrize("ends", [False, True], ids=["that go on", "that end"])
def test_streams_that_miss_their_cancellation_are_closed(ends: bool) -> None:
    """As one does that `asyncio.wait_for` of Python 3.11 waits in, if its answer has just come."""
    begun: list[int] = []

    async def deaf(number: int) -> AsyncIterator[int]:
        begun.append(number)
        yield number
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(1_000)
                continue
            if ends:
                return
            for _ in range(merging._BATCH_MAX):
                yield number

    async def main() -> None:
        async def take() -> None:
            async for _ in merged(each_of(range(9)), deaf, in_flight_max=3):
                pass

        async with asyncio.timeout(10):
            taking = asyncio.create_task(take())
            await asyncio.sleep(1)
            taking.cancel()
            await asyncio.wait([taking])
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(main())
    assert begun == [0, 1, 2]


def test_who_is_cancelled_again_leaves_none_open() -> None:
    """Streams may be waited for once they are cancelled; a second time they are given up."""
    ended: list[float] = []

    async def slow_to_end(_: int) -> AsyncIterator[int]:
        try:
            await asyncio.sleep(100)
            yield 1
        finally:
            try:
                await asyncio.sleep(100)
            finally:
                ended.append(asyncio.get_running_loop().time())

    async def main() -> None:
        async def take() -> None:
            streams = merged(each_of([1, 2, 3]), slow_to_end, in_flight_max=3)
            async with ending(streams) as batches:
                async for _ in batches:
                    pass

        taking = asyncio.create_task(take())
        for _ in range(2):
            await asyncio.sleep(1)
            taking.cancel()
        await asyncio.wait([taking])
        assert ended == [2, 2, 2]

    run(main())
