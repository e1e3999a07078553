"""for_each: bounded, streaming, and nothing left running behind an error."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsspec_commit.effects.parallel import all_of, ended, for_each, stop
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence


class Work:
    """Items that take a second each; item 13 fails at once, if it is told to.

    Attributes:
        started: Which have begun.
        ended: Which have ended.
        most: How many were under way at once.
        fetched: How many batches were fetched, by then.
    """

    def __init__(self, *, failing: dict[int, BaseException] | None = None) -> None:
        self.failing = failing or {}
        self.started: list[int] = []
        self.ended: list[int] = []
        self.running = self.most = self.fetched = 0
        self.ahead = 0

    async def __call__(self, item: int) -> None:
        self.started.append(item)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if item in self.failing:
                await asyncio.sleep(0.5)
                raise self.failing[item]
            await asyncio.sleep(1)
            self.ended.append(item)
        finally:
            self.running -= 1

    async def batches(self, sizes: Sequence[int]) -> AsyncIterator[list[int]]:
        first = 0
        for size in sizes:
            self.fetched += size
            self.ahead = max(self.ahead, self.fetched - len(self.started))
            yield list(range(first, first + size))
            first += size


@given(st.lists(st.integers(0, 7), max_size=12), st.integers(1, 6))
def test_every_item_is_run_once_and_as_many_at_once_as_allowed(sizes: list[int], most: int) -> None:
    work = Work()
    told: list[int] = []
    total = sum(sizes)
    done, took = run(for_each(work.batches(sizes), work, in_flight_max=most, progress=told.append))
    assert done == total
    assert sorted(work.ended) == list(range(total))
    # However the items are cut into batches, all slots are used.
    assert work.most == min(most, total)
    assert took == -(-total // most)
    assert sum(told) == total
    # One batch in hand at most, besides what is under way.
    assert work.ahead <= max(sizes, default=0)


def test_after_the_first_error_nothing_starts_and_all_ends() -> None:
    error = RuntimeError("first")
    work = Work(failing={2: error, 3: RuntimeError("second")})
    with pytest.raises(RuntimeError) as caught:
        run(for_each(work.batches([3] * 10), work, in_flight_max=4))
    assert caught.value is error
    assert work.started == [0, 1, 2, 3]
    assert sorted(work.ended) == [0, 1]
    assert work.running == 0


class Crash(BaseException):
    pass


def test_a_crash_is_an_error_like_any_other() -> None:
    work = Work(failing={0: Crash()})
    with pytest.raises(Crash):
        run(for_each(work.batches([5, 5]), work, in_flight_max=2))
    assert (work.started, work.ended, work.running) == ([0, 1], [1], 0)


def test_an_error_of_the_source_ends_it_too() -> None:
    work = Work()

    async def torn() -> AsyncIterator[list[int]]:
        async for batch in work.batches([2, 2]):
            yield batch
        raise ValueError("torn")

    with pytest.raises(ValueError, match="torn"):
        run(for_each(torn(), work, in_flight_max=2))
    assert work.running == 0
    assert sorted(work.ended) == work.started == [0, 1, 2, 3]


def test_an_error_of_progress_ends_it_too() -> None:
    work = Work()

    def fail(_: int) -> None:
        raise KeyError("progress")

    with pytest.raises(KeyError):
        run(for_each(work.batches([9]), work, in_flight_max=3, progress=fail))
    assert work.running == 0
    assert len(work.started) <= 6


def test_cancelling_stops_what_is_in_flight_and_waits_for_it() -> None:
    work = Work()

    async def main() -> None:
        running = asyncio.ensure_future(for_each(work.batches([9, 9]), work, in_flight_max=3))
        await asyncio.sleep(1.5)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert work.running == 0
        assert (len(work.ended), len(work.started)) == (3, 6)
        await asyncio.sleep(10)
        assert len(work.started) == 6

    run(main())


def test_cancelling_awaits_what_cannot_be_cancelled() -> None:
    ended: list[int] = []

    async def stubborn(item: int) -> None:
        thread = asyncio.ensure_future(asyncio.sleep(5))
        try:
            await asyncio.shield(thread)
        except asyncio.CancelledError:
            await thread
            raise
        finally:
            ended.append(item)

    async def main() -> None:
        running = asyncio.ensure_future(for_each(Work().batches([4]), stubborn, in_flight_max=2))
        await asyncio.sleep(1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert ended == [0, 1]
        assert asyncio.get_running_loop().time() == 5

    run(main())


def test_items_that_never_wait_let_the_loop_run() -> None:
    async def main() -> int:
        count = 0

        async def instant(_: int) -> None:
            nonlocal count
            count += 1

        async def endless() -> AsyncIterator[list[int]]:
            while True:
                yield [1] * 1000

        running = asyncio.ensure_future(for_each(endless(), instant, in_flight_max=4))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return count

    assert 0 < run(main())[0] < 5_000


def test_nothing_is_nothing() -> None:
    work = Work()
    assert run(for_each(work.batches([]), work, in_flight_max=3)) == (0, 0)
    assert run(for_each(work.batches([0, 0]), work, in_flight_max=3)) == (0, 0)


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 5))
def test_all_answers_come_in_the_order_of_their_items(delays: list[int], most: int) -> None:
    async def answer(delay: int) -> int:
        await asyncio.sleep(delay)
        return delay

    answers, _ = run(all_of(delays, answer, in_flight_max=most))
    assert answers == delays


def test_after_an_error_there_is_no_answer_and_all_has_ended() -> None:
    work = Work(failing={13: LookupError("boom")})
    with pytest.raises(LookupError, match="boom"):
        run(all_of([1, 13, 2, 3], work, in_flight_max=2))
    assert work.running == 0
    assert set(work.started) <= {1, 2, 13}


def test_many_that_take_no_time_wait_for_nothing() -> None:
    async def nothing(_: int) -> None:
        return

    assert run(all_of(range(5_000), nothing, in_flight_max=2))[1] == 0


@pytest.mark.parametrize("count", range(4))
@pytest.mark.parametrize("known", [True, False])
def test_each_of_few_items_counts(count: int, *, known: bool) -> None:
    """Also a single one, which takes no other task."""

    async def main() -> None:
        work, told = Work(), list[int]()
        items = range(count) if known else work.batches([1] * count)
        assert await for_each(items, work, in_flight_max=9, progress=told.append) == count
        assert (work.ended, told) == ([*range(count)], [1] * count)

    run(main())


@pytest.mark.parametrize("items", [[13], [13, 1]])
def test_an_error_of_few_items_is_raised(items: list[int]) -> None:
    for error in (LookupError("boom"), Crash()):
        with pytest.raises(type(error)) as caught:
            run(for_each(items, Work(failing={13: error}), in_flight_max=4))
        assert caught.value is error


@pytest.mark.parametrize(("count", "workers"), [(1, 0), (2, 2), (5, 5), (9, 6)])
def test_there_are_as_many_workers_as_items_and_as_may_be(count: int, workers: int) -> None:
    async def main() -> None:
        most = 0

        async def look(_: int) -> None:
            nonlocal most
            await asyncio.sleep(1)
            most = max(most, len(asyncio.all_tasks()) - 1)

        await for_each(range(count), look, in_flight_max=6)
        assert most == workers

    assert run(main())[1] == -(-count // 6)


def test_items_that_never_wait_take_two_workers() -> None:
    """Each starts one more at most, when it finds that there is work."""

    async def main() -> None:
        most = 0

        async def look(_: int) -> None:
            nonlocal most
            most = max(most, len(asyncio.all_tasks()) - 1)

        await for_each(Work().batches([1] * 100), look, in_flight_max=50)
        assert most <= 2

    run(main())


def test_a_slow_source_is_asked_by_one_at_a_time() -> None:
    async def slow() -> AsyncIterator[list[int]]:
        for number in range(6):
            await asyncio.sleep(1)
            yield [number] * 2

    async def main() -> None:
        work = Work()
        assert await for_each(slow(), work, in_flight_max=4) == 12
        assert sorted(work.ended) == sorted([*range(6)] * 2)

    run(main())


def test_after_an_error_no_more_is_fetched() -> None:
    work = Work(failing={0: LookupError("boom")})
    with pytest.raises(LookupError):
        run(for_each(work.batches([1] * 50), work, in_flight_max=2))
    assert work.fetched <= 3


@pytest.mark.parametrize("before", [0, 1, 3])
def test_an_error_of_items_that_come_one_by_one_ends_it_too(before: int) -> None:
    def torn() -> Iterator[int]:
        yield from range(before)
        raise ValueError("torn")

    work = Work()
    with pytest.raises(ValueError, match="torn"):
        run(for_each(torn(), work, in_flight_max=2))
    assert work.running == 0
    assert sorted(work.ended) == work.started == [*range(before)]


def test_cancelling_awaits_the_slowest() -> None:
    """Each has something to put in order, which takes another time."""
    ended: list[int] = []

    async def orderly(item: int) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(item)
            ended.append(item)

    async def main() -> None:
        running = asyncio.ensure_future(for_each([1, 2, 3, 4], orderly, in_flight_max=3))
        await asyncio.sleep(1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert ended == [1, 2, 3]

    run(main())


@pytest.mark.parametrize("first", ["cancelled", "failed"])
def test_who_is_cancelled_while_all_is_ended_waits_for_no_more_than_that(first: str) -> None:
    """What takes its time to end is cancelled itself, and awaited; so a second Ctrl-C is heard."""
    ended: list[int] = []

    async def slow_to_end(item: int) -> None:
        try:
            if item == 1 and first == "failed":
                raise ValueError(item)
            await asyncio.sleep(1 if first == "failed" else 100)
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            if first == "cancelled":
                await asyncio.sleep(100)
            raise
        finally:
            ended.append(item)

    async def main() -> None:
        running = asyncio.ensure_future(for_each(Work().batches([4]), slow_to_end, in_flight_max=3))
        await asyncio.sleep(1)
        if first == "cancelled":
            running.cancel()
        await asyncio.sleep(1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert sorted(ended) == ([0, 1, 2] if first == "cancelled" else [0, 1])
        assert asyncio.get_running_loop().time() == 2

    run(main())


@pytest.mark.parametrize("end", [stop, lambda call: ended([call])])
def test_nobody_complains_of_an_error_of_what_is_stopped(
    end: Callable[[asyncio.Future[None]], Awaitable[None]],
) -> None:
    """A client may answer its cancellation by an error, whose text may hold a secret."""
    complaints: list[object] = []

    async def refuse() -> None:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            raise LookupError("of its own") from None

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: complaints.append(told))
        call = asyncio.create_task(refuse())
        await asyncio.sleep(1)
        call.cancel()
        await end(call)
        assert call.done()
        del call
        gc.collect()
        assert complaints == []

    run(main())


def test_what_nobody_wants_any_more_is_not_fetched_to_its_end() -> None:
    """An error is told at once, and not when the next batch has come."""
    work = Work(failing={0: LookupError("boom")})
    ended: list[str] = []

    async def batches() -> AsyncIterator[list[int]]:
        yield [0, 1]
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            ended.append("given up")
            raise
        finally:
            ended.append("closed")

    async def main() -> None:
        with pytest.raises(LookupError):
            await for_each(batches(), work, in_flight_max=3)
        assert asyncio.get_running_loop().time() == 1, "when what was in flight has ended"
        assert (work.ended, work.running, ended) == ([1], 0, ["given up", "closed"])

    run(main())


@pytest.mark.parametrize("fails", [False, True])
def test_an_error_of_closing_hides_none_that_came_before(fails: bool) -> None:
    work = Work(failing={0: LookupError("first")} if fails else None)

    async def batches() -> AsyncIterator[list[int]]:
        try:
            yield [0]
            yield [1]
            await asyncio.sleep(100)
        finally:
            raise ValueError("closing")

    with pytest.raises(LookupError if fails else ValueError):
        run(for_each(batches(), work, in_flight_max=2))
    assert work.running == 0


@pytest.mark.parametrize("ends", ["failed", "cancelled", "cancelled twice"])
@pytest.mark.parametrize("most", [1, 2, 9])
def test_what_the_batches_come_from_is_closed(ends: str, most: int) -> None:
    """Where all are at work nobody waits for the next batch, which may be on its way."""
    work = Work(failing={1: ValueError("no")} if ends == "failed" else None)
    closed: list[int] = []
    complaints: list[object] = []

    async def batches() -> AsyncIterator[list[int]]:
        try:
            for first in (0, 4, 8):
                yield list(range(first, first + 4))
        finally:
            closed.append(work.running)

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: complaints.append(told))
        working = asyncio.create_task(for_each(batches(), work, in_flight_max=most))
        await asyncio.sleep(0.2)
        if "cancelled" in ends:
            working.cancel()
        if ends == "cancelled twice":
            await asyncio.sleep(0)
            working.cancel()
        await asyncio.wait([working])
        assert closed == [0], "after all else"
        assert working.cancelled() == ("cancelled" in ends)
        assert working.cancelled() or isinstance(working.exception(), ValueError)
        work.failing.clear()
        del working  # Its error leads to the workers.
        gc.collect()
        assert complaints == []

    run(main())
