"""One job, settled by several threads, and by a progress bar that ends the program."""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from threading import Barrier, Event
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import pytest
from fsspec.callbacks import Callback

import fsspec_commit as fc
from fsspec_commit.errors import StoreError
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit.testing.assertions import assert_committed, assert_no_leftovers
from fsspec_commit.testing.committer_contract.given import write
from fsspec_commit.testing.wrapped import WrappedStore
from tests.flat import store as _flat  # noqa: F401  # the protocol of `flat://`
from tests.flat.bucket import AWS, make_bucket

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Store

T = TypeVar("T")

FILES = {f"{number}.txt": b"x" for number in range(5)}


@pytest.fixture(params=["disk", "paged"])
def url(request: pytest.FixtureRequest, fast: Path) -> str:
    return str(fast / "out") if request.param == "disk" else f"flat://{make_bucket(AWS).name}/out"


class Beginning:
    """Holds up the creation of a job's record until it may end."""

    def __init__(self) -> None:
        self.event = Event()
        self.may_end = Event()

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "create" and path.endswith("/job.json"):
            self.event.set()
            await asyncio.to_thread(self.may_end.wait, 10)
            await asyncio.sleep(0.1)
        return await call()


class ClosedForGood(WrappedStore):
    """Its connections, once they are closed, carry nothing any more."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, self._unless_closed)
        self._is_closed = False

    async def _unless_closed(
        self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]
    ) -> T:
        if self._is_closed:
            raise StoreError(f"cannot {verb} {path!r}: there is no connection")
        return await call()

    async def close(self) -> None:
        self._is_closed = True
        await super().close()


@pytest.fixture
def began() -> Beginning:
    return Beginning()


def started(url: str, **options: Callback) -> fc.Job:
    job = fc.Job(url, mode="append", **options).start()
    with job.task() as task:
        write(task, FILES)
    return job


@pytest.mark.guarantees("P1", "P7")
def test_threads_that_commit_get_the_same_result(url: str) -> None:
    for turn in range(10):
        job = started(f"{url}-{turn}")
        together = Barrier(4)

        def commit(job: fc.Job = job, together: Barrier = together) -> fc.CommitResult:
            together.wait()
            return job.commit()

        with ThreadPoolExecutor(4) as threads:
            results = [threads.submit(commit) for _ in range(4)]
        assert {id(result.result()) for result in results} == {id(job.result)}
        assert_committed(f"{url}-{turn}", file_count=len(FILES))
        assert_no_leftovers(f"{url}-{turn}")


@pytest.mark.guarantees("P5", "P7")
def test_a_thread_that_commits_and_one_that_aborts(url: str) -> None:
    """One of them is first, and the other says so."""
    outcomes = set()
    for turn in range(20):
        job = started(f"{url}-{turn}")
        together = Barrier(2)
        verbs = ["commit", "abort"] if turn % 2 else ["abort", "commit"]

        def end(verb: str, job: fc.Job = job, together: Barrier = together) -> str:
            together.wait()
            try:
                job.commit() if verb == "commit" else job.abort()
            except (fc.JobNotActiveError, RuntimeError):
                return ""
            return verb

        with ThreadPoolExecutor(2) as threads:
            won = "".join(threads.map(end, verbs))
        outcomes.add(won)
        assert fc.jobs(f"{url}-{turn}") == []
        if won == "commit":
            assert_committed(f"{url}-{turn}", file_count=len(FILES))
        assert_no_leftovers(f"{url}-{turn}")
    assert outcomes <= {"commit", "abort"}


class StopButton(Callback):  # type: ignore[misc]  # fsspec has no types
    """A progress bar whose button ends the program."""

    def __init__(self, exit_: BaseException, at: str) -> None:
        super().__init__()
        self.exit = exit_
        self.at = at

    def set_size(self, size: int) -> None:
        if self.at == "announced":
            raise self.exit
        super().set_size(size)

    def relative_update(self, inc: int = 1) -> None:
        super().relative_update(inc)
        if self.at == "advanced":
            raise self.exit


class OwnExit(BaseException):
    """Neither an error nor one of Python's own exits."""


@pytest.mark.guarantees("P1")
@pytest.mark.parametrize("at", ["announced", "advanced"])
@pytest.mark.parametrize("exit_", [SystemExit("cancelled"), KeyboardInterrupt(), OwnExit()])
@pytest.mark.parametrize("with_block", [False, True])
def test_a_callback_that_ends_the_program_waits_for_the_commit(
    url: str, exit_: BaseException, at: str, with_block: bool
) -> None:
    """The job is decided by then: it is finished, what came of it is told, then the exit raised."""
    callback = StopButton(exit_, at)
    if with_block:
        with (
            pytest.raises(type(exit_)) as caught,
            fc.Job(url, callback=callback) as job,
            job.task() as task,
        ):
            write(task, FILES)
    else:
        job = started(url, callback=callback)
        with pytest.raises(type(exit_)) as caught:
            job.commit()
    assert caught.value is exit_
    assert any(note.startswith("committed:") for note in exit_.__notes__)
    assert job.result is not None
    assert job.result == job.commit()
    assert_committed(url, file_count=len(FILES))
    assert_no_leftovers(url)


@pytest.mark.guarantees("P8")
def test_a_callback_that_ends_the_program_waits_for_a_resume(url: str) -> None:
    """The exit was swallowed: the program went on."""
    with inject(Fault("rename"), Fault("complete")), suppress(Crash):
        started(url).commit()
    [dead] = fc.jobs(url)
    exit_ = SystemExit("cancelled")
    with pytest.raises(SystemExit) as caught:
        fc.resume(url, dead.job_id, callback=StopButton(exit_, "advanced"))
    assert caught.value is exit_
    assert any(note.startswith("committed:") for note in exit_.__notes__)
    assert_committed(url, file_count=len(FILES))
    assert fc.jobs(url) == []


@pytest.mark.guarantees("P5")
@pytest.mark.parametrize("then", ["abort", "start"])
def test_whoever_comes_while_a_job_starts_waits_for_that(
    url: str, began: Beginning, then: str
) -> None:
    """An abort, as by the handler of a signal, did nothing; and a second start began another."""
    with wrapping(lambda store: WrappedStore(store, began.carry)), ThreadPoolExecutor(2) as threads:
        job = fc.Job(url, mode="append")
        starting = threads.submit(job.start)
        assert began.event.wait(10)
        second = threads.submit(getattr(job, then))
        began.may_end.set()
        starting.result(10)
        if then == "start":
            with pytest.raises(RuntimeError, match="used once"):
                second.result(10)
            assert [one.job_id for one in fc.jobs(url)] == [job.job_id]
            job.abort()
        else:
            second.result(10)
            with pytest.raises(RuntimeError, match="aborted"):
                job.task()
    assert fc.jobs(url) == []


@pytest.mark.guarantees("P5")
def test_a_thread_whose_job_is_aborted_is_told_so_and_drops_what_it_writes(url: str) -> None:
    """Its store was closed: it was told that a connection had failed, and left an upload behind."""
    writing, aborted = Event(), Event()

    def work(job: fc.Job) -> None:
        with job.task() as task, task.open("a.txt") as file:
            file.write(b"x" * (17 << 20))
            writing.set()
            aborted.wait(10)

    with wrapping(ClosedForGood), ThreadPoolExecutor(1) as threads:
        job = fc.Job(url, mode="append").start()
        working = threads.submit(work, job)
        assert writing.wait(10)
        job.abort()
        aborted.set()
        with pytest.raises(fc.JobNotActiveError, match="aborted") as told:
            working.result(10)
    assert not hasattr(told.value, "__notes__")
    assert_no_leftovers(url)


@pytest.mark.guarantees("P5", "P8")
def test_a_block_that_fails_when_the_job_is_decided_names_the_command(url: str) -> None:
    """Another driver has decided and died: the block's own exception says what to do now."""

    def fail(job: fc.Job) -> None:
        with job.task() as task:
            write(task, FILES)
        with inject(Fault("rename"), Fault("complete")), suppress(Crash):
            fc.Job.from_spec(job.spec).commit([task.commit()])
        raise OSError("of the block")

    with pytest.raises(OSError, match="of the block") as caught, fc.Job(url) as job:
        fail(job)
    assert any("fsspec-commit resume" in note for note in caught.value.__notes__)
    fc.resume(url, job.job_id)
    assert_committed(url, file_count=len(FILES))


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns after every few steps, as on a machine with many cores."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty")
@pytest.mark.guarantees("P5")
@pytest.mark.parametrize("what", ["task", "job"])
def test_an_attempt_is_dropped_whole_while_a_thread_opens_files(what: str) -> None:
    """A collection that grows while it is walked stopped the walk, and left the attempt behind."""
    for _ in range(5):
        job = fc.Job(f"memory://{uuid4().hex}", mode="append").start()
        task = job.task()
        files = [task.open(f"{number}.txt") for number in range(500)]
        others: list[Any] = []
        under_way, enough = Event(), Event()

        def open_more(
            task: fc.Task = task,
            stop: Event = enough,
            begun: Event = under_way,
            others: list[Any] = others,
        ) -> None:
            for number in count():
                with suppress(RuntimeError, fc.CommitError, OSError):  # It is over.
                    others.append(task.open(f"more-{number}.txt"))
                begun.set()
                if stop.is_set():
                    return

        with ThreadPoolExecutor(1) as threads:
            more = threads.submit(open_more)
            under_way.wait()
            try:
                (task if what == "task" else job).abort()
            finally:
                enough.set()
            more.result()
        if what == "task":
            assert all(file.closed for file in files)
            job.abort()
