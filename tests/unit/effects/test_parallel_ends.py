"""How work at once ends, by an error or a cancellation: all of it, and no later than it must."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.effects.parallel import ended, for_each, stop
from tests.unit.effects.virtual_time import run
from tests.unit.effects.work import Work

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


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
