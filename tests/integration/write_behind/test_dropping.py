"""Files on their way that are dropped: a request in flight is awaited, and no other is sent."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Literal

import pytest

import fsspec_commit as fc
from tests.integration.write_behind.gate import meanwhile, still_waits, write
from tests.integration.write_behind.held import (
    FILES,
    check_nothing_left,
    held_at,
    left_by_an_exception,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.flat.bucket import Bucket
    from tests.integration.write_behind.gate import Gate

WAYS: list[Callable[[fc.Task], None]] = [fc.Task.abort, left_by_an_exception]
pytestmark = pytest.mark.guarantees("P5")


@pytest.mark.parametrize("drop", WAYS)
@pytest.mark.parametrize("bucket", ["unversioned", "minio"], indirect=True)
def test_a_dropped_attempt_awaits_what_is_sent_and_sends_no_more(
    gate: Gate, url: str, bucket: Bucket, drop: Callable[[fc.Task], None]
) -> None:
    """An upload that was begun after everything of the attempt is removed would stay."""
    with fc.Job(url, mode="append", names="exact", allow_empty=True) as job:
        task = job.task()
        held_at(gate, task, "start")
        with meanwhile(lambda: drop(task)) as dropping:
            assert still_waits(dropping)
            gate.open()
        dropping.result()
        assert (gate.sent["start"], gate.sent["put_part"]) == (len(FILES), 0)
        assert not list(bucket.pending(""))
        if drop is left_by_an_exception:
            job.task(task.task_id).commit()
    check_nothing_left(bucket, url)


@pytest.mark.parametrize("drop", WAYS)
def test_its_last_request_is_awaited_too(
    gate: Gate, url: str, bucket: Bucket, drop: Callable[[fc.Task], None]
) -> None:
    with fc.Job(url, mode="append", names="exact", allow_empty=True) as job:
        task = job.task()
        held_at(gate, task, "put_part", "finish")
        with meanwhile(lambda: drop(task)) as dropping:
            assert still_waits(dropping)
            gate.open()
        dropping.result()
        assert not [key for key in bucket.keys("") if "/tasks/" in key]
        assert not list(bucket.pending(""))
        if drop is left_by_an_exception:
            job.task(task.task_id).commit()
    check_nothing_left(bucket, url)


def test_so_does_a_job_that_is_aborted(gate: Gate, url: str, bucket: Bucket) -> None:
    """Before it removes what its tasks have left; those of other threads can store no more."""
    job = fc.Job(url, mode="append", names="exact").start()
    tasks = [job.task() for _ in range(2)]
    held_at(gate, tasks[0], "start", "put_part", "finish")
    with meanwhile(job.abort) as aborting:
        assert still_waits(aborting)
        gate.open()
    aborting.result()
    check_nothing_left(bucket, url)
    for task in tasks:
        with pytest.raises(fc.JobNotActiveError):
            write(task, {"late.txt": b"late"})
        task.abort()
    check_nothing_left(bucket, url)


def failure(call: Callable[[], object]) -> BaseException | None:
    try:
        call()
    except fc.CommitError as error:
        return error
    return None


@pytest.mark.parametrize("names", ["unique", "exact"])
def test_threads_beside_the_abort_are_told_of_it(
    gate: Gate, url: str, bucket: Bucket, names: Literal["unique", "exact"]
) -> None:
    """Not that their file was dropped, which would have the task run again.

    They wait at every place that files on their way have waiters; the abort still waits for another
    task when they go on.
    """
    job = fc.Job(url, mode="append", names=names).start()
    tasks = [job.task() for _ in range(4)]
    gate.shut()
    for number in range(64):
        write(tasks[number % 4], {f"{number}.txt": b"x"})
    calls: list[Callable[[], object]] = [
        tasks[0].commit,
        tasks[1].commit,
        partial(tasks[2].filesystem.info, "2.txt"),
        partial(tasks[3].open, "3.txt"),
        tasks[3].open("no room.txt").close,
    ]
    with ThreadPoolExecutor(len(calls)) as pool:
        told = [pool.submit(failure, call) for call in calls]
        with meanwhile(job.abort) as aborting:
            waiting = [*map(still_waits, told), still_waits(aborting)]
            gate.open()
        aborting.result()
    assert all(waiting)
    for one in told:
        assert isinstance(one.result(), fc.JobNotActiveError), one.result()
    check_nothing_left(bucket, url)


def test_so_does_one_whose_task_nobody_holds_any_more(gate: Gate, url: str, bucket: Bucket) -> None:
    job = fc.Job(url, mode="append", names="exact").start()
    task = job.task()
    held_at(gate, task, "start", "put_part", "finish")
    del task
    gc.collect()
    with meanwhile(job.abort) as aborting:
        assert still_waits(aborting)
        gate.open()
    aborting.result()
    check_nothing_left(bucket, url)


def test_a_job_whose_abort_failed_has_dropped_the_files(
    gate: Gate, url: str, bucket: Bucket
) -> None:
    """They say so as this library does, and not as an event loop would."""
    job = fc.Job(url, mode="append", names="unique").start()
    task = job.task()
    held_at(gate, task, "start", "put_part", "finish")
    with meanwhile(job.abort) as aborting:
        assert still_waits(aborting)
        gate.is_down = True
        gate.open()
    with pytest.raises(fc.CommitError):
        aborting.result()
    gate.is_down = False
    with pytest.raises(fc.CommitFailedError, match=r"'0\.txt' was dropped") as caught:
        task.commit()
    assert caught.value.path == "0.txt"
    with pytest.raises(fc.CommitFailedError, match=r"'late\.txt' was dropped"):
        write(task, {"late.txt": b"late"})
    job.abort()
    check_nothing_left(bucket, url)


def test_who_waits_for_room_is_told_that_the_attempt_was_dropped(
    gate: Gate, url: str, bucket: Bucket
) -> None:
    with fc.Job(url, mode="append", names="exact", allow_empty=True) as job:
        task = job.task()
        gate.shut()
        room = 64
        for number in range(room):
            write(task, {f"{number}": b""})
        file = task.open("last.txt")
        with meanwhile(file.close) as closing:
            assert still_waits(closing)
            with meanwhile(task.abort) as dropping:
                gate.open()
            dropping.result()
        with pytest.raises(fc.CommitFailedError, match=r"'last\.txt' was dropped"):
            closing.result()
        assert gate.most == room
    check_nothing_left(bucket, url)


@pytest.mark.parametrize("drop", WAYS)
def test_what_was_dropped_is_not_kept_in_memory(
    gate: Gate, url: str, drop: Callable[[fc.Task], None]
) -> None:
    """A job may see many attempts fail."""
    with fc.Job(url, mode="append", names="exact") as job:
        task = job.task(0)
        held_at(gate, task, "start", "put_part", "finish")
        gate.open()
        drop(task)
        files = weakref.WeakMethod(task.stop_writing)
        task = job.task(0)
        write(task, FILES)
        task.commit()
        gc.collect()
        assert files() is None


def test_an_abort_beside_a_task_that_fails(gate: Gate, url: str, bucket: Bucket) -> None:
    """Both drop the files: the second has the first wait on."""
    job = fc.Job(url, mode="append", names="exact").start()
    task = job.task()
    held_at(gate, task, "start", "put_part", "finish")
    with meanwhile(job.abort) as aborting:
        assert still_waits(aborting)
        with meanwhile(partial(left_by_an_exception, task)) as leaving:
            assert still_waits(leaving)
            assert not aborting.done()
            gate.open()
        leaving.result()
    aborting.result()
    check_nothing_left(bucket, url)
