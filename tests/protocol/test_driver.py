"""The driver by itself: from start to end on a loop of its caller's, as a simulator runs it."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.destination import OpenDestination
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.location import locate
from fsspec_commit.names import Target
from fsspec_commit.new_job import open_new_job
from fsspec_commit.protocol.attempt import commit_attempt
from fsspec_commit.protocol.driver import Driver
from tests.scenes.memory_place import MemoryPlace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from fsspec_commit.options import JobOptions
    from fsspec_commit.records.job import TaskCommit


@pytest.fixture
def out() -> Iterator[MemoryPlace]:
    out = MemoryPlace()
    yield out
    out.remove()


@pytest.fixture(autouse=True)
def no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        pytest.fail(f"{thread.name} was started")

    monkeypatch.setattr(threading.Thread, "start", refuse)


async def started(out: MemoryPlace) -> Driver:
    driver = Driver()
    options: JobOptions = {"mode": "append", "names": "exact"}
    new = await open_new_job(locate(out.url), options, ids=SYSTEM_IDS)
    await driver.start(new.store, new.with_new_id)
    return driver


async def write(driver: Driver) -> TaskCommit:
    job = driver.started()
    layout = job.layout.attempt(0, job.store.ids.attempt_id())
    output = job.committer.attempt(layout)
    writer = output.writer(Target("a.txt"))
    await writer.write(b"a")
    await writer.finish()
    return await commit_attempt(layout, output, job.store, rows=1, collect=job.record.collect)


async def commit(driver: Driver) -> None:
    message = await write(driver)
    assert await driver.commit([message], wait_s=0)
    assert not await driver.commit([message], wait_s=0)
    assert driver.state == "committed"
    assert driver.result is not None
    assert driver.result.rows == 1


async def abort(driver: Driver) -> None:
    message = await write(driver)
    assert await driver.abort()
    assert not await driver.abort()
    assert driver.state == "aborted"
    with pytest.raises(RuntimeError, match="is aborted"):
        await driver.commit([message], wait_s=0)


@pytest.mark.parametrize(
    ("settle", "left"), [(commit, {"_SUCCESS": b"", "a.txt": b"a"}), (abort, {})]
)
def test_a_whole_job_takes_a_loop_and_no_thread(
    out: MemoryPlace, settle: Callable[[Driver], Awaitable[None]], left: dict[str, bytes]
) -> None:
    async def job() -> None:
        driver = await started(out)
        assert driver.state == "open"
        await settle(driver)

    asyncio.run(job())
    assert out.data() == left


def test_what_is_interrupted_before_there_is_a_job_leaves_no_store_open(
    out: MemoryPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[ConfirmedStore] = []

    async def wait(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    async def close(store: ConfirmedStore) -> None:
        closed.append(store)

    monkeypatch.setattr(OpenDestination, "select", wait)
    monkeypatch.setattr(ConfirmedStore, "close", close)

    async def interrupted() -> None:
        opening = asyncio.create_task(open_new_job(locate(out.url), {}, ids=SYSTEM_IDS))
        await asyncio.sleep(0)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

    asyncio.run(interrupted())
    assert len(closed) == 1
