"""One job from start to end: committed, left by an exception, aborted, used a second time."""

import json
import re

import pytest
from fsspec.callbacks import Callback

import fsspec_commit as fc
from fsspec_commit.testing.committer_contract.given import (
    TASKS,
    Given,
    Place,
    raises,
    request_refused,
    shown,
    write,
)


class _Told(Callback):  # type: ignore[misc]  # fsspec ships no types
    """Notes each number of files that it is told, and whether the job is decided by then."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place
        self.job_id = ""
        self.sizes: list[tuple[int, bool]] = []

    def set_size(self, size: int) -> None:
        self.sizes.append((size, self._place.holds(f"_commit/{self.job_id}/decision")))


@pytest.mark.guarantees("P1", "P2", "P5")
class LifecycleContract(Given):
    """Start, commit, abort."""

    def test_nothing_is_visible_before_the_job_commits(self, place: Place) -> None:
        """Not while tasks write, not when they have committed; everything afterwards (P1)."""
        with place.job() as job:
            for files in TASKS:
                with job.task() as task:
                    write(task, files)
                    assert place.everything() == {}
                assert place.everything() == {}
            assert [found.state for found in fc.jobs(place.url, **place.how)] == ["open"]
        place.assert_committed(*TASKS)
        assert place.everything()["_SUCCESS"] == b""

    def test_the_result_says_what_was_done(self, place: Place) -> None:
        """Names, counts and bytes are those of the store."""
        result = place.commit(mode="append")
        found = {name: data for name, data in place.everything().items() if name != "_SUCCESS"}
        assert sorted(result.files) == sorted(found)
        assert len(result.files) == result.file_count == len(found)
        assert result.bytes == sum(map(len, found.values()))
        assert (result.state, result.mode) == ("committed", "append")
        assert result.committer == place.selection().committer
        assert (result.replaced_count, len(result.in_place), result.warnings) == (0, 0, ())
        assert result.statistics["committer_files_committed"] == len(found)
        assert result.statistics["committer_bytes_committed"] == result.bytes
        assert result.statistics["committer_tasks_completed"] == len(TASKS)
        assert re.fullmatch(r"\d{8}T\d{6}-[0-9a-f]{16}", result.job_id)

    def test_a_callback_is_told_of_a_job_that_is_decided(self, place: Place) -> None:
        """How many files there will be, once, when the decision stands; not before (P8)."""
        told = _Told(place)
        with place.job(callback=told) as job:
            told.job_id = job.job_id
            with job.task() as task:
                write(task, TASKS[0])
        assert told.sizes == [(len(TASKS[0]), True)]

    def test_committing_again_is_the_same_commit(self, place: Place) -> None:
        """A second call returns the same result and changes nothing."""
        with place.job() as job, job.task() as task:
            write(task, TASKS[0])
        before = place.everything()
        assert job.commit() == job.result
        assert job.commit() == job.result
        assert place.everything() == before

    def test_a_committed_job_cannot_be_aborted(self, place: Place) -> None:
        """Refused, with the outcome that says why, and nothing is deleted."""
        with place.job() as job, job.task() as task:
            write(task, TASKS[0])
        with raises(fc.JobNotActiveError, "committed"):
            job.abort()
        place.assert_committed(TASKS[0])

    def test_an_exception_aborts(self, place: Place) -> None:
        """The exception propagates as it is; nothing becomes visible, nothing is left (P5)."""
        boom = ValueError("boom")

        def fail() -> None:
            with place.job() as job:
                with job.task() as task:
                    write(task, TASKS[0])
                raise boom

        with pytest.raises(ValueError, match="boom") as caught:
            fail()
        assert caught.value is boom
        place.assert_untouched()

    def test_an_interrupt_aborts(self, place: Place) -> None:
        """Ctrl-C is an exception like any other."""

        def interrupted() -> None:
            with place.job() as job, job.task() as task:
                write(task, TASKS[0])
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        place.assert_untouched()

    def test_abort_leaves_nothing(self, place: Place) -> None:
        """With tasks done, begun and empty, files open or closed; and can be repeated (P5)."""
        place.put({"old.txt": b"old"})
        job = place.job(mode="overwrite").start()
        with job.task() as task:
            write(task, TASKS[0])
        begun = job.task()
        write(begun, TASKS[1])
        unfinished = begun.open("open.txt")
        unfinished.write(b"never closed")
        begun.open("forgotten.txt").write(b"nor this one")
        job.task()
        job.abort()
        assert unfinished.closed
        job.abort()
        place.assert_untouched({"old.txt": b"old"})
        with pytest.raises((fc.CommitError, RuntimeError)):
            job.commit()
        place.assert_untouched({"old.txt": b"old"})

    def test_abort_without_work(self, place: Place) -> None:
        """Neither a job nor a task needs to have done anything to be aborted."""
        job = place.job().start()
        task = job.task()
        task.abort()
        task.abort()
        job.abort()
        place.assert_untouched()

    def test_a_job_is_used_once(self, place: Place) -> None:
        """A second start is an error of the program."""
        with place.job() as job:
            with pytest.raises(RuntimeError):
                job.start()
            with job.task() as task:
                write(task, TASKS[0])
        with pytest.raises(RuntimeError), job:
            pass
        place.assert_committed(TASKS[0])

    def test_a_job_without_files_is_refused(self, place: Place) -> None:
        """It is taken for a mistake, unless the caller allows it."""
        with request_refused("empty_job"), place.job() as job, job.task():
            pass
        place.assert_untouched()
        result = place.commit([{}], allow_empty=True)
        assert (result.file_count, list(result.files)) == (0, [])
        place.assert_committed()

    def test_a_task_without_files_is_fine(self, place: Place) -> None:
        """Empty partitions are daily life."""
        place.commit([{}, TASKS[0], {}])
        place.assert_committed(TASKS[0])

    def test_an_open_job_can_be_corrected(self, place: Place) -> None:
        """After a refused request the job is still open: add what is missing, and commit."""
        job = place.job(tasks=3).start()
        for task_id in (0, 2):
            with job.task(task_id) as task:
                write(task, {f"{task_id}.txt": b"data"})
        with request_refused("missing_tasks") as caught:
            job.commit()
        assert "1" in str(caught.value)
        assert place.visible() == []
        with job.task(1) as task:
            write(task, {"1.txt": b"data"})
        job.commit()
        place.assert_committed({f"{task_id}.txt": b"data" for task_id in range(3)})

    def test_a_success_marker_is_written_as_asked(self, place: Place) -> None:
        """Empty by default, Hadoop's JSON, or none."""
        place.commit(mode="append")
        assert place.everything()["_SUCCESS"] == b""
        result = place.commit(mode="append", success="json")
        summary = json.loads(place.everything()["_SUCCESS"])
        assert summary["name"].startswith("org.apache.hadoop.fs.s3a.commit.files.SuccessData/1")
        assert result.job_id in json.dumps(summary)
        other = place.beside("-without-marker")
        other.commit(success="none")
        assert "_SUCCESS" not in other.everything()
        other.assert_committed(*TASKS, marker=False)

    def test_two_jobs_one_after_the_other(self, place: Place) -> None:
        """Each adds its own; a marker stands throughout."""
        for number in range(3):
            place.commit([{"part.txt": b"%d" % number}], mode="append")
        assert place.visible() == shown(*({"part.txt": b"%d" % n} for n in range(3)))
        place.assert_committed(*({"part.txt": b"%d" % n} for n in range(3)))
