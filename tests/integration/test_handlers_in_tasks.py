"""A handler of a signal at any point of a task: it commits the job, or interrupts the task.

It runs on the thread that it interrupts, which may be in the middle of anything.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

import fsspec_commit as fc
from fsspec_commit.sync import attempt_state, local_tasks, task
from tests.integration.held_up import KINDS, Place, make_place
from tests.integration.tracing import traced
from tests.integration.write_behind.gate import write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType

    from fsspec_commit.records.job import TaskCommit

pytestmark = [
    pytest.mark.guarantees("P1", "P2"),
    pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning"),
]


# A test that takes five minutes is ended, and a slow machine may take one for all lines.
LONGEST_S = 240


class Handler:
    """Called before the line of that number, of those that run in *files*.

    Attributes:
        lines: How many lines have run.
    """

    def __init__(self, at: int, handle: Callable[[], None], *modules: Any) -> None:
        self.lines = 0
        self._at = at
        self._handle = handle
        self._files = {module.__file__ for module in modules}

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename not in self._files:
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self._at:
                sys.settrace(None)
                self._handle()
        return self


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, fast: Path) -> Place:
    return make_place(request.param, fast)


def work(job: fc.Job, committed: list[str]) -> None:
    """A task that commits, one that fails, its retry, and one that is left out."""
    with job.task() as task:
        write(task, {"a": b"a"})
    committed.append("a")
    with suppress(ZeroDivisionError), job.task() as failing:
        write(failing, {"b": b"b"})
        raise ZeroDivisionError
    with job.task(1) as retry:
        write(retry, {"b": b"again"})
    committed.append("b")
    job.task().abort()


def committed_in_a_handler(at: int) -> bool:
    """Whether the job has worked on to its end; the handler comes at line *at*."""
    job = fc.Job(f"memory://{uuid4().hex}", mode="append", names="exact", allow_empty=True).start()
    committed, has_failed = list[str](), list[bool]()

    def handle() -> None:
        with suppress(fc.RequestError):  # A task is under way, or was not retried.
            job.commit()
            has_failed.append(1 in job._tasks._failed and 1 not in job._tasks._messages)

    handler = Handler(at, handle, local_tasks)
    with suppress(RuntimeError, fc.CommitError), traced(handler):
        work(job, committed)
    files = set(job.commit().files)
    assert set(committed) <= files, (at, committed, files)
    assert not any(has_failed)
    return handler.lines < at


def test_a_handler_that_commits_waits_for_no_lock_and_leaves_nothing_out() -> None:
    """Its own thread held the lock: it waited for ever."""
    reached, errors = list[int](), list[BaseException]()

    def each() -> None:
        try:
            while not committed_in_a_handler(len(reached) + 1):
                reached.append(1)
        except BaseException as error:  # noqa: BLE001  # raised below
            errors.append(error)

    thread = Thread(target=each, daemon=True)
    thread.start()
    thread.join(LONGEST_S)
    assert not thread.is_alive(), f"at line {len(reached) + 1} it waits for its own thread"
    for error in errors:
        raise error
    assert len(reached) > 30


def interrupt() -> None:
    raise KeyboardInterrupt


def message_of(task: fc.Task) -> list[TaskCommit]:
    try:
        return [task.message]
    except RuntimeError:
        return []


@pytest.mark.parametrize("kind", ["own process", "elsewhere"])
def test_a_task_that_is_interrupted_as_it_ends_has_a_message_if_it_counts(
    place: Place, kind: str, fast: Path
) -> None:
    """It was dropped and had a message: the job was decided for files that were gone."""
    ends = set[bool]()
    for at in range(1, 200):
        here = make_place("memory", fast) if at % 7 else Place(f"{place.url}-{at}", place.options)
        job = here.start()
        one = job.task() if kind == "own process" else fc.Task.from_spec(job.spec, 0)
        write(one, {"a": b"a"})
        handler = Handler(at, interrupt, task, attempt_state)
        with suppress(KeyboardInterrupt):
            one.__enter__()
            with traced(handler):
                one.__exit__(None, None, None)
        sent = message_of(one)
        ends.add(bool(sent))
        try:
            result = job.commit(sent if kind == "elsewhere" else None)
        except fc.RequestError:
            job.abort()
            assert not sent, at
        else:
            assert list(result.files) == (["a"] if sent else [])
        if handler.lines < at:
            break
    assert ends == {True, False}
