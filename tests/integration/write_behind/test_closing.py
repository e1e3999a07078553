"""Small files are stored behind their writer's back: who waits for them, what they may take."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import FSSpecHandler, PyFileSystem

import fsspec_commit as fc
from fsspec_commit.effects.budget import Budget
from fsspec_commit.testing.assertions import assert_committed, assert_no_leftovers
from tests.flat.bucket import AWS, Bucket, make_bucket
from tests.integration.write_behind.gate import (
    Gate,
    content,
    meanwhile,
    still_waits,
    write,
)
from tests.scenes.waiting import until

FILES = {f"{number}.txt": b"%d" % number for number in range(5)}


@pytest.mark.guarantees("P1")
def test_closing_does_not_wait_and_the_commit_does(gate: Gate, url: str, bucket: Bucket) -> None:
    with fc.Job(url, mode="append", names="exact") as job:
        task = job.task()
        gate.shut()
        write(task, FILES)
        gate.wait_for(len(FILES))
        with meanwhile(task.commit) as committing:
            assert still_waits(committing)
            gate.open()
        message = committing.result()
        assert (message.file_count, message.bytes) == (len(FILES), len(FILES))
        assert content(bucket) == {}
    assert content(bucket) == FILES
    assert_committed(url, file_count=len(FILES))


def test_closing_waits_if_that_is_asked_for(gate: Gate, url: str) -> None:
    with fc.Job(url, mode="append", names="exact", write_behind=False) as job:
        assert not job.spec.write_behind
        for task in (job.task(), fc.Task.from_spec(job.spec, 1)):
            gate.shut()
            with meanwhile(partial(write, task, {f"{task.task_id}.txt": b"a"})) as writing:
                assert still_waits(writing)
                gate.open()
            writing.result()
            task.abort()
        gate.refused = "a.txt"
        with job.task() as task:
            file = task.open("a.txt")
            with pytest.raises(fc.StoreError, match="no room"):
                file.close()
            task.filesystem.rm("a.txt")
            write(task, {"b.txt": b"b"})
    assert_committed(url, file_count=1)


def test_closing_waits_for_a_file_that_has_filled_a_part(gate: Gate, url: str) -> None:
    with fc.Job(url, mode="append") as job, job.task() as task:
        file = task.open("long")
        file.write(b"x" * (9 << 20))
        gate.shut()
        with meanwhile(file.close) as closing:
            assert still_waits(closing)
            gate.open()
        closing.result()
    assert_committed(url, file_count=1)


def test_names_and_sizes_are_known_at_close(gate: Gate, url: str) -> None:
    with fc.Job(url, mode="append") as job, job.task() as task:
        gate.shut()
        file: Any = task.open("a.txt")
        file.write(b"12345")
        file.close()
        known = file.finished
        assert known.size_bytes == 5
        gate.open()
    assert job.result is not None
    assert list(job.result.files) == [known.target]


@pytest.mark.guarantees("P1")
def test_what_comes_after_closing_changes_nothing(gate: Gate, url: str, bucket: Bucket) -> None:
    """Closed again, discarded or collected: it is handed over once, and stays."""
    with fc.Job(url, mode="append", names="exact") as job, job.task() as task:
        gate.shut()
        file: Any = task.open("a.txt")
        file.write(b"a")
        file.close()
        file.close()
        file.discard()
        with pytest.raises(ValueError, match="closed file"):
            file.write(b"b")
        del file
        gc.collect()
        gate.wait_for(1)
        gate.open()
    assert max(gate.sent[verb] for verb in ("start", "put_part", "finish")) == 1
    assert content(bucket) == {"a.txt": b"a"}


class TestOtherThreads:
    """What they do while a commit waits."""

    @pytest.mark.guarantees("P1")
    def test_a_file_that_is_open_by_then_stops_it(
        self, gate: Gate, url: str, bucket: Bucket
    ) -> None:
        with fc.Job(url, mode="append", names="exact") as job:
            task = job.task()
            gate.shut()
            write(task, {"a.txt": b"a"})
            with meanwhile(task.commit) as committing:
                assert still_waits(committing)
                late = task.open("late.txt")
                gate.open()
            with pytest.raises(fc.RequestError, match=r"open file 'late\.txt'"):
                committing.result()
            late.write(b"late")
            late.close()
            assert task.commit().file_count == 2
        assert content(bucket) == {"a.txt": b"a", "late.txt": b"late"}

    @pytest.mark.guarantees("P1")
    def test_a_file_that_is_closed_by_then_is_waited_for(
        self, gate: Gate, url: str, bucket: Bucket
    ) -> None:
        with fc.Job(url, mode="append", names="exact") as job:
            task = job.task()
            gate.shut()
            write(task, {"a.txt": b"a"})
            with meanwhile(task.commit) as committing:
                assert still_waits(committing)
                write(task, {"late.txt": b"late"})
                gate.open()
            assert committing.result().file_count == 2
        assert content(bucket) == {"a.txt": b"a", "late.txt": b"late"}

    @pytest.mark.guarantees("P2")
    def test_an_abort_is_told(self, gate: Gate, url: str, bucket: Bucket) -> None:
        with fc.Job(url, mode="append", names="exact", allow_empty=True) as job:
            task = job.task()
            gate.shut()
            write(task, {"a.txt": b"a"})
            with meanwhile(task.commit) as committing:
                assert still_waits(committing)
                with meanwhile(task.abort) as aborting:
                    gate.open()
                aborting.result()
            with pytest.raises((RuntimeError, fc.CommitFailedError), match=r"aborted|dropped"):
                committing.result()
        assert content(bucket) == {}
        assert_no_leftovers(url)

    def test_only_one_of_two_commits(self, gate: Gate, url: str) -> None:
        with fc.Job(url, mode="append", names="exact") as job:
            task = job.task()
            gate.shut()
            write(task, {"a.txt": b"a"})
            with meanwhile(task.commit) as one, meanwhile(task.commit) as other:
                assert still_waits(one)
                assert still_waits(other)
                gate.open()
            errors = [error for call in (one, other) if (error := call.exception()) is not None]
            for error in errors:  # Whoever comes when it has committed gets its message.
                assert isinstance(error, RuntimeError)
                assert "use a new job.task()" in str(error)
            assert len(errors) < 2
        assert_committed(url, file_count=1)


class TestBudget:
    def test_so_many_files_are_on_their_way(
        self, gate: Gate, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """All tasks of one opened store together; the next file waits to be closed."""
        self._limit(monkeypatch, files_max=3)
        with fc.Job(url, mode="append") as job:
            one, other = job.task(), job.task()
            gate.shut()
            write(one, {"a": b"", "b": b"b"})
            write(other, {"c": b"c"})
            with meanwhile(partial(write, other, {"d": b"d"})) as closing:
                assert still_waits(closing)
                assert gate.waiting == 3
                gate.open()
            closing.result()
            for task in (one, other):
                task.commit()
        assert gate.most == 3
        assert_committed(url, file_count=4)

    def test_so_many_bytes_are_on_their_way(
        self, gate: Gate, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self._limit(monkeypatch, bytes_max=10)
        with fc.Job(url, mode="append") as job, job.task() as task:
            gate.shut()
            write(task, {"a": b"12345", "b": b"12345"})
            with meanwhile(partial(write, task, {"larger than all": b"x" * 11})) as closing:
                assert still_waits(closing)
                gate.open()
            closing.result()
        assert gate.most == 2
        assert_committed(url, file_count=3)

    def test_parts_and_whole_files_share_it(
        self, gate: Gate, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self._limit(monkeypatch, bytes_max=10)
        with fc.Job(f"flat://{make_bucket(AWS).name}/out", mode="append") as job:
            task = job.task()
            gate.shut()
            write(task, {"a": b"12345", "b": b"12345"})
            long = task.open("long")
            with meanwhile(partial(long.write, b"x" * (9 << 20))) as writing:
                until(lambda: gate.waiting == 3)
                assert still_waits(writing)
                assert gate.sent["put_part"] == 0
                gate.open()
            writing.result()
            long.close()
            task.commit()

    @staticmethod
    def _limit(monkeypatch: pytest.MonkeyPatch, **limits: int) -> None:
        limited = partial(Budget, **limits)
        monkeypatch.setattr("fsspec_commit.effects.confirmed.store.Budget", limited)


class TestFilesystem:
    """What the attempt's filesystem shows is stored."""

    @pytest.mark.parametrize("call", ["info", "exists", "size", "ls", "find"])
    def test_it_waits_for_what_it_shows(self, gate: Gate, url: str, call: str) -> None:
        with fc.Job(url, mode="append") as job, job.task() as task:
            gate.shut()
            write(task, {"d/a.txt": b"abc"})
            path = "d" if call in {"ls", "find"} else "d/a.txt"
            with meanwhile(partial(getattr(task.filesystem, call), path)) as asking:
                assert still_waits(asking)
                gate.open()
            assert asking.result() in (
                {"name": "d/a.txt", "size": 3, "type": "file"},
                [{"name": "d/a.txt", "size": 3, "type": "file"}],
                ["d/a.txt"],
                True,
                3,
            )

    def test_it_waits_for_nothing_else(self, gate: Gate, url: str) -> None:
        with fc.Job(url, mode="append") as job, job.task() as task:
            gate.shut()
            write(task, {"d/a.txt": b"abc"})
            assert not task.filesystem.exists("d/b.txt")
            assert not task.filesystem.exists("d/a.txt.gz")
            assert not task.filesystem.exists("e")
            gate.open()

    def test_libraries_close_many_files_without_a_wait(self, gate: Gate, url: str) -> None:
        table = pa.table({"a": [1, 2]})
        with fc.Job(url, mode="append") as job, job.task() as task:
            gate.shut()
            arrow = PyFileSystem(FSSpecHandler(task.filesystem))
            pq.write_table(table, "arrow.parquet", filesystem=arrow)
            pq.write_table(table, "fsspec.parquet", filesystem=task.filesystem)
            frame = pd.DataFrame({"a": [1]})
            frame.to_parquet("pandas.parquet", filesystem=task.filesystem)
            task.filesystem.pipe_file("piped.txt", b"a")
            task.filesystem.touch("touched")
            gate.wait_for(5)
            gate.open()
        assert_committed(url, file_count=5)


class TestNames:
    """A name has one file at a time."""

    @pytest.mark.guarantees("P1", "P2")
    def test_one_that_is_opened_again_waits(self, gate: Gate, url: str, bucket: Bucket) -> None:
        with fc.Job(url, mode="append", names="exact") as job, job.task() as task:
            gate.shut()
            write(task, {"a.txt": b"first"})
            with meanwhile(partial(write, task, {"a.txt": b"second"})) as writing:
                assert still_waits(writing)
                gate.open()
            writing.result()
        assert content(bucket) == {"a.txt": b"second"}
        assert_no_leftovers(url)

    @pytest.mark.guarantees("P2")
    def test_one_that_is_removed_waits(self, gate: Gate, url: str, bucket: Bucket) -> None:
        with fc.Job(url, mode="append", names="exact") as job, job.task() as task:
            gate.shut()
            write(task, {"a.txt": b"first", "b.txt": b"b"})
            with meanwhile(partial(task.filesystem.rm, "a.txt")) as removing:
                assert still_waits(removing)
                gate.open()
            removing.result()
        assert content(bucket) == {"b.txt": b"b"}
        assert_no_leftovers(url)

    def test_many_threads_write_many_names(
        self, gate: Gate, url: str, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            "fsspec_commit.effects.confirmed.store.Budget", partial(Budget, files_max=4)
        )
        names = [f"{number % 20}.txt" for number in range(100)]
        with fc.Job(url, mode="append", names="exact") as job, job.task() as task:
            for some in (names[start : start + 20] for start in range(0, 100, 20)):
                with ThreadPoolExecutor(8) as pool:
                    writing = [pool.submit(write, task, {name: name.encode()}) for name in some]
                    removing = [pool.submit(task.filesystem.exists, name) for name in some]
                for one in (*writing, *removing):
                    one.result()
        assert gate.most <= 4
        assert content(bucket) == {name: name.encode() for name in set(names)}
        assert_no_leftovers(url)
