"""Tasks that begin while their job commits: none is left out without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.testing.assertions import assert_no_leftovers
from tests.integration.held_up import KINDS, Place, held, make_place
from tests.integration.write_behind.gate import meanwhile, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsspec_commit.records.job import TaskCommit

pytestmark = pytest.mark.guarantees("P1")


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, fast: Path) -> Place:
    return make_place(request.param, fast)


def write_task(job: fc.Job, name: str) -> TaskCommit:
    with job.task() as task:
        write(task, {name: b"x"})
    return task.message


@pytest.mark.parametrize("step", ["/claim-", "/decision"])
def test_a_task_that_begins_while_the_job_commits_is_refused(place: Place, step: str) -> None:
    with held(step) as creation:
        job = place.start()
        write_task(job, "a")
        with meanwhile(job.commit) as committing:
            assert creation.inside.wait(10)
            with pytest.raises(RuntimeError, match="it takes no task"):
                write_task(job, "late")
            creation.go.set()
            assert list(committing.result(10).files) == ["a"]
    with pytest.raises(RuntimeError, match="is committed: it takes no task"):
        job.task()
    assert_no_leftovers(place.url)


def test_a_task_that_had_looked_before_the_job_committed_is_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It found the job open, and began when that was over."""
    job = place.start()
    write_task(job, "a")
    begun = job._tasks.begun

    def later(task: fc.Task) -> None:
        job.commit()
        begun(task)

    monkeypatch.setattr(job._tasks, "begun", later)
    with pytest.raises(RuntimeError, match="it takes no task"):
        job.task()
    assert list(job.result.files) == ["a"]
    assert_no_leftovers(place.url)


def test_a_commit_that_fails_lets_tasks_begin_again(place: Place) -> None:
    with held("/claim-") as creation:
        creation.fails = True
        creation.go.set()
        job = place.start()
        write_task(job, "a")
        with pytest.raises(fc.CommitFailedError):
            job.commit()
        write_task(job, "b")
        assert list(job.commit().files) == ["a", "b"]
    assert_no_leftovers(place.url)


def test_a_commit_that_is_refused_lets_tasks_begin_again(place: Place) -> None:
    job = place.start()
    task = job.task()
    with pytest.raises(fc.RequestError, match="task 0 has neither committed nor been aborted"):
        job.commit()
    write_task(job, "b")
    task.abort()
    assert list(job.commit().files) == ["b"]
    assert_no_leftovers(place.url)


def test_messages_are_gathered_by_running_the_tasks(place: Place) -> None:
    """A generator runs them, in the middle of the commit, before its messages are known."""
    job = place.start()

    def run() -> Iterator[TaskCommit]:
        for name in ("a", "b"):
            yield write_task(job, name)

    assert list(job.commit(run()).files) == ["a", "b"]
    assert_no_leftovers(place.url)


def test_a_job_that_counts_its_tasks_commits_once_all_have(place: Place) -> None:
    """Its tasks leave their messages on the store, and begin whenever they like."""
    with held("/claim-") as creation:
        job = place.start(collect="store", tasks=2)
        write_task(job, "a")
        with pytest.raises(fc.RequestError, match="1 of 2 tasks have no message"):
            job.commit()
        write_task(job, "b")
        with meanwhile(job.commit) as committing:
            assert creation.inside.wait(10)
            with job.task(0) as again:
                write(again, {"a": b"again"})
            creation.go.set()
            assert list(committing.result(10).files) == ["a", "b"]
    assert place.sizes() == (["a", "b"], 2)
    assert_no_leftovers(place.url)
