"""One task in the hands of several threads: it is committed or dropped, with all of its files.

What one thread is told must stay true whatever another one does a moment later.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import fsspec_commit as fc
from fsspec_commit.names import Target
from fsspec_commit.sync.attempt_names import AttemptNames
from fsspec_commit.testing.assertions import assert_no_leftovers
from tests.integration.held_up import KINDS, Abandoned, Held, Place, SlowName, held, make_place
from tests.integration.write_behind.gate import meanwhile, still_waits, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future
    from pathlib import Path


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, fast: Path) -> Place:
    return make_place(request.param, fast)


def rewrite(task: fc.Task) -> None:
    write(task, {"a": b"longer than before"})


def remove(task: fc.Task) -> None:
    task.filesystem.rm("a")


def error_of(call: Callable[[], object]) -> BaseException | None:
    """What *call* raises in a thread of its own."""
    with meanwhile(call) as called:
        return called.exception(10)


class UnderWay(NamedTuple):
    """A task whose commit in another thread is held back."""

    job: fc.Job
    task: fc.Task
    creation: Held
    committing: Future[Any]


@contextmanager
def commit_under_way(place: Place, **options: Any) -> Iterator[UnderWay]:
    with held("/manifests/") as creation:
        job = place.start(**options)
        task = job.task()
        write(task, {"a": b"a"})
        with meanwhile(task.commit) as committing:
            assert creation.inside.wait(10)
            yield UnderWay(job, task, creation, committing)


@pytest.mark.guarantees("P1")
def test_an_abort_beside_a_commit_waits_and_is_refused(place: Place) -> None:
    """Both succeeded, and the job was decided for files that were gone: nobody could finish it."""
    with commit_under_way(place) as under_way:
        job, task, creation, committing = under_way
        with meanwhile(task.abort) as aborting:
            assert still_waits(aborting)
            creation.go.set()
            with pytest.raises(RuntimeError, match="has committed; leave its message out"):
                aborting.result(10)
        assert committing.result(10) == task.message
    assert list(job.commit().files) == ["a"]
    assert_no_leftovers(place.url)


@pytest.mark.guarantees("P2")
def test_an_abort_beside_a_commit_that_fails_drops_the_attempt(place: Place) -> None:
    with commit_under_way(place) as under_way:
        job, task, creation, committing = under_way
        creation.fails = True
        with meanwhile(task.abort) as aborting:
            creation.go.set()
            aborting.result(10)
        with pytest.raises(fc.CommitFailedError):
            committing.result(10)
        with pytest.raises(RuntimeError, match="is aborted, and has no message"):
            assert task.message.file_count
    assert list(job.commit().files) == []
    assert_no_leftovers(place.url)


@pytest.mark.guarantees("P1")
@pytest.mark.parametrize("options", [{}, {"collect": "store", "tasks": 1}], ids=["driver", "store"])
def test_a_block_that_fails_beside_a_commit_leaves_the_task_committed(
    place: Place, options: dict[str, Any]
) -> None:
    with commit_under_way(place, **options) as under_way:
        job, task, creation, committing = under_way
        error = OSError("of the block")
        with meanwhile(lambda: task.__exit__(OSError, error, None)) as leaving:
            assert still_waits(leaving)
            creation.go.set()
            leaving.result(10)
        assert committing.result(10).file_count == 1
    assert list(job.commit().files) == ["a"]
    assert_no_leftovers(place.url)


@pytest.mark.guarantees("P2")
def test_a_commit_that_an_abort_has_overtaken_is_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = place.start()
    task = job.task()
    write(task, {"a": b"a"})
    monkeypatch.setattr(task._closed, "wait", task.abort)  # It comes in between.
    with pytest.raises(RuntimeError, match="cannot commit: task 0 is aborted"):
        task.commit()
    with pytest.raises(RuntimeError, match="is aborted, and has no message"):
        assert task.message.file_count
    assert list(job.commit().files) == []
    assert_no_leftovers(place.url)


@pytest.mark.guarantees("P1")
def test_ctrl_c_while_an_abort_waits_for_a_commit_leaves_that_alone(place: Place) -> None:
    with commit_under_way(place) as under_way:
        job, task, creation, committing = under_way
        timer = threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT])

        def abort() -> None:
            timer.start()  # Here: before that, nobody awaits the interrupt.
            task.abort()

        with pytest.raises(KeyboardInterrupt):
            abort()
        timer.join()
        creation.go.set()
        assert committing.result(10).file_count == 1
    assert list(job.commit().files) == ["a"]
    assert_no_leftovers(place.url)


@pytest.mark.guarantees("P2")
def test_ctrl_c_ends_a_commit_and_lets_the_abort_that_waits_for_it_go_on(place: Place) -> None:
    with held("/manifests/") as creation:
        job = place.start()
        task = job.task()
        write(task, {"a": b"a"})

        def abort() -> None:
            assert creation.inside.wait(10)
            timer.start()
            task.abort()

        timer = threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT])
        with meanwhile(abort) as aborting:
            with pytest.raises(KeyboardInterrupt):
                task.commit()
            aborting.result(10)
    assert list(job.commit().files) == []
    assert_no_leftovers(place.url)


@pytest.mark.guarantees("P1")
@pytest.mark.parametrize("change", [rewrite, remove])
def test_a_change_that_a_commit_overtakes_is_refused(
    place: Place, change: Callable[[fc.Task], None]
) -> None:
    """It took a file from the committed attempt: the job published other bytes, or got stuck."""
    job = place.start()
    task = job.task()
    write(task, {"a": b"a", "z": b"z"})
    abandoned = Abandoned(task)
    with meanwhile(lambda: change(task)) as changing:
        assert abandoned.inside.wait(10)
        task.commit()
        abandoned.go.set()
        with pytest.raises(RuntimeError, match="task 0 is committed"):
            changing.result(10)
    assert list(job.commit().files) == ["a", "z"]
    assert place.sizes() == (["a", "z"], 2)
    assert_no_leftovers(place.url)


@pytest.mark.guarantees("P1")
@pytest.mark.parametrize("where", ["name", "garbage"])
def test_a_new_file_that_a_commit_overtakes_is_refused(place: Place, where: str) -> None:
    """It was written and closed without an error, and was not among what was committed."""
    job = place.start()
    task = job.task()
    write(task, {"a": b"a"})
    name = SlowName("b")
    slow = name if where == "name" else Abandoned(task)
    path = name if where == "name" else "b"
    with meanwhile(lambda: task.open(path)) as opening:
        assert slow.inside.wait(10)
        task.commit()
        slow.go.set()
        with pytest.raises(RuntimeError, match="cannot open a file: task 0 is committed"):
            opening.result(10)
    assert list(job.commit().files) == ["a"]
    assert_no_leftovers(place.url)


@pytest.mark.guarantees("P1")
@pytest.mark.parametrize("change", [rewrite, remove])
def test_what_begins_while_a_commit_counts_the_files_changes_nothing(
    place: Place, change: Callable[[fc.Task], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither if the commit is refused in the end: the next one commits the same files."""
    job = place.start()
    task = job.task()
    write(task, {"a": b"a"})
    files, errors = list[Any](), list[BaseException | None]()
    wait, refuse = task._closed.wait, task._names.refuse_unfinished

    def then_open() -> None:
        wait()
        files.append(task.open("z"))

    def first_change() -> None:
        if files:
            errors.append(error_of(lambda: change(task)))
        refuse()

    with monkeypatch.context() as patch:
        patch.setattr(task._closed, "wait", then_open)
        patch.setattr(task._names, "refuse_unfinished", first_change)
        with pytest.raises(fc.RequestError, match="has an open file 'z'"):
            task.commit()
    [error] = errors
    assert isinstance(error, RuntimeError)
    assert "is sealing" in str(error)
    files[0].write(b"z")
    files[0].close()
    task.commit()
    assert list(job.commit().files) == ["a", "z"]
    assert place.sizes() == (["a", "z"], 2)
    assert_no_leftovers(place.url)


@pytest.mark.guarantees("P1")
def test_a_commit_beside_a_removal_is_refused_until_that_has_ended(place: Place) -> None:
    job = place.start()
    task = job.task()
    write(task, {"a": b"a", "z": b"z"})
    told = list[BaseException | None]()
    delete = task._closed.output.delete

    async def then_commit(name: Target) -> None:
        # On a thread of its own, and without the loop, which waits here: it is refused before.
        told.append(error_of(task._refuse_commit))
        await delete(name)

    task._closed.output.delete = then_commit  # type: ignore[method-assign]
    remove(task)
    [error] = told
    assert isinstance(error, fc.RequestError)
    assert "'a'" in str(error)
    task.commit()
    assert list(job.commit().files) == ["z"]
    assert_no_leftovers(place.url)


@pytest.mark.guarantees("P1")
@pytest.mark.parametrize("is_open", [False, True])
def test_only_one_thread_creates_a_file(place: Place, *, is_open: bool) -> None:
    """Mode `x` refused what it saw; a thread that came in between was overwritten."""
    job = place.start()
    task = job.task()
    abandoned = Abandoned(task)
    with meanwhile(lambda: task.open("a", "xb")) as second:
        assert abandoned.inside.wait(10)
        file = task.open("a", "xb")
        file.write(b"first")
        if not is_open:
            file.close()
        abandoned.go.set()
        with pytest.raises(FileExistsError, match="this attempt has written 'a' already"):
            second.result(10)
    file.close()
    task.commit()
    job.commit()
    assert place.sizes() == (["a"], 5)


@pytest.mark.guarantees("P1")
def test_a_name_that_is_lost_while_it_is_opened_again() -> None:
    """Another thread is told that the file could not be stored: the name stayed open for ever."""
    names = AttemptNames(0)

    def open_still() -> None:
        """The task is open: it takes the file."""

    class LostMeanwhile(dict[str, Target]):
        def __contains__(self, name: object) -> bool:
            found = super().__contains__(name)
            names.lose("a")
            return found

    names._whole = LostMeanwhile()
    names.begin(Target("a"), open_still)
    names.finish("a", Target("a"))
    names.begin(Target("a"), open_still)
    names.discard("a")
    with pytest.raises(fc.RequestError, match="'a'"):
        names.refuse_unfinished()
