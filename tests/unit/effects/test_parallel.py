"""for_each: bounded, streaming, and nothing left running behind an error."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsspec_commit.effects.parallel import all_of, for_each
from tests.unit.effects.virtual_time import run
from tests.unit.effects.work import Work

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


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
