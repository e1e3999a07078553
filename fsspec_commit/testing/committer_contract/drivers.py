"""Several parties that would settle one job: a second driver, an operator, an aborter."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import fsspec_commit as fc
from fsspec_commit.testing.committer_contract.given import (
    TASKS,
    Given,
    Place,
    write,
)


@pytest.mark.guarantees("P5", "P7")
class DriversContract(Given):
    """`resume`, `abort`, `jobs`, `Job.from_spec`."""

    def _ready(self, place: Place) -> tuple[fc.Job, list[fc.TaskCommit]]:
        job = place.job(mode="append").start()
        return job, [place.attempt(job.spec, n, files) for n, files in enumerate(TASKS)]

    def test_another_driver_commits(self, place: Place) -> None:
        """A spec and the messages are all it takes."""
        job, messages = self._ready(place)
        result = place.driver(job.spec).commit(messages)
        assert result.job_id == job.job_id
        place.assert_committed(*TASKS)

    def test_a_second_driver_loses(self, place: Place) -> None:
        """It is told so, never that it may clean up, and touches nothing (P6, P7)."""
        job, messages = self._ready(place)
        second = place.driver(job.spec)
        job.commit(messages)
        before = place.everything()
        with pytest.raises(fc.JobNotActiveError) as caught:
            second.commit(messages)
        assert caught.value.outcome != "not_committed", "it would clean up what is committed"
        assert place.everything() == before
        place.assert_committed(*TASKS)

    def test_of_many_drivers_one_commits(self, place: Place) -> None:
        """All at once: one result, and nobody is told that nothing was committed (P7)."""
        job, messages = self._ready(place)
        drivers = [job, *(place.driver(job.spec) for _ in range(5))]

        def commit(driver: fc.Job) -> str:
            try:
                return driver.commit(messages).state
            except fc.CommitError as error:
                return error.outcome

        with ThreadPoolExecutor(len(drivers)) as threads:
            outcomes = list(threads.map(commit, drivers))
        assert "committed" in outcomes
        assert "not_committed" not in outcomes, outcomes
        place.clean()
        place.assert_committed(*TASKS)

    def test_an_abort_from_elsewhere_fences_the_driver(self, place: Place) -> None:
        """An operator's `abort` wins over a driver that has not decided (P5, P7)."""
        job, messages = self._ready(place)
        fc.abort(place.url, job.job_id, **place.how)
        place.assert_untouched()
        with pytest.raises(fc.JobNotActiveError) as caught:
            job.commit(messages)
        assert caught.value.outcome != "committed"
        place.assert_untouched()

    def test_abort_and_commit_race(self, place: Place) -> None:
        """One of them wins, the other is told the truth, and the store agrees with both (P7)."""
        for turn in range(4):
            there = place.beside(f"-{turn}")
            job, messages = self._ready(there)

            def commit(job: fc.Job = job, messages: list[fc.TaskCommit] = messages) -> str:
                try:
                    return job.commit(messages).state
                except fc.JobNotActiveError as error:
                    return error.outcome

            def abort(there: Place = there, job: fc.Job = job) -> str:
                try:
                    fc.abort(there.url, job.job_id, **there.how)
                except fc.JobNotActiveError as error:
                    return error.outcome
                return "not_committed"

            with ThreadPoolExecutor(2) as threads:
                committing, aborting = threads.submit(commit), threads.submit(abort)
                outcomes = [committing.result(), aborting.result()]
            there.clean()
            if outcomes[0] == "committed":
                there.assert_committed(*TASKS)
            else:
                assert outcomes[0] != "partial"
                assert outcomes[1] == "not_committed"
                there.assert_untouched()

    def test_a_finished_job_is_not_resumed(self, place: Place) -> None:
        """Nor aborted from elsewhere; what it committed stays."""
        job, messages = self._ready(place)
        job.commit(messages)
        with pytest.raises(fc.CommitError):
            fc.resume(place.url, job.job_id, **place.how)
        with pytest.raises(fc.CommitError):
            fc.abort(place.url, job.job_id, **place.how)
        place.assert_committed(*TASKS)

    def test_an_undecided_job_is_not_resumed(self, place: Place) -> None:
        """Its driver may still commit it, and does."""
        job, messages = self._ready(place)
        with pytest.raises(fc.CommitError, match=job.job_id) as caught:
            fc.resume(place.url, job.job_id, **place.how)
        assert caught.value.outcome == "unknown"
        job.commit(messages)
        place.assert_committed(*TASKS)

    def test_jobs_are_shown(self, place: Place) -> None:
        """Each open job with its state and mode; none when all are settled."""
        assert fc.jobs(place.url, **place.how) == []
        first, second = place.job(mode="append").start(), place.job(mode="append").start()
        found = {info.job_id: info for info in fc.jobs(place.url, **place.how)}
        assert set(found) == {first.job_id, second.job_id}
        assert {(info.state, info.mode) for info in found.values()} == {("open", "append")}
        second.abort()
        assert [info.job_id for info in fc.jobs(place.url, **place.how)] == [first.job_id]
        with first.task() as task:
            write(task, TASKS[0])
        first.commit()
        assert fc.jobs(place.url, **place.how) == []
        place.assert_committed(TASKS[0])

    def test_a_key_commits_once(self, place: Place) -> None:
        """A second job with the key of a committed one is skipped; an aborted one's key is free."""
        aborted = place.job(mode="append", idempotency_key="run 7").start()
        aborted.abort()
        first = place.commit(mode="append", idempotency_key="run 7")
        assert first.state == "committed"
        second = place.job(mode="append", idempotency_key="run 7")
        with second:
            if not second.skipped:
                with second.task() as task:
                    write(task, {"again.txt": b"again"})
        assert second.result is not None
        assert second.result.state == "skipped"
        place.assert_committed(*TASKS)
        assert (
            place.commit([{"b.txt": b"b"}], mode="append", idempotency_key="run 8").file_count == 1
        )

    def test_a_key_commits_once_in_a_race(self, place: Place) -> None:
        """Jobs with one key at the same time: one commits (P11)."""

        def commit(number: int) -> str:
            try:
                return place.commit(
                    [{"part.txt": b"%d" % number}], mode="append", idempotency_key="k", wait_s=10
                ).state
            except fc.ConflictError as error:
                return error.outcome

        with ThreadPoolExecutor(4) as threads:
            states = list(threads.map(commit, range(4)))
        assert states.count("committed") == 1, states
        assert len(place.visible()) == 1

    def test_clean_fences_the_driver(self, place: Place) -> None:
        """An undecided job that `clean` takes for dead is aborted, whether it lives or not."""
        job, messages = self._ready(place)
        place.clean()
        place.assert_untouched()
        with pytest.raises(fc.JobNotActiveError) as caught:
            job.commit(messages)
        assert caught.value.outcome != "committed"
        place.assert_untouched()
