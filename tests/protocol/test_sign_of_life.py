"""An older job gets past a newer one that is dead, and waits for one that lives (P8, P11)."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Event
from typing import TYPE_CHECKING, TypeVar

import fsspec
import pytest

import fsspec_commit as fc
from fsspec_commit.protocol import sign_of_life
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash
from fsspec_commit.testing.wrapped import WrappedStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from fsspec_commit.layout import StorePath

T = TypeVar("T")

pytestmark = pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times as fast."""
    for name in ("BEAT_S", "FENCE_S"):
        monkeypatch.setattr(sign_of_life, name, getattr(sign_of_life, name) / 10)


class Slow:
    """A driver that stays in its listing for a while, or for ever."""

    def __init__(self) -> None:
        self.listing = Event()
        self.work_s = 0.0
        self.dies = False
        self.signs = set[str]()
        self._standing = set[str]()
        self._has_claimed = False
        self.standing_max = 0

    @contextmanager
    def opened(self) -> Iterator[None]:
        with wrapping(lambda store: WrappedStore(store, self._carry)):
            yield

    async def _carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "list_tree" and path.endswith("/out") and self._has_claimed:
            self.listing.set()
            if self.dies:
                raise Crash(verb)
            await asyncio.sleep(self.work_s)
        answer = await call()
        self._has_claimed |= verb == "create" and "/claim-" in path
        if "/alive-" in path and verb == "create":
            self.signs.add(path)
            self._standing.add(path)
        elif "/alive-" in path and verb == "delete":
            self._standing.remove(path)
        self.standing_max = max(self.standing_max, len(self._standing))
        return answer


class Jobs:
    """Jobs that overwrite one destination, by age; the newest has a driver that is slow."""

    def __init__(self, url: str, slow: Slow, older: int = 1, wait_s: float = 60) -> None:
        jobs = [fc.Job(url, mode="overwrite", wait_s=wait_s).start() for _ in range(older + 1)]
        *self.older, newest = sorted(jobs, key=lambda job: job.job_id)
        for job in self.older:
            write(job.task(0), "older")
        with slow.opened():
            self.newest = fc.Job.from_spec(newest.spec)
        self.messages = [write(newest.task(0), "newest")]

    @contextmanager
    def newest_at_work(self, slow: Slow) -> Iterator[Future[fc.CommitResult]]:
        with ThreadPoolExecutor(1) as thread:
            committing = thread.submit(self.newest.commit, self.messages)
            assert slow.listing.wait(20)
            yield committing


def write(task: fc.Task, name: str) -> fc.TaskCommit:
    with task.open(f"{name}.txt", "w") as file:
        file.write(name)
    return task.commit()


@pytest.fixture
def slow() -> Slow:
    return Slow()


def visible(url: str) -> set[str]:
    filesystem, root = fsspec.url_to_fs(url)
    names = {path.rpartition("/")[2] for path in filesystem.find(root) if "/_commit/" not in path}
    return {name.partition("-")[0] for name in names} - {"_SUCCESS"}


@pytest.mark.guarantees("P11")
def test_one_that_lives_is_waited_for(url: str, slow: Slow) -> None:
    """However long it takes before it decides; both commit, one after the other."""
    jobs = Jobs(url, slow)
    slow.work_s = 2 * sign_of_life.FENCE_S
    with jobs.newest_at_work(slow) as committing:
        assert jobs.older[0].commit().state == "committed"
        assert committing.result().state == "committed"
    assert visible(url) == {"older"}


@pytest.mark.guarantees("P11")
@pytest.mark.parametrize("wait_s", [0, 0.3])
def test_who_is_in_a_hurry_fences_nobody(url: str, slow: Slow, wait_s: float) -> None:
    jobs = Jobs(url, slow, wait_s=wait_s)
    slow.work_s = 1
    with jobs.newest_at_work(slow) as committing:
        with pytest.raises(fc.ConcurrentJobError) as caught:
            jobs.older[0].commit()
        assert caught.value.other_job_id == jobs.newest.job_id
        assert committing.result().state == "committed"
    assert jobs.older[0].commit().state == "committed"
    assert visible(url) == {"older"}


@pytest.mark.guarantees("P8", "P11")
def test_one_that_died_is_fenced(url: str, slow: Slow) -> None:
    jobs = Jobs(url, slow, older=2)
    slow.dies = True
    with suppress(Crash):
        jobs.newest.commit(jobs.messages)
    with ThreadPoolExecutor(2) as threads:
        assert [done.state for done in threads.map(fc.Job.commit, jobs.older)] == ["committed"] * 2
    assert visible(url) == {"older"}
    assert [job.state for job in fc.jobs(url)] == ["aborted"]


@pytest.mark.guarantees("P7", "P11")
def test_one_that_stood_still_for_too_long_is_told(
    url: str, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process was stopped, say; it has changed nothing."""
    jobs = Jobs(url, slow)
    monkeypatch.setattr(sign_of_life, "BEAT_S", 60)
    slow.work_s = 3 * sign_of_life.FENCE_S
    with jobs.newest_at_work(slow) as committing:
        assert jobs.older[0].commit().state == "committed"
        with pytest.raises(fc.JobNotActiveError) as caught:
            committing.result()
    assert caught.value.outcome == "not_committed"
    assert visible(url) == {"older"}


@pytest.mark.guarantees("P8", "P11")
def test_two_that_are_older_wait_for_it_and_for_each_other(url: str, slow: Slow) -> None:
    jobs = Jobs(url, slow, older=2)
    slow.work_s = 2 * sign_of_life.FENCE_S
    with jobs.newest_at_work(slow) as committing, ThreadPoolExecutor(2) as threads:
        assert [done.state for done in threads.map(fc.Job.commit, jobs.older)] == ["committed"] * 2
        assert committing.result().state == "committed"
    assert visible(url) == {"older"}
    assert fc.jobs(url) == []


def test_a_quick_job_shows_no_sign_and_a_slow_one_leaves_one_at_a_time(
    url: str, slow: Slow
) -> None:
    for work_s, shown in ((0.0, 0), (8 * sign_of_life.BEAT_S, 1)):
        jobs = Jobs(url, slow)
        slow.work_s, slow.signs = work_s, set()
        jobs.newest.commit(jobs.messages)
        assert len(slow.signs) <= 8 * shown
        assert len(slow.signs) >= 2 * shown
        assert slow.standing_max <= 2 * shown
        jobs.older[0].abort()


def test_a_job_that_is_dropped_leaves_no_sign(url: str) -> None:
    """Where no directory must be there, one that came later would make its area again."""
    signs: list[str] = []

    async def carry(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        answer = await call()
        if verb in {"delete_tree", "rename_directory"}:
            await asyncio.sleep(3 * sign_of_life.BEAT_S)
        elif verb == "create" and "/alive-" in path:
            signs.append(path)
        return answer

    with wrapping(lambda store: WrappedStore(store, carry)):
        job = fc.Job(url, mode="ignore").start()
    with fc.Job(url, mode="append") as other:
        write(other.task(), "other")
    write(job.task(0), "mine")
    assert job.commit().state == "skipped"
    assert not signs


@pytest.mark.guarantees("P7")
@pytest.mark.unforeseen("KeyError")
@pytest.mark.parametrize("failing", ["create", "delete"])
def test_whatever_a_renewal_meets_the_driver_goes_on(
    url: str, failing: str, caplog: pytest.LogCaptureFixture
) -> None:
    """An error of an adapter that is none of a store, too: the decision may stand by then.

    Of such an error nothing is shown: a renewal that fails is left, whatever it failed with.
    """

    async def carry(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if "/alive-" in path and verb == failing:
            raise KeyError("X-Amz-Signature=secret")
        if verb == "list_tree" and path.endswith("/out"):
            await asyncio.sleep(3 * sign_of_life.BEAT_S)
        return await call()

    with wrapping(lambda store: WrappedStore(store, carry)):
        job = fc.Job(url, mode="overwrite").start()
    write(job.task(0), "mine")
    assert job.commit().state == "committed"
    assert visible(url) == {"mine"}
    assert "secret" not in caplog.text


@pytest.mark.guarantees("P7")
def test_a_fault_of_the_renewal_itself_is_logged(
    url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without what it says, and the driver goes on."""

    async def carry(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "list_tree" and path.endswith("/out"):
            await asyncio.sleep(3 * sign_of_life.BEAT_S)
        return await call()

    async def fail(*_: object) -> None:
        raise KeyError("X-Amz-Signature=secret")

    monkeypatch.setattr(sign_of_life.SignOfLife, "_renew", fail)
    with wrapping(lambda store: WrappedStore(store, carry)):
        job = fc.Job(url, mode="overwrite").start()
    write(job.task(0), "mine")
    assert job.commit().state == "committed"
    assert f"job {job.job_id} could no longer show that it lives: KeyError" in caplog.text
    assert "secret" not in caplog.text
