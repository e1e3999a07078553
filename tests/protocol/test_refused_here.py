"""What a driver is refused before the store is asked says no more of the job than is true (P7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit.testing.wrapped import WrappedStore
from tests.scenes.memory_place import MemoryPlace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from fsspec_commit.layout import StorePath

T = TypeVar("T")


@pytest.fixture
def place() -> Iterator[MemoryPlace]:
    place = MemoryPlace()
    yield place
    place.remove()


def _has_a_task_that_runs(job: fc.Job) -> None:
    job.task(0)


def _has_a_task_that_failed(job: fc.Job) -> None:
    with pytest.raises(KeyError), job.task(0):
        raise KeyError


def _is_given_something_else(job: fc.Job) -> None:
    with pytest.raises(fc.CommitError):
        job.commit("messages")  # type: ignore[arg-type]  # which is the mistake


def _lost_what_it_was_given(job: fc.Job) -> None:
    def gathered() -> Iterator[fc.TaskCommit]:
        yield from lost()

    def lost() -> list[fc.TaskCommit]:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        job.commit(gathered())


WRONG = [
    _has_a_task_that_runs,
    _has_a_task_that_failed,
    _is_given_something_else,
    _lost_what_it_was_given,
]


@pytest.fixture(params=WRONG, ids=lambda wrong: wrong.__name__)
def wrong(request: pytest.FixtureRequest) -> Callable[[fc.Job], None]:
    found: Callable[[fc.Job], None] = request.param
    return found


def started(place: MemoryPlace) -> tuple[fc.Job, list[fc.TaskCommit]]:
    """A job, and the message of a task that ran elsewhere."""
    job = fc.Job(place.url, mode="append").start()
    job._begun_here = False  # Others settle it, of which it is told nothing.
    task = fc.Task.from_spec(job.spec, 0)
    with task, task.open("a.txt", "w") as file:
        file.write("a")
    return job, [task.message]


def refused(job: fc.Job) -> fc.CommitError:
    with pytest.raises(fc.CommitError) as caught:
        job.commit()
    return caught.value


def test_p7_another_driver_has_committed(
    place: MemoryPlace, wrong: Callable[[fc.Job], None]
) -> None:
    job, messages = started(place)
    other = fc.Job.from_spec(job.spec)
    wrong(other)
    job.commit(messages)
    told = refused(other)
    assert isinstance(told, fc.JobNotActiveError)
    assert told.outcome == "committed"
    assert isinstance(told.__cause__, fc.RequestError)
    with pytest.raises(RuntimeError, match="settled"):
        other.task(1)


def test_p7_somebody_else_has_decided_and_died(
    place: MemoryPlace, wrong: Callable[[fc.Job], None]
) -> None:
    job, messages = started(place)
    other = fc.Job.from_spec(job.spec)
    wrong(other)
    with (
        inject(Fault("create", 3, "crash_after")) as fired,
        pytest.raises(Crash),
    ):
        fc.Job.from_spec(job.spec).commit(messages)
    assert fired
    assert [found.state for found in fc.jobs(place.url)] == ["decided"]
    assert refused(other).outcome == "committed"


def test_p7_somebody_else_has_aborted_it(
    place: MemoryPlace, wrong: Callable[[fc.Job], None]
) -> None:
    job, _ = started(place)
    other = fc.Job.from_spec(job.spec)
    wrong(other)
    fc.abort(place.url, job.job_id)
    told: Any = refused(other)
    assert isinstance(told, fc.JobNotActiveError)
    assert told.outcome == "unknown"


def test_nobody_has_settled_it(place: MemoryPlace, wrong: Callable[[fc.Job], None]) -> None:
    job, messages = started(place)
    other = fc.Job.from_spec(job.spec)
    wrong(other)
    told = refused(other)
    assert isinstance(told, fc.RequestError)
    assert told.outcome == "not_committed"
    assert other.commit(messages).file_count == 1


class Silence:
    """A store that answers no call, or no longer."""

    def __init__(self) -> None:
        self.is_silent = False

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if self.is_silent:
            raise StoreError(f"{verb} of {path!r}: no answer", reply=Reply.UNKNOWN)
        return await call()


@pytest.mark.parametrize("has_committed", [True, False])
def test_p7_a_driver_from_a_spec_cannot_know_where_the_store_is_silent(
    place: MemoryPlace, monkeypatch: pytest.MonkeyPatch, *, has_committed: bool
) -> None:
    """Who has begun the job may have committed it; of its own decision it would know."""
    monkeypatch.setattr("fsspec_commit.effects.confirm.TRIES_MAX", 2)
    silence = Silence()
    with wrapping(lambda store: WrappedStore(store, silence.carry)):
        job, messages = started(place)
        other = fc.Job.from_spec(job.spec)
        if has_committed:
            job.commit(messages)
        silence.is_silent = True
        for driver, outcome in ((other, "unknown"), *([] if has_committed else [(job, NOT)])):
            with pytest.raises(fc.CommitFailedError) as caught:
                driver.commit(messages)
            assert caught.value.outcome == outcome
        silence.is_silent = False
        if has_committed:
            assert refused(other).outcome == "committed"
        else:
            assert other.commit(messages).file_count == 1


NOT = "not_committed"
