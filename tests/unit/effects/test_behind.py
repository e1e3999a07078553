"""What is on its way: within bounds, awaited once it is sent, and dropped if it fails."""

from __future__ import annotations

import asyncio
import inspect
import traceback
import weakref
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.effects.behind import behind
from fsspec_commit.effects.budget import Budget
from fsspec_commit.effects.confirm import to_its_end
from fsspec_commit.errors import Reply, StoreError
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Coroutine

REFUSED = StoreError("no", reply=Reply.REFUSED)


class Data:
    """What is sent, and is gone once nobody holds it."""


class Sent:
    """A request that takes ten seconds, and what has become of it."""

    def __init__(self, error: Exception | None = None) -> None:
        self.is_answered = False
        self._error = error

    async def __call__(self) -> str:
        await asyncio.sleep(10)
        self.is_answered = True
        if self._error is not None:
            raise self._error
        return "answer"


async def cancelled(calling: Coroutine[object, object, object], *, times: int) -> float:
    """When a call ends that is cancelled after a second, and each second from then on."""
    begin = asyncio.get_running_loop().time()
    call = asyncio.ensure_future(calling)
    for _ in range(times):
        await asyncio.sleep(1)
        call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    return asyncio.get_running_loop().time() - begin


class TestToItsEnd:
    def test_nobody_interferes(self) -> None:
        assert run(to_its_end(Sent()()))[0] == "answer"
        with pytest.raises(StoreError) as caught:
            run(to_its_end(Sent(REFUSED)()))
        assert caught.value is REFUSED

    @pytest.mark.parametrize("error", [None, REFUSED])
    def test_who_is_cancelled_waits_for_the_answer(self, error: Exception | None) -> None:
        sent = Sent(error)
        assert run(cancelled(to_its_end(sent()), times=1))[0] == 10
        assert sent.is_answered

    @pytest.mark.parametrize("error", [None, REFUSED])
    def test_and_who_is_cancelled_twice_does_not(self, error: Exception | None) -> None:
        """The request goes on all the same, and its error is nobody's."""
        sent, seen = Sent(error), list[object]()

        async def main() -> float:
            asyncio.get_running_loop().set_exception_handler(lambda _, what: seen.append(what))
            took = await cancelled(to_its_end(sent()), times=2)
            assert not sent.is_answered
            await asyncio.sleep(20)
            return took

        assert run(main())[0] == 2
        assert sent.is_answered
        assert seen == []


async def ended(call: Coroutine[object, object, object], told: list[BaseException | None]) -> None:
    """Wait for the end of a call that goes on behind, and leaves nothing."""

    async def drop() -> None:
        pass

    await asyncio.wait([behind(call, drop, told.append)])


class TestBehind:
    @pytest.mark.parametrize("drop_fails", [False, True])
    def test_what_fails_is_dropped_and_told(self, drop_fails: bool) -> None:
        """As it failed, whether or not it could be dropped."""
        told, dropped = list[BaseException | None](), list[str]()

        async def drop() -> None:
            dropped.append("it")
            if drop_fails:
                raise StoreError("the store is down", reply=Reply.REFUSED)

        async def main() -> None:
            await asyncio.wait([behind(Sent(REFUSED)(), drop, told.append)])

        run(main())
        assert dropped == ["it"]
        assert told == [REFUSED]

    def test_what_is_stored_is_not_dropped(self) -> None:
        told = list[BaseException | None]()

        async def drop() -> None:
            raise AssertionError("it is stored")

        async def main() -> str:
            return await behind(Sent()(), drop, told.append)

        assert run(main())[0] == "answer"
        assert told == [None]

    def test_what_is_cancelled_is_dropped(self) -> None:
        told, dropped = list[BaseException | None](), list[str]()

        async def drop() -> None:
            dropped.append("it")

        async def main() -> None:
            going_on = behind(Sent()(), drop, told.append)
            await asyncio.sleep(1)
            going_on.cancel()
            await asyncio.wait([going_on])

        run(main())
        assert dropped == ["it"]
        assert [type(one) for one in told] == [asyncio.CancelledError]

    def test_what_is_cancelled_before_it_begins_has_nothing_to_drop(self) -> None:
        """And nobody is warned of it."""
        told, seen, sent = list[BaseException | None](), list[object](), Sent()

        async def drop() -> None:
            raise AssertionError("it has not begun")

        async def main() -> Coroutine[Any, Any, str]:
            asyncio.get_running_loop().set_exception_handler(lambda _, what: seen.append(what))
            call = sent()
            going_on = behind(call, drop, told.append)
            going_on.cancel()
            await asyncio.wait([going_on])
            return call

        call, _ = run(main())
        assert inspect.getcoroutinestate(call) == inspect.CORO_CLOSED
        assert seen == []
        assert [type(one) for one in told] == [asyncio.CancelledError]

    def test_errors_that_are_causes_of_each_other(self) -> None:
        told = list[BaseException | None]()
        one, other = OSError("one"), OSError("other")
        one.__cause__, other.__cause__ = other, one

        async def call() -> None:
            raise one

        run(ended(call(), told))
        assert told == [one]

    def test_what_was_sent_is_not_kept_for_the_error(self) -> None:
        """By its frames, whatever it was raised from; the way that it took is."""
        told, sent = list[BaseException | None](), list[weakref.ref[object]]()

        async def call(data: object) -> None:
            sent.append(weakref.ref(data))
            try:
                await Sent(REFUSED)()
            except StoreError as error:
                raise OSError("the disk") from error

        run(ended(call(Data()), told))
        (error,) = told
        assert error is not None
        assert "call" in {step.name for step in traceback.extract_tb(error.__traceback__)}
        assert sent[0]() is None

    def test_a_call_that_shares_the_error_goes_on(self) -> None:
        """A client may raise the same object in each of its calls, and some try again."""
        told, order = list[BaseException | None](), list[str]()
        shared = OSError("no credentials")

        async def patient() -> None:
            try:
                raise shared
            except OSError:
                await asyncio.sleep(10)
            order.append("patient")

        async def call() -> None:
            await asyncio.sleep(1)
            raise shared

        async def main() -> None:
            going_on = asyncio.ensure_future(patient())
            await ended(call(), told)
            order.append("call")
            await asyncio.wait([going_on], timeout=100)

        run(main())
        assert order == ["call", "patient"]
        assert told == [shared]


class TestBudget:
    def test_files_are_counted_beside_their_bytes(self) -> None:
        async def main() -> None:
            budget, order = Budget(10, 2), list[str]()

            async def take(name: str, size_bytes: int, files: int) -> None:
                await budget.take(size_bytes, files=files)
                order.append(name)

            await take("a", 0, 1)
            await take("b", 1, 1)
            waiting = [asyncio.ensure_future(take(*one)) for one in [("c", 0, 1), ("a part", 1, 0)]]
            await asyncio.sleep(1)
            assert order == ["a", "b"]
            budget.give_back(0, files=1)
            await asyncio.wait(waiting)
            assert order == ["a", "b", "c", "a part"]
            part = asyncio.ensure_future(take("a larger part", 9, 0))
            await asyncio.sleep(1)
            assert not part.done()
            budget.give_back(1, files=1)
            await part

        run(main())

    def test_room_that_was_given_to_one_who_is_gone_is_for_the_next(self) -> None:
        async def main() -> None:
            budget = Budget(10, 1)
            await budget.take(0, files=1)
            first, second = (asyncio.ensure_future(budget.take(0, files=1)) for _ in range(2))
            await asyncio.sleep(0)
            budget.give_back(0, files=1)
            first.cancel()
            await second
            assert first.cancelled()

        run(main())
