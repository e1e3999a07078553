"""A file that was closed and could not be stored: who is told, when, and what can be done then."""

from __future__ import annotations

import pickle
import threading
import tracemalloc
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from fsspec_commit.errors import Reply
from fsspec_commit.sync import bridge
from fsspec_commit.testing.assertions import assert_no_leftovers
from fsspec_commit.testing.committer_contract.given import request_refused
from tests.integration.write_behind.gate import content, meanwhile, write

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from tests.flat.bucket import Bucket
    from tests.integration.write_behind.gate import Gate

GOOD = {"good.txt": b"good", "better.txt": b"better"}
BAD = {"d/bad.txt": b"bad"}
FILE_BYTES = 2 << 20
pytestmark = pytest.mark.guarantees("P1")


def fails(task: fc.Task, gate: Gate, *, name: str = "d/bad.txt") -> fc.CommitFailedError:
    with pytest.raises(fc.CommitFailedError) as caught:
        task.commit()
    error = caught.value
    assert error.outcome == "not_committed"
    assert error.path == name
    assert error.stage == "write"
    for told in (repr(name), "was closed", "there is no room", "write it again"):
        assert told in str(error)
    assert isinstance(error.__cause__, fc.StoreError)
    assert pickle.loads(pickle.dumps(error)).path == name  # our own
    gate.refused = ""
    return error


def write_again(job: fc.Job, task: fc.Task, files: dict[str, bytes]) -> fc.Task:
    """Write *files* by the same attempt; or by another one, where no other request may be late."""
    if job.selection.committer == "manifest":
        with pytest.raises(fc.CommitFailedError, match="run the task again"):
            write(task, files)
        task.abort()
        task = job.task(task.task_id)
    write(task, files)
    return task


def test_the_commit_names_it_and_the_file_is_written_again(
    gate: Gate, url: str, bucket: Bucket
) -> None:
    gate.refused = "bad.txt"
    with fc.Job(url, mode="append", names="exact") as job:
        task = job.task()
        gate.write(task, {**GOOD, **BAD})
        fails(task, gate)
        with request_refused("file_discarded") as refused:
            task.commit()  # Whoever goes on is told once more, by its name.
        assert "'d/bad.txt'" in str(refused.value)
        with request_refused("missing_tasks"):
            job.commit()
        task = write_again(job, task, BAD)
        write(task, GOOD)
        task.commit()
    assert content(bucket) == {**GOOD, **BAD}
    assert_no_leftovers(url)


def test_or_it_is_removed(gate: Gate, url: str, bucket: Bucket) -> None:
    gate.refused = "bad.txt"
    with fc.Job(url, mode="append", names="exact") as job:
        task = job.task()
        gate.write(task, {**GOOD, **BAD})
        fails(task, gate)
        task.filesystem.rm("d/bad.txt")
        task.commit()
    assert content(bucket) == GOOD
    assert_no_leftovers(url)


def test_what_is_removed_or_replaced_is_not_told(gate: Gate, url: str, bucket: Bucket) -> None:
    """Nobody misses it."""
    with fc.Job(url, mode="append", names="exact") as job, job.task() as task:
        write(task, GOOD)
        assert task.filesystem.find("") == sorted(GOOD)
        gate.refused = "bad.txt"
        gate.write(task, BAD)
        task.filesystem.rm("d/bad.txt")
        gate.refused = "better.txt"
        gate.shut()
        write(task, {"better.txt": b"?"})
        with meanwhile(partial(task.open, "better.txt")) as opening:
            gate.open()
        gate.refused = ""
        if job.selection.committer == "magic":
            with opening.result() as file:
                file.write(b"best")
        else:
            with pytest.raises(fc.CommitFailedError, match=r"cannot write 'better\.txt' again"):
                opening.result()
            task.filesystem.rm("better.txt")
    best = {"better.txt": b"best"} if job.selection.committer == "magic" else {}
    assert content(bucket) == {"good.txt": b"good", **best}
    assert_no_leftovers(url)


def test_a_task_and_its_job_end_with_it(gate: Gate, url: str, bucket: Bucket) -> None:
    gate.refused = "bad.txt"
    told = pytest.raises(fc.CommitFailedError, match="could not be stored")
    with told, fc.Job(url, mode="append", names="exact") as job, job.task() as task:
        write(task, {**GOOD, **BAD})
    assert content(bucket) == {}
    assert_no_leftovers(url)
    assert fc.jobs(url) == []


def test_the_next_file_is_not_begun(gate: Gate, url: str, bucket: Bucket) -> None:
    """Else whoever writes for hours would learn at the end what went wrong at the beginning."""
    gate.refused = "bad.txt"
    with fc.Job(url, mode="append", names="exact") as job:
        task = job.task()
        write(task, BAD)
        assert not task.filesystem.exists("d/bad.txt")  # By now it has failed.
        with pytest.raises(fc.CommitFailedError, match=r"'d/bad\.txt' was closed"):
            task.open("good.txt")
        gate.refused = ""
        write(task, GOOD)
        with request_refused("file_discarded"):
            task.commit()
        task = write_again(job, task, BAD)
        write(task, GOOD)
        task.commit()
    assert content(bucket) == {**GOOD, **BAD}


def test_the_filesystem_says_why_it_is_not_there(gate: Gate, url: str) -> None:
    gate.refused = "bad.txt"
    with fc.Job(url, mode="append", names="exact") as job:
        task = job.task()
        gate.write(task, {**BAD, **GOOD})
        for call in (task.filesystem.info, task.filesystem.ls):
            for path in ("d/bad.txt", "d"):
                with pytest.raises(fc.CommitFailedError, match="no room"):
                    call(path)
        assert task.filesystem.info("good.txt")["size"] == 4
        fails(task, gate)
        assert task.filesystem.find("") == sorted(GOOD)
        task.abort()
        job.abort()


def test_a_failure_that_another_thread_is_told_is_not_the_old_content(
    gate: Gate, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has waited for a file that was written again, and could not be stored, looks again."""
    has_waited, was_told = threading.Event(), threading.Event()

    def run(call: Coroutine[Any, Any, Any]) -> Any:
        answer = bridge.run(call)
        has_waited.set()
        was_told.wait()
        return answer

    with fc.Job(url, mode="append", names="exact") as job:
        task = job.task()
        write(task, {"a.txt": b"old"})
        assert task.filesystem.size("a.txt") == len(b"old")
        gate.refused = "a.txt"
        gate.shut()
        write(task, {"a.txt": b"much longer"})
        monkeypatch.setattr("fsspec_commit.sync.closed_files.bridge", SimpleNamespace(run=run))
        with meanwhile(partial(task.filesystem.size, "a.txt")) as asking:
            gate.open()
            has_waited.wait()
            with pytest.raises(fc.CommitFailedError, match=r"'a\.txt' was closed"):
                task.open("b.txt")
            was_told.set()
        with pytest.raises((fc.CommitFailedError, FileNotFoundError), match=r"a\.txt"):
            asking.result()
        job.abort()


def test_several_are_named_together(gate: Gate, url: str) -> None:
    gate.refused = "bad"
    with fc.Job(url, mode="append", names="exact") as job:
        task = job.task()
        gate.write(task, {"bad 1": b"1", "bad 2": b"2"})
        error = fails(task, gate, name="bad 1")
        assert "nor could 'bad 2' be stored" in "".join(error.__notes__)
        job.abort()


def test_a_store_that_does_not_answer_is_asked_again(gate: Gate, url: str) -> None:
    gate.refused, gate.reply = "bad.txt", Reply.UNKNOWN
    with fc.Job(url, mode="append", names="exact") as job:
        task = job.task()
        write(task, BAD)
        fails(task, gate)
        if job.selection.committer == "magic":  # Of others the adapter says whether it can go on.
            assert gate.sent["put_part"] > 2
        job.abort()


def test_an_end_of_the_job_is_told_as_such(gate: Gate, url: str) -> None:
    """Not as a failure of the store, which would have the task run again."""
    job = fc.Job(url, mode="append", names="exact").start()
    task = fc.Task.from_spec(job.spec, 0)
    gate.shut()
    write(task, BAD)
    job.abort()
    gate.refused = "bad.txt"
    gate.open()
    with pytest.raises(fc.JobNotActiveError):
        task.commit()
    task.abort()
    assert_no_leftovers(url)


def test_a_store_that_is_down_does_not_hide_which_file_it_was(gate: Gate, url: str) -> None:
    """Whether the job still stands, or what was begun can be removed, nobody can ask it."""
    job = fc.Job(url, mode="append", names="exact").start()
    task = job.task()
    gate.shut()
    write(task, BAD)
    gate.wait_for(1)
    gate.is_down = True
    gate.open()
    with pytest.raises(fc.CommitFailedError, match=r"'d/bad\.txt' was closed.*is down") as caught:
        task.commit()
    assert caught.value.path == "d/bad.txt"
    gate.is_down = False
    job.abort()
    assert_no_leftovers(url)


def test_a_name_that_must_be_new_is_not_before_its_failure_is_told(gate: Gate, url: str) -> None:
    """Whoever takes "it is there" for done would go on without it."""
    gate.refused = "bad.txt"
    with fc.Job(url, mode="append", names="exact") as job, job.task() as task:
        gate.write(task, {**GOOD, **BAD})
        with pytest.raises(FileExistsError, match=r"good\.txt"):
            task.open("good.txt", "xb")
        assert not task.filesystem.exists("d/bad.txt")  # By now it has failed.
        with pytest.raises(fc.CommitFailedError, match=r"'d/bad\.txt' was closed"):
            task.open("d/bad.txt", "xb")
        task.filesystem.rm("d/bad.txt")
    assert job.result is not None
    assert job.result.file_count == len(GOOD)


def test_what_failed_is_not_kept_in_memory(gate: Gate, url: str) -> None:
    """A task that goes on after errors holds none of the files that they are about."""
    gate.refused = "bad"
    with fc.Job(url, mode="append", names="exact") as job:
        task = job.task()
        tracemalloc.start()
        try:
            gate.write(task, {f"bad {number}": b"x" * FILE_BYTES for number in range(3)})
            with pytest.raises(fc.CommitFailedError):
                task.commit()
            held_bytes, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert held_bytes < FILE_BYTES
        job.abort()


def test_a_disk_tells_when_a_file_is_closed(tmp_path: Path) -> None:
    with fc.Job(tmp_path / "out", mode="append", names="exact") as job, job.task() as task:
        write(task, GOOD)
        assert sorted(task.filesystem.find("")) == sorted(GOOD)
        assert job.spec.write_behind
