"""Messages that a driver was not given, and tasks that nobody would look for: both are said."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from dask.delayed import delayed

import fsspec_commit as fc

if TYPE_CHECKING:
    from collections.abc import Callable

TASKS = 6


@pytest.fixture
def url() -> str:
    return f"memory://forgotten-{uuid4().hex}/out"


def ran_elsewhere(job: fc.Job, *task_ids: int) -> list[fc.TaskCommit]:
    messages = []
    for task_id in task_ids:
        with fc.Task.from_spec(job.spec, task_id) as task, task.open("part.txt", "w") as file:
            file.write(str(task_id))
        assert task.message is not None
        messages.append(task.message)
    return messages


def test_a_commit_without_messages_names_them(url: str) -> None:
    with (
        pytest.raises(
            fc.RequestError, match="6 tasks committed, their messages were not passed"
        ) as caught,
        fc.Job(url, mode="append") as job,
    ):
        ran_elsewhere(job, *range(TASKS))
    assert caught.value.kind == "missing_messages"
    assert "no file was written" not in str(caught.value)
    assert fc.jobs(url) == []


def test_a_commit_without_expected_messages_names_them(url: str) -> None:
    job = fc.Job(url, tasks=TASKS).start()
    ran_elsewhere(job, 0, 2)
    with pytest.raises(fc.RequestError) as caught:
        job.commit([])
    job.abort()
    assert caught.value.kind == "missing_tasks"
    assert "2 tasks committed, their messages were not passed" in caught.value.__notes__[0]


class ObjectRef:
    """A reference of Ray's, as far as it is looked at."""


def test_a_reference_of_rays_is_no_message(url: str) -> None:
    with pytest.raises(fc.RequestError) as caught, fc.Job(url) as job:
        job.commit([ObjectRef()])  # type: ignore[list-item]  # what is tried
    assert str(caught.value).endswith("is no TaskCommit; pass what ray.get() returns for it")


class AsyncResult:
    """What Celery and a pool of processes give for a task, as far as it is looked at."""

    result = None

    def get(self) -> None: ...

    def ready(self) -> None: ...


async def worker() -> None:
    """What an asynchronous worker is called like."""


def refused(url: str, messages: Callable[[fc.Job], Any]) -> str:
    with pytest.raises(fc.RequestError) as caught, fc.Job(url) as job:
        job.commit(messages(job))
    assert caught.value.kind == "not_a_message"
    return str(caught.value)


def test_what_gives_a_message_later_is_none_yet(url: str) -> None:
    told = refused(url, lambda _: [AsyncResult()])
    assert told.endswith("AsyncResult is no TaskCommit; pass what its .get() returns")
    awaited = worker()
    told = refused(url, lambda _: [awaited])
    assert told.endswith(
        ": an object of type coroutine is no TaskCommit; await it first, and pass what it returns"
    )
    awaited.close()


def test_what_gives_all_messages_later_is_no_list(url: str) -> None:
    """A `Delayed` of Dask can be iterated as long as nobody does: it raised a bare `TypeError`."""
    told = refused(url, lambda _: delayed([1]))
    assert told.endswith("; pass what its .compute() returns")
    told = refused(url, lambda _: AsyncResult())
    assert told.endswith("not AsyncResult; pass what its .get() returns")


@pytest.mark.parametrize("kind", [list, tuple])
def test_messages_in_a_list_of_their_own(kind: type, url: str) -> None:
    """So come those of ``dask.compute([…])``; the list was printed at length."""
    told = refused(url, lambda job: [kind(ran_elsewhere(job, *range(TASKS)))])
    assert "TaskCommit(task_id=0" in told
    assert "… is no TaskCommit" in told
    assert "these are messages in a list of their own: pass that list itself" in told
    assert len(told) < 600


def test_a_part_of_what_was_written_is_committed_with_a_warning(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with fc.Job(url, mode="append") as job:
        result = job.commit(ran_elsewhere(job, *range(TASKS))[:4])
    assert result.file_count == 4
    [warning] = result.warnings
    assert re.search("left out: 2 tasks committed, their messages were not passed", warning)
    assert warning in caplog.text


def test_a_task_of_its_own_does_not_hide_those_that_were_forgotten(url: str) -> None:
    """With no message passed at all nobody looked, and one task of seven was committed."""
    with fc.Job(url, mode="append") as job:
        ran_elsewhere(job, *range(1, TASKS + 1))
        with job.task(0) as task, task.open("part.txt", "w") as file:
            file.write("0")
    [warning] = job.result.warnings
    assert "6 tasks committed, their messages were not passed" in warning


def test_a_second_driver_looks_for_what_it_was_not_given(url: str) -> None:
    """Tasks elsewhere are what a job has that was begun elsewhere."""
    begun = fc.Job(url, mode="append").start()
    begun._begun_here = False
    ran_elsewhere(begun, *range(1, TASKS + 1))
    job = fc.Job.from_spec(begun.spec)
    with job.task(0) as task, task.open("part.txt") as file:
        file.write(b"0")
    [warning] = job.commit().warnings
    assert "6 tasks committed, their messages were not passed" in warning


def test_all_of_what_was_written_is_committed_without_one(url: str) -> None:
    with fc.Job(url, mode="append") as job:
        assert job.commit(ran_elsewhere(job, *range(TASKS))).warnings == ()


def test_a_task_that_nobody_would_look_for_is_refused(url: str) -> None:
    """With collect="store" its files would be left out without a word."""
    job = fc.Job(url, mode="append", collect="store", tasks=3).start()
    for number in (3, 17):
        with pytest.raises(fc.RequestError, match=f"0 to 2, and none is number {number}") as caught:
            fc.Task.from_spec(job.spec, number)
        assert (caught.value.kind, caught.value.task_id) == ("unexpected_task", number)
    with pytest.raises(fc.RequestError, match="none is number 3"):
        job.task(3)
    ran_elsewhere(job, 0, 1, 2)
    assert job.commit().file_count == 3


def test_which_tasks_are_missing_is_shown(url: str) -> None:
    job = fc.Job(url, mode="append", tasks=100).start()
    ran_elsewhere(job, 0, 5, 99)
    [shown] = fc.jobs(url)
    assert (shown.tasks_committed, shown.tasks) == (3, 100)
    assert shown.tasks_missing == "1 to 4, 6 to 98"
    job.abort()
