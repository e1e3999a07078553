"""Planted bugs: files of a task that are not what their writer meant, and pass for whole.

They are above the core that the simulator runs: another test fails with each of them.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fsspec_commit.sync.attempt_file import AttemptFile, ClosedOnSuccess
from fsspec_commit.sync.attempt_names import AttemptNames
from fsspec_commit.sync.local_tasks import LocalTasks
from fsspec_commit.sync.task import Task
from fsspec_commit_stores.local.writing import LocalFile
from tests.protocol.planted.bug import Bug

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


def forgets_that_a_name_was_opened_again(patch: pytest.MonkeyPatch) -> None:
    """What it held is gone on a disk, and is committed elsewhere, if the second writing fails."""

    def begin(self: Any, name: Any, *_: Any, **__: Any) -> None:
        self._writing.setdefault(name, object())

    patch.setattr(AttemptNames, "begin", begin)


def finishes_what_a_block_gave_up(patch: pytest.MonkeyPatch) -> None:
    """Arrow #40800: an exception inside `with open()` publishes what was written so far."""

    def leave(self: Any, *_: Any) -> None:
        self.close()

    patch.setattr(ClosedOnSuccess, "__exit__", leave)


def takes_a_torn_file_for_whole(patch: pytest.MonkeyPatch) -> None:
    """A library closes what it could not write, and the disk has room for that."""
    real = AttemptFile.close

    def close(self: Any) -> None:
        self._torn_by = None
        real(self)

    patch.setattr(AttemptFile, "close", close)


def forgets_a_file_that_could_not_be_closed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AttemptNames, "fail", AttemptNames.discard)


def drops_in_a_fork_what_its_parent_writes(patch: pytest.MonkeyPatch) -> None:
    """A child that leaves the blocks which it has inherited ends the file as its own."""

    real = LocalFile.discard

    def forget(_: Any) -> None:
        """Go on as in the parent."""

    def discard(self: Any) -> None:
        self._process = os.getpid()
        real(self)

    patch.setattr(Task, "leave_to_parent", forget)
    patch.setattr(LocalFile, "discard", discard)


def drops_garbage_where_it_is_collected(patch: pytest.MonkeyPatch) -> None:
    """On the loop's own thread, say, where whoever waits for the loop waits for ever."""
    patch.setattr(AttemptFile, "abandon", AttemptFile.discard)


def takes_a_lock_where_garbage_is_collected(patch: pytest.MonkeyPatch) -> None:
    """Which its own thread may hold by then: it would wait for itself."""
    held = set[int]()

    @contextmanager
    def lock() -> Iterator[None]:
        me = threading.get_ident()
        if me in held:
            raise AssertionError("a thread waits for itself, for ever")
        held.add(me)
        try:
            yield
        finally:
            held.discard(me)

    def locked(real: Any) -> Any:
        def call(self: Any, *what: Any, **how: Any) -> Any:
            with lock():
                return real(self, *what, **how)

        return call

    patch.setattr(Task, "open", locked(Task.open))
    patch.setattr(AttemptFile, "abandon", locked(AttemptFile.abandon))


def forgets_the_messages_of_a_failed_commit(patch: pytest.MonkeyPatch) -> None:
    """Who catches the error and leaves the block commits without them."""
    real = LocalTasks._received

    def received(self: Any, job_id: str, others: Any) -> Any:
        return real(self, job_id, () if others is None else others)

    patch.setattr(LocalTasks, "_received", received)


def takes_a_task_for_left_out_that_still_runs(patch: pytest.MonkeyPatch) -> None:
    """Of two attempts one is aborted, and the job commits without the other."""

    def left_out(self: Any, task: Any) -> None:
        for attempt_id, task_id in list(self._running.items()):
            if task_id == task.task_id:
                del self._running[attempt_id]
        self._failed.pop(task.task_id, None)

    patch.setattr(LocalTasks, "task_left_out", left_out)


_REWRITES = "tests/integration/test_rewrites.py::"
_MESSAGES = "tests/integration/test_messages.py::"
BUGS = {
    "forgets that a name was opened again": Bug(forgets_that_a_name_was_opened_again),
    "finishes what a block gave up": Bug(finishes_what_a_block_gave_up),
    "takes a torn file for whole": Bug(takes_a_torn_file_for_whole),
    "forgets a file that could not be closed": Bug(forgets_a_file_that_could_not_be_closed),
    "drops in a fork what its parent writes": Bug(drops_in_a_fork_what_its_parent_writes),
    "drops garbage where it is collected": Bug(drops_garbage_where_it_is_collected),
    "takes a lock where garbage is collected": Bug(takes_a_lock_where_garbage_is_collected),
    "forgets the messages of a failed commit": Bug(forgets_the_messages_of_a_failed_commit),
    "takes a task for left out that still runs": Bug(takes_a_task_for_left_out_that_still_runs),
}
HELD_BY = {
    "forgets that a name was opened again": (
        f"{_REWRITES}test_pandas_and_pyarrow_rewrite_by_the_same_rule"
    ),
    "finishes what a block gave up": (
        "tests/integration/test_files.py::test_a_file_left_by_an_exception_is_dropped"
    ),
    "takes a torn file for whole": f"{_REWRITES}test_a_parquet_file_cut_short_is_not_committed",
    "forgets a file that could not be closed": (
        f"{_REWRITES}test_a_file_that_could_not_be_closed_stops_its_task"
    ),
    "drops in a fork what its parent writes": (
        "tests/protocol/planted/test_above_the_core.py"
        "::test_a_child_that_leaves_a_block_leaves_the_file_to_its_parent"
    ),
    "drops garbage where it is collected": (
        f"{_REWRITES}test_garbage_that_the_loop_collects_is_left_to_the_task"
    ),
    "takes a lock where garbage is collected": f"{_REWRITES}test_garbage_waits_for_nothing",
    "forgets the messages of a failed commit": (
        f"{_MESSAGES}test_a_commit_that_is_called_again_commits_the_same"
    ),
    "takes a task for left out that still runs": (
        f"{_MESSAGES}test_an_aborted_attempt_does_not_hide_one_that_still_runs"
    ),
}
