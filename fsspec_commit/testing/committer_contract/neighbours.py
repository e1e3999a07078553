"""Jobs beside one another: at adjacent destinations, and at one and the same."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import fsspec_commit as fc
from fsspec_commit.testing.committer_contract.crashes import dying, gives_up_files
from fsspec_commit.testing.committer_contract.given import (
    TASKS,
    Files,
    Given,
    Place,
    raises,
    request_refused,
    shown,
    write,
)
from fsspec_commit.testing.faults import Fault


def decided(place: Place, files: Files) -> Place:
    """A destination at which an append of *files* has decided, and died."""
    for nth in range(1, 30):
        there = place.beside(f"/{nth}")
        with dying(Fault("create", nth, "crash_after")):
            there.commit([files], mode="append")
        if [info.state for info in fc.jobs(there.url, **there.how)] == ["decided"]:
            return there
    raise AssertionError("no crash leaves a job that is decided")


def _hidden(place: Place) -> None:
    if not place.takes_exact_names():
        pytest.skip("uploads are keyed by path on this store: hidden names are refused")


@pytest.mark.guarantees("P4", "P11")
class NeighboursContract(Given):
    """Jobs beside one another do not disturb each other (P4, P11)."""

    def test_adjacent_destinations_do_not_touch(self, place: Place) -> None:
        """`t` is not the beginning of a name: `t0`, `t-1` and `t.bak` have lives of their own."""
        places = [place.beside(f"/{name}") for name in ("t", "t0", "t-1", "t.bak")]
        old = {"old.txt": b"old"}
        jobs = []
        for there in places:
            there.put(old)
            jobs.append(there.job(mode="overwrite").start())
        for job in jobs:
            with job.task() as task:
                write(task, TASKS[0])
        jobs[0].commit()
        places[0].assert_committed(TASKS[0])
        for there, job in zip(places[1:], jobs[1:], strict=True):
            assert there.visible() == shown(old)
            assert [found.job_id for found in fc.jobs(there.url, **there.how)] == [job.job_id]
        jobs[1].abort()
        places[1].assert_untouched(old)
        places[2].clean()
        places[2].assert_untouched(old)
        jobs[3].commit()
        places[3].assert_committed(TASKS[0])
        places[0].assert_committed(TASKS[0])

    def test_a_clean_above_and_one_below_leave_a_job_alone(self, place: Place) -> None:
        """What a job is about to publish is its own, wherever somebody else cleans up."""
        there, files = place.beside("/below"), {"part.txt": b"1", "d/part.txt": b"2"}
        job = there.job(mode="append").start()
        with job.task() as task:
            write(task, files)
        place.clean()
        there.beside("/d").clean()
        job.commit()
        there.assert_committed(files)

    @pytest.mark.parametrize("inner", ["day=1", "day=1/h=2"])
    def test_a_destination_inside_loses_nothing(self, place: Place, inner: str) -> None:
        """Its files are committed by others: where a listing shows that, no mode clears them."""
        files: Files = {"inner.txt": b"inner"}
        there = place.beside(f"/{inner}")
        there.commit([files], mode="append")
        new: Files = {"day=1/h=2/outer.txt": b"outer"}
        clearing: list[fc.JobOptions] = [
            {"mode": "overwrite"},
            {"mode": "overwrite_partitions"},
            {"mode": "overwrite_partitions", "partitions": ["day=1"]},
            {"mode": "overwrite_partitions", "partitions": [inner]},
        ]
        for how in clearing:
            with request_refused("nested_destination"):
                place.commit([new], **how)
            there.assert_committed(files)
            assert fc.jobs(place.url, **place.how) == []

    def test_jobs_at_one_destination_append(self, place: Place) -> None:
        """Interleaved, a writer open across the other's commit (HADOOP-17318): both are there."""
        first, second = place.job(mode="append").start(), place.job(mode="append").start()
        task = first.task()
        with task.open("part.txt") as file:
            file.write(b"1")
            with second.task() as other:
                write(other, {"part.txt": b"second"})
            second.commit()
            assert place.visible() == shown({"part.txt": b"second"})
            file.write(b"2")
        task.commit()
        first.commit()
        place.assert_committed({"part.txt": b"12"}, {"part.txt": b"second"})

    def test_one_is_aborted_the_other_commits(self, place: Place) -> None:
        """An abort removes only what is its own (P5)."""
        first, second = place.job(mode="append").start(), place.job(mode="append").start()
        for job in (first, second):
            with job.task() as task:
                write(task, TASKS[0])
        first.abort()
        second.commit()
        place.assert_committed(TASKS[0])

    def test_many_append_at_once(self, place: Place) -> None:
        """Appends of unique names do not conflict: all of them are there (P4, P11)."""
        jobs = [{"part.txt": b"%d" % number} for number in range(8)]

        def commit(number: int) -> str:
            return place.commit([jobs[number]], mode="append", wait_s=60).state

        with ThreadPoolExecutor(len(jobs)) as threads:
            assert set(threads.map(commit, range(len(jobs)))) == {"committed"}
        place.assert_committed(*jobs)

    @gives_up_files
    def test_appends_of_one_hidden_name_commit_one_after_the_other(self, place: Place) -> None:
        """Hidden names are not made unique: the second job is told before it decides (P8, P11)."""
        _hidden(place)
        first, second = {"a.txt": b"1", "_notes": b"1"}, {"b.txt": b"2", "_notes": b"2"}
        there = decided(place, first)
        with raises(fc.ConcurrentJobError, "not_committed"):
            there.commit([second], mode="append", wait_s=0.1)
        there.commit([{"c.txt": b"3"}], mode="append", wait_s=0.1)
        (info,) = fc.jobs(there.url, **there.how)
        fc.resume(there.url, info.job_id, **there.how)
        with raises(fc.DestinationExistsError, "not_committed"):
            there.commit([second], mode="append", wait_s=0.1)
        assert there.everything()["_notes"] == b"1"
        there.assert_committed({"a.txt": b"1"}, {"c.txt": b"3"})

    @gives_up_files
    def test_a_hidden_file_and_a_hidden_directory_of_one_name(self, place: Place) -> None:
        """Two appends cannot have both: the second is told before it decides (P8, P11)."""
        _hidden(place)
        pairs = [("_notes", "_notes/part.txt"), ("_notes/part.txt", "_notes")]
        for turn, (first, second) in enumerate(pairs):
            there = decided(place.beside(f"-{turn}"), {first: b"1"})
            with raises(fc.ConcurrentJobError, "not_committed"):
                there.commit([{second: b"2"}], mode="append", wait_s=0.1)
            (info,) = fc.jobs(there.url, **there.how)
            fc.resume(there.url, info.job_id, **there.how)
            with pytest.raises(fc.CommitError) as caught:
                there.commit([{second: b"2"}], mode="append", wait_s=0.1)
            assert caught.value.outcome == "not_committed"
            there.assert_committed()

    def test_overwrites_at_once_are_as_one_after_the_other(self, place: Place) -> None:
        """What is left is the output of one, whole; a job that lost changed nothing (P11)."""
        place.put({"old.txt": b"old"})
        jobs = [{"part.txt": b"%d" % n, f"{n}/part.txt": b"%d" % n} for n in range(4)]

        def commit(number: int) -> str:
            try:
                return place.commit([jobs[number]], mode="overwrite", wait_s=20).state
            except fc.ConflictError as error:
                return error.outcome

        with ThreadPoolExecutor(len(jobs)) as threads:
            outcomes = list(threads.map(commit, range(len(jobs))))
        assert set(outcomes) <= {"committed", "not_committed"}
        winners = [number for number, outcome in enumerate(outcomes) if outcome == "committed"]
        assert winners, outcomes
        assert place.visible() in [shown(jobs[number]) for number in winners]
        place.clean()
        assert fc.jobs(place.url, **place.how) == []

    def test_overwrite_and_append_at_once(self, place: Place) -> None:
        """Never half of one and half of the other: as one after the other (P11)."""
        appended, overwriting = {"a.txt": b"a", "d/b.txt": b"b"}, {"o.txt": b"o", "d/p.txt": b"p"}
        for turn in range(4):
            there = place.beside(f"-{turn}")
            there.put({"old.txt": b"old"})

            def commit(how: tuple[dict[str, bytes], fc.Mode], there: Place = there) -> str:
                try:
                    return there.commit([how[0]], mode=how[1], wait_s=20).state
                except fc.ConflictError as error:
                    return error.outcome

            jobs: list[tuple[dict[str, bytes], fc.Mode]] = [
                (appended, "append"),
                (overwriting, "overwrite"),
            ]
            with ThreadPoolExecutor(2) as threads:
                appending, overwritten = threads.map(commit, jobs)
            allowed = {
                ("committed", "committed"): [shown(overwriting), shown(overwriting, appended)],
                ("committed", "not_committed"): [shown({"old.txt": b"old"}, appended)],
                ("not_committed", "committed"): [shown(overwriting)],
            }
            assert there.visible() in allowed[appending, overwritten]

    def test_other_partitions_do_not_wait(self, place: Place) -> None:
        """Jobs on partitions of their own commit beside one another (P11)."""
        place.put({f"day={n}/old.txt": b"old" for n in range(5)})
        jobs = [{f"day={n}/part.txt": b"%d" % n} for n in range(4)]

        def commit(number: int) -> str:
            return place.commit([jobs[number]], mode="overwrite_partitions", wait_s=60).state

        with ThreadPoolExecutor(len(jobs)) as threads:
            assert set(threads.map(commit, range(len(jobs)))) == {"committed"}
        place.assert_committed(*jobs, {"day=4/old.txt": b"old"})
