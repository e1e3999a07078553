"""Calls at once: none is left behind, and the worst of their errors is raised."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.effects.parallel import both, stop
from fsspec_commit.errors import (
    CommitError,
    CommitFailedError,
    CommitStateUnknownError,
    PartialCommitError,
    StoreError,
)
from fsspec_commit.testing import Crash
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Sequence


class Calls:
    """Calls that take their time, and note when they end.

    Attributes:
        ended: The names of those that have ended, in order.
    """

    def __init__(self) -> None:
        self.ended: list[str] = []

    async def call(self, name: str, seconds: float, error: BaseException | None = None) -> str:
        try:
            await asyncio.sleep(seconds)
        finally:
            self.ended.append(name)
        if error is not None:
            raise error
        return name


def test_both_run_at_once() -> None:
    calls = Calls()
    answers, took_s = run(both(calls.call("a", 2), calls.call("b", 1)))
    assert (answers, took_s, calls.ended) == (("a", "b"), 2, ["b", "a"])


@pytest.mark.parametrize("seconds", [(1, 2), (2, 1)])
def test_after_an_error_the_other_is_awaited(seconds: Sequence[float]) -> None:
    calls = Calls()
    with pytest.raises(StoreError, match="no"):
        run(both(calls.call("a", seconds[0], StoreError("no")), calls.call("b", seconds[1])))
    assert sorted(calls.ended) == ["a", "b"]


ERRORS: tuple[BaseException, ...] = (
    CommitFailedError("nothing happened"),
    StoreError("nor here"),
    RuntimeError("a bug"),
    PartialCommitError("some"),
    CommitStateUnknownError("who knows"),
    Crash("the end"),
)
"""From one that says that nothing has happened to one that says nothing."""


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("better", "worse"), [(0, 2), (0, 3), (0, 4), (1, 4), (2, 4), (3, 4), (4, 5), (0, 5)]
)
def test_an_error_does_not_hide_a_worse_one(better: int, worse: int, *, swapped: bool) -> None:
    """Whichever comes first, and whichever is named first."""
    calls = Calls()
    named: list[Any] = [calls.call("a", 1, ERRORS[better]), calls.call("b", 2, ERRORS[worse])]
    one, other = reversed(named) if swapped else named
    with pytest.raises(type(ERRORS[worse])) as caught:
        run(both(one, other))
    assert caught.value is ERRORS[worse]


@pytest.mark.parametrize("swapped", [False, True])
def test_of_errors_alike_the_first_named_is_raised(*, swapped: bool) -> None:
    calls, errors = Calls(), (CommitFailedError("a"), StoreError("b"))
    one, other = reversed(errors) if swapped else errors
    with pytest.raises(CommitError) as caught:
        run(both(calls.call("a", 1, one), calls.call("b", 2, other)))
    assert caught.value is one


def test_who_is_cancelled_leaves_neither_behind() -> None:
    """Nor who is cancelled again, while one of them still cleans up."""

    class Slow(Calls):
        async def call(self, name: str, seconds: float, error: BaseException | None = None) -> str:
            try:
                await asyncio.sleep(seconds)
            except asyncio.CancelledError:
                await asyncio.sleep(1)
                raise
            finally:
                self.ended.append(name)
            return name

    calls = Slow()

    async def main() -> float:
        loop = asyncio.get_running_loop()
        running = asyncio.ensure_future(both(calls.call("a", 90), calls.call("b", 90)))
        await asyncio.sleep(1)
        running.cancel()
        await asyncio.sleep(0.5)
        with pytest.raises(asyncio.CancelledError):
            await running
        assert calls.ended == ["a", "b"]
        return loop.time()

    assert run(main())[0] == 2


def test_who_is_cancelled_again_waits_until_both_have_ended() -> None:
    calls = Calls()

    async def stubborn(name: str) -> str:
        for _ in range(2):
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                await calls.call(f"{name} was told", 0)
        return await calls.call(name, 3)

    async def main() -> float:
        running = asyncio.ensure_future(both(stubborn("a"), stubborn("b")))
        for _ in range(2):
            await asyncio.sleep(1)
            running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert calls.ended[-2:] == ["a", "b"]
        return asyncio.get_running_loop().time()

    assert run(main())[0] == 5


def test_an_error_of_one_is_no_more_than_that_of_a_cancelled_other() -> None:
    """One that cancels itself says nothing of what has happened."""

    async def cancels() -> None:
        raise asyncio.CancelledError

    calls = Calls()
    with pytest.raises(asyncio.CancelledError):
        run(both(calls.call("a", 1, StoreError("no")), cancels()))
    assert calls.ended == ["a"]


@pytest.mark.parametrize("interrupted", [True, False])
def test_what_is_stopped_has_ended(interrupted: bool) -> None:
    """All together, each told once, also if who waits for that is told to stop as well."""
    told = list[int]()

    async def ends_late(number: int) -> None:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            told.append(number)
            await asyncio.sleep(2)
            raise

    async def main() -> None:
        calls = [asyncio.ensure_future(ends_late(number)) for number in range(3)]
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        await asyncio.sleep(1)
        stopping = asyncio.ensure_future(stop(*calls, done))
        for _ in range(2 * interrupted):
            await asyncio.sleep(0.5)
            stopping.cancel()
        await asyncio.wait([stopping])
        assert stopping.cancelled() == interrupted
        assert all(call.cancelled() for call in calls)

    _, took_s = run(main())
    assert (took_s, told) == (3, [0, 1, 2])
