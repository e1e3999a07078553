"""Threads for synchronous clients: made when needed, ended when idle, replaced when given up."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from fsspec_commit_stores.hdfs import threads
from fsspec_commit_stores.hdfs.threads import Threads
from fsspec_commit_stores.hdfs.upload import Upload

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


@pytest.fixture
def name() -> str:
    return f"test-{uuid4().hex}"


def alive(name: str) -> int:
    return sum(thread.name == name for thread in threading.enumerate())


def soon(name: str, count: int) -> bool:
    for _ in range(500):
        if alive(name) == count:
            return True
        time.sleep(0.01)
    return False


def test_no_more_calls_run_at_once_than_there_may_be_threads(name: str) -> None:
    pool, running, most = Threads(3, name), 0, 0
    lock = threading.Lock()

    def call() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1

    async def main() -> None:
        await asyncio.gather(*(pool.run(call) for _ in range(20)))

    asyncio.run(main())
    assert most == alive(name) == 3
    pool.close()
    assert soon(name, 0)


def test_idle_threads_end_and_others_take_their_place(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nobody closes them: a job may be dropped."""
    monkeypatch.setattr(threads, "_IDLE_S", 0.02)
    pool = Threads(4, name)

    async def main() -> list[int]:
        return await asyncio.gather(*(pool.run(lambda: 1) for _ in range(8)))

    for _ in range(3):
        assert sum(asyncio.run(main())) == 8
        assert soon(name, 0)


def test_no_call_is_forgotten_while_threads_end(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_IDLE_S", 0.001)
    pool = Threads(4, name)

    async def main() -> None:
        for nth in range(300):
            assert await asyncio.wait_for(pool.run(lambda: nth), 10) == nth  # noqa: B023  # awaited
            await asyncio.sleep(0.001 if nth % 3 else 0)

    asyncio.run(main())
    assert soon(name, 0)


def test_one_that_is_given_up_is_replaced(name: str) -> None:
    pool, release = Threads(1, name), threading.Event()

    async def main() -> int:
        with pytest.raises(TimeoutError):
            await pool.run(release.wait, timeout_s=0.01)
        return await pool.run(lambda: 2)

    assert asyncio.run(main()) == 2
    release.set()
    pool.close()
    assert soon(name, 0)


class Stuck:
    """A call that goes on until it is released, however often it is made."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self._begun = threading.Semaphore(0)

    def __call__(self) -> None:
        self._begun.release()
        self.release.wait()

    async def given_up(self, pool: Threads, *, is_cancelled: bool) -> None:
        """Have it begin in a thread of *pool*, and nobody wait for it any more."""
        call = asyncio.ensure_future(pool.run(self, timeout_s=0.02))
        await asyncio.to_thread(self._begun.acquire)
        if is_cancelled:
            call.cancel()
        await asyncio.wait([call])


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_those_that_are_given_up_keep_no_other_from_beginning(
    name: str, *, is_cancelled: bool
) -> None:
    """Whoever was interrupted while the store was away may want to tell it something after that."""
    pool, stuck = Threads(2, name), Stuck()

    async def main() -> int:
        for _ in range(3):
            await stuck.given_up(pool, is_cancelled=is_cancelled)
        return await pool.run(lambda: 2, timeout_s=10)

    assert asyncio.run(main()) == 2
    stuck.release.set()
    pool.close()
    assert soon(name, 0)


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_when_those_that_were_given_up_have_ended_there_are_no_more_threads_than_before(
    name: str, *, is_cancelled: bool
) -> None:
    """Else a store that was away would be sent more calls at once ever after."""
    pool, stuck = Threads(2, name), Stuck()

    async def main() -> None:
        for _ in range(6):
            await stuck.given_up(pool, is_cancelled=is_cancelled)
        assert alive(name) == 6

    asyncio.run(main())
    stuck.release.set()
    assert soon(name, 2)
    assert asyncio.run(pool.run(lambda: 3)) == 3
    pool.close()
    assert soon(name, 0)


async def by_time(call: Callable[[], None], name: str) -> None:
    pool = Threads(1, name)
    with pytest.raises(TimeoutError):
        await pool.run(call, timeout_s=0.01)
    pool.close()


async def by_cancelling(call: Callable[[], None], name: str) -> None:
    pool = Threads(1, name)
    await cancelled(pool.run(call))
    pool.close()


async def by_dropping(call: Callable[[], None], name: str) -> None:
    del name
    upload = Upload(lambda _: call())
    await upload.write(b"x")
    await cancelled(upload.close())


async def cancelled(calling: Awaitable[None]) -> None:
    called = asyncio.ensure_future(calling)
    await asyncio.sleep(0.02)
    called.cancel()
    await asyncio.wait([called])


@pytest.mark.parametrize("give_up", [by_time, by_cancelling, by_dropping])
def test_what_a_call_fails_for_that_was_given_up_is_not_logged(
    give_up: Callable[[Callable[[], None], str], Awaitable[None]],
    name: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """asyncio wrote it to stderr: whatever text a client makes, under "never retrieved"."""
    failed = threading.Event()

    def fail() -> None:
        time.sleep(0.1)
        failed.set()
        raise ConnectionError("secret")

    async def main() -> None:
        await give_up(fail, name)
        await asyncio.to_thread(failed.wait, 10)
        await asyncio.sleep(0.05)
        gc.collect()

    asyncio.run(main())
    assert [one.message for one in caplog.records if one.name == "asyncio"] == []
