"""Attempts of tasks: several of one, some late, some on other threads, one chosen."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

import fsspec_commit as fc
from fsspec_commit.testing.committer_contract.given import (
    TASKS,
    Given,
    Place,
    request_refused,
    shown,
    write,
)

_MESSAGE_BYTES_MAX = 1024


@pytest.mark.guarantees("P2", "P3", "P6")
class AttemptsContract(Given):
    """`Task`, and the messages that tasks send."""

    @pytest.mark.parametrize("chosen", [0, 1], ids=["first", "second"])
    def test_the_attempt_that_is_passed_in_is_visible(self, place: Place, chosen: int) -> None:
        """Two attempts of one task, other names each: the driver chooses (P2, P3, HADOOP-17258)."""
        files = [{"first.txt": b"1", "both.txt": b"1"}, {"second.txt": b"2", "both.txt": b"2"}]
        job = place.job().start()
        messages = [place.attempt(job.spec, 0, some) for some in files]
        result = job.commit([messages[chosen]])
        assert result.file_count == len(files[chosen])
        place.assert_committed(files[chosen])

    def test_two_attempts_of_one_task_are_refused(self, place: Place) -> None:
        """The caller chooses, not the order of the list; the same message twice is one (P3)."""
        job = place.job().start()
        messages = [place.attempt(job.spec, 0, files) for files in TASKS]
        with request_refused("duplicate_task"):
            job.commit(messages)
        assert place.visible() == []
        job.commit([messages[1], messages[1]])
        place.assert_committed(TASKS[1])

    def test_messages_travel(self, place: Place) -> None:
        """As JSON and as pickles, small ones, between processes."""
        job = place.job(tasks=2).start()
        spec = pickle.loads(pickle.dumps(fc.JobSpec.from_json(job.spec.to_json())))  # noqa: S301  # our own bytes
        messages = [place.attempt(spec, number, files) for number, files in enumerate(TASKS)]
        for message in messages:
            assert len(pickle.dumps(message)) < _MESSAGE_BYTES_MAX
            assert pickle.loads(pickle.dumps(message)) == message  # noqa: S301  # our own bytes
            assert message.file_count == len(TASKS[message.task_id])
            assert message.bytes == sum(map(len, TASKS[message.task_id].values()))
        job.commit(fc.TaskCommit.from_json(message.to_json()) for message in messages)
        place.assert_committed(*TASKS)

    def test_another_jobs_message_is_refused(self, place: Place) -> None:
        """A message belongs to its job."""
        other = place.job(mode="append").start()
        message = place.attempt(other.spec, 0, TASKS[0])
        job = place.job(mode="append").start()
        with pytest.raises(fc.CommitError) as caught:
            job.commit([message])
        assert caught.value.outcome == "not_committed"
        assert place.visible() == []
        job.abort()
        other.commit([message])
        place.assert_committed(TASKS[0])

    def test_a_failed_task_fails_the_commit(self, place: Place) -> None:
        """An exception that was swallowed counts: retry the task, or leave it out on purpose."""

        def fail(task: fc.Task) -> None:
            with task:
                write(task, {"torn.txt": b"half"})
                raise ValueError("boom")

        for remedy in ("retry", "abort"):
            there = place.beside(f"-{remedy}")
            job = there.job().start()
            with job.task() as task:
                write(task, TASKS[0])
            failed = job.task()
            with pytest.raises(ValueError, match="boom"):
                fail(failed)
            with request_refused("missing_tasks"):
                job.commit()
            assert there.visible() == []
            if remedy == "retry":
                with job.task(failed.task_id) as task:
                    write(task, TASKS[1])
            else:
                failed.abort()
            job.commit()
            there.assert_committed(*(TASKS if remedy == "retry" else TASKS[:1]))

    def test_a_task_that_is_not_committed_fails_the_commit(self, place: Place) -> None:
        """Its files are not published, and the job is not committed without them."""
        job = place.job().start()
        with job.task() as task:
            write(task, TASKS[0])
        pending = job.task()
        write(pending, TASKS[1])
        with request_refused("missing_tasks"):
            job.commit()
        assert place.visible() == []
        pending.commit()
        job.commit()
        place.assert_committed(*TASKS)

    def test_an_open_file_stops_its_task(self, place: Place) -> None:
        """A file that is still open is not whole; closed, it is committed."""
        with place.job() as job:
            task = job.task()
            file = task.open("a.txt")
            file.write(b"data")
            with request_refused("file_open"):
                task.commit()
            file.close()
            task.commit()
        place.assert_committed({"a.txt": b"data"})

    def test_a_file_left_by_an_exception_is_discarded(self, place: Place) -> None:
        """Even when the task goes on: half a file is never published."""

        def fail(task: fc.Task) -> None:
            with task.open("torn.txt") as file:
                file.write(b"half")
                raise ValueError("boom")

        with place.job() as job, job.task() as task:
            with pytest.raises(ValueError, match="boom"):
                fail(task)
            write(task, {"whole.txt": b"whole"})
        place.assert_committed({"whole.txt": b"whole"})

    @pytest.mark.parametrize("ended", ["committed", "aborted"])
    def test_a_late_attempt_changes_nothing(self, place: Place, ended: str) -> None:
        """An attempt that outlives its job is refused and shows nothing, ever (P6)."""
        job = place.job().start()
        with job.task() as task:
            write(task, TASKS[0])
        late = [place.task(job.spec, number) for number in (0, 1, 2)]
        write(late[0], TASKS[1])
        half = late[1].open("half.txt")
        half.write(b"half")
        if ended == "committed":
            job.commit()
        else:
            job.abort()
        before = place.everything()
        for attempt in late:
            with pytest.raises((fc.CommitError, OSError)):
                write(attempt, {"late.txt": b"late"})
                attempt.commit()
            assert place.everything() == before
        with pytest.raises((fc.CommitError, OSError)):
            half.write(b"more" * 1000)
            half.close()
            late[1].commit()
        for attempt in late:
            attempt.abort()
        assert place.everything() == before
        place.clean()
        assert place.everything() == before
        if ended == "committed":
            place.assert_committed(TASKS[0])
        else:
            place.assert_untouched()

    def test_tasks_commit_in_parallel(self, place: Place) -> None:
        """On many threads, into one directory, as if one after the other (P4): nothing nests."""
        files = [{f"sub/dir/{n}.txt": b"%d" % n, f"sub/{n}.txt": b""} for n in range(16)]
        job = place.job(tasks=len(files)).start()
        with ThreadPoolExecutor(len(files)) as threads:
            messages = list(
                threads.map(lambda n: place.attempt(job.spec, n, files[n]), range(len(files)))
            )
        job.commit(messages)
        place.assert_committed(*files)

    def test_tasks_of_one_job_on_many_threads(self, place: Place) -> None:
        """`job.task` may be called anywhere, and gives every thread an id of its own."""
        files = [{"part.txt": b"%d" % n} for n in range(16)]

        def run(number: int) -> None:
            with job.task() as task:
                write(task, files[number])

        with place.job() as job, ThreadPoolExecutor(len(files)) as threads:
            list(threads.map(run, range(len(files))))
        place.assert_committed(*files)

    def test_the_first_attempt_to_finish_is_chosen(self, place: Place) -> None:
        """Where no message travels, the store holds the choice; no other attempt's files appear."""
        spec = place.job(tasks=2, collect="store").start().spec
        first = place.attempt(spec, 0, TASKS[0])
        second = place.attempt(spec, 0, {"loser.txt": b"loser"})
        assert (first.chosen, second.chosen) == (True, False)
        with request_refused("missing_tasks"):
            place.driver(spec).commit()
        assert place.visible() == []
        place.attempt(spec, 1, TASKS[1])
        place.driver(spec).commit()
        assert place.visible() == shown(*TASKS)
        place.assert_committed(*TASKS)
