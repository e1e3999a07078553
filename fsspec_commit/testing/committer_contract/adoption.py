"""Files that another program has written for a task, adopted by the job."""

from collections.abc import Sequence
from dataclasses import replace
from secrets import token_hex

import pytest

import fsspec_commit as fc
from fsspec_commit.destination import open_destination
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.layout import DestinationLayout
from fsspec_commit.location import locate
from fsspec_commit.names import Target
from fsspec_commit.store import OpenOptions
from fsspec_commit.sync import bridge
from fsspec_commit.testing.committer_contract.crashes import (
    PARTITIONED,
    crash_at_each_call,
    gives_up_files,
)
from fsspec_commit.testing.committer_contract.given import (
    TASKS,
    Files,
    Given,
    Place,
    raises,
    request_refused,
    shown,
)
from fsspec_commit.testing.committer_contract.lost_replies import fail_each
from fsspec_commit.testing.faults import Crash, Fault, Kind, inject
from fsspec_commit.testing.sweeps import Sweep


def written(
    place: Place, job: fc.Job, task_id: int, attempt_id: str, files: Files
) -> list[fc.AdoptedFile]:
    """Write *files* for a task, as a program that knows the layout and nothing else does."""
    adopted = []
    for name, data in files.items():
        stem, dot, extension = name.rpartition(".")
        own = f"{stem}-{job.job_id}-{task_id}{dot}{extension}"
        if job.selection.committer == "magic":
            adopted.append(bridge.run(_uploaded(place, Target(own), data)))
            # As S3A does: a record of the upload, and an empty file in the place of the file.
            recorded = f"__magic_job-{job.job_id}/tasks/{task_id}/{attempt_id}/__base/{own}"
            place.put({recorded: b"", f"{recorded}.pending": b"{}"})
        else:
            place.put({f"_commit/{job.job_id}/tasks/{task_id}/{attempt_id}/{own}.pending": data})
            adopted.append(fc.AdoptedFile(own, len(data)))
    return adopted


async def _uploaded(place: Place, name: Target, data: bytes) -> fc.AdoptedFile:
    location = locate(place.url, place.storage_options or None, None)
    there = await open_destination(location, OpenOptions(), ids=SYSTEM_IDS)
    try:
        uploads = there.store.uploads
        assert uploads is not None
        upload = await uploads.start(DestinationLayout(there.store.root).final(name))
        part = await uploads.put_part(upload, 1, data)
        return fc.AdoptedFile(name, len(data), upload.upload_id, (part.token,))
    finally:
        await there.store.close()


def attempt_of(place: Place, job: fc.Job, task_id: int, files: Files) -> fc.TaskCommit:
    """A whole attempt of another program, adopted."""
    attempt_id = token_hex(8)
    return job.adopt(task_id, attempt_id, written(place, job, task_id, attempt_id, files))


def run(place: Place, mode: fc.Mode) -> fc.CommitResult:
    """A job over old data, the files of whose two tasks another program has written."""
    job = place.job(mode=mode).start()
    return job.commit([attempt_of(place, job, *task) for task in enumerate(PARTITIONED)])


class _Adopting(Given):
    @pytest.fixture
    def adopting(self, place: Place) -> Place:
        """The destination, if another program can write for its jobs."""
        if not place.adopts():
            pytest.skip("only this library can begin an upload that this store completes")
        return place


@pytest.mark.guarantees("P1", "P2", "P3", "P5", "P8")
class AdoptionContract(_Adopting):
    """`Job.adopt`."""

    def test_what_another_program_wrote_is_committed(self, adopting: Place) -> None:
        """Every file of the adopted attempts becomes visible, byte for byte (P1)."""
        job = adopting.job().start()
        messages = [attempt_of(adopting, job, *task) for task in enumerate((*TASKS, {}))]
        assert [message.file_count for message in messages] == [2, 2, 0]
        assert [message.bytes for message in messages] == [
            sum(map(len, files.values())) for files in (*TASKS, {})
        ]
        assert adopting.visible() == []
        result = job.commit(messages)
        assert (result.file_count, result.rows) == (4, None)
        adopting.assert_committed(*TASKS)

    def test_only_the_chosen_attempt_is_visible(self, adopting: Place) -> None:
        """Of two adopted attempts of one task, and one that was never adopted (P2, P3)."""
        job = adopting.job().start()
        first = attempt_of(adopting, job, 0, {"part.txt": b"first"})
        attempt_of(adopting, job, 0, {"part.txt": b"second", "more.txt": b"second"})
        written(adopting, job, 0, token_hex(8), {"part.txt": b"dead"})
        job.commit([first])
        adopting.clean()
        adopting.assert_committed({"part.txt": b"first"})

    def test_an_attempt_is_adopted_twice(self, adopting: Place) -> None:
        """By another driver as well: there is one message (P8)."""
        job = adopting.job().start()
        files = written(adopting, job, 0, "0123456789abcdef", TASKS[0])
        message = job.adopt(0, "0123456789abcdef", files)
        assert job.adopt(0, "0123456789abcdef", reversed(files)) == message
        other = adopting.driver(job.spec)
        assert other.adopt(0, "0123456789abcdef", files) == message
        other.commit([message])
        adopting.assert_committed(TASKS[0])
        with pytest.raises(fc.JobNotActiveError):
            job.adopt(0, "0123456789abcdef", files)

    def test_a_chosen_attempt_stays_chosen(self, adopting: Place) -> None:
        """Adopted again, with the messages on the store (P3)."""
        job = adopting.job(collect="store", tasks=1).start()
        files = written(adopting, job, 0, "0123456789abcdef", TASKS[0])
        message = job.adopt(0, "0123456789abcdef", files)
        assert message.chosen
        assert job.adopt(0, "0123456789abcdef", files) == message
        job.commit()
        adopting.assert_committed(TASKS[0])

    def test_an_attempt_has_one_set_of_files(self, adopting: Place) -> None:
        """Another set under its id is refused, and the first one stands."""
        job = adopting.job().start()
        files = written(adopting, job, 0, "0123456789abcdef", TASKS[0])
        message = job.adopt(0, "0123456789abcdef", files)
        for others in (files[:1], []):
            with request_refused("cannot_adopt"):
                job.adopt(0, "0123456789abcdef", others)
        job.commit([message])
        adopting.assert_committed(TASKS[0])

    def test_what_is_not_as_described_is_refused(self, adopting: Place) -> None:
        """Nothing happens, and the attempt can still be adopted."""
        job = adopting.job().start()
        files = written(adopting, job, 1, "0123456789abcdef", TASKS[0])
        one = files[0]
        for wrong in _wrong(files, is_uploaded=job.selection.committer == "magic"):
            with request_refused("cannot_adopt"):
                job.adopt(1, "0123456789abcdef", wrong)
        for odd in ("part.txt", replace(one, size_bytes=-1), replace(one, part_tokens="etag")):  # type: ignore[arg-type]
            with request_refused("cannot_adopt"):
                job.adopt(1, "0123456789abcdef", [odd])  # type: ignore[list-item]
        with request_refused("outside_destination"):
            job.adopt(1, "0123456789abcdef", [replace(one, name=f"../{one.name}")])
        with request_refused("invalid_attempt_id"):
            job.adopt(1, "attempt", files)
        job.commit([job.adopt(1, "0123456789abcdef", files)])
        adopting.assert_committed(TASKS[0])

    def test_a_name_belongs_to_one_task(self, adopting: Place) -> None:
        """If two tasks adopted files of one name, one would be lost, and both would be counted."""
        job = adopting.job().start()
        both = f"part-{job.job_id}-0-{job.job_id}-1.txt"
        adopting.put({f"_commit/{job.job_id}/tasks/0/0123456789abcdef/{both}.pending": b"0"})
        with request_refused("cannot_adopt"):
            job.adopt(0, "0123456789abcdef", [fc.AdoptedFile(both, 1)])
        job.abort()

    @gives_up_files
    def test_a_driver_that_comes_late_is_told_of_the_decision(self, adopting: Place) -> None:
        """The files are published by then; if refused, they would be written again (P7, P8)."""
        job = adopting.job().start()
        files = written(adopting, job, 0, "0123456789abcdef", TASKS[0])
        message = job.adopt(0, "0123456789abcdef", files)
        faults = [Fault(verb, 2, "crash_before") for verb in ("rename", "complete")]
        with inject(*faults), pytest.raises(Crash):
            adopting.driver(job.spec).commit([message])
        assert [found.state for found in fc.jobs(adopting.url, **adopting.how)] == ["decided"]
        with raises(fc.JobNotActiveError, "committed"):
            adopting.driver(job.spec).adopt(0, "0123456789abcdef", files)
        fc.resume(adopting.url, job.job_id, **adopting.how)
        adopting.assert_committed(TASKS[0])

    def test_an_aborted_job_leaves_nothing_of_another_program(self, adopting: Place) -> None:
        """Neither of an adopted attempt nor of one that is at work (P5)."""
        adopting.put({"old-6a0d9b8e-5c0f-4a55-9f0e-0123456789ab.txt": b"old"})
        job = adopting.job(mode="overwrite").start()
        attempt_of(adopting, job, 0, TASKS[0])
        written(adopting, job, 1, token_hex(8), TASKS[1])
        job.abort()
        assert adopting.visible() == shown({"old-6a0d9b8e-5c0f-4a55-9f0e-0123456789ab.txt": b"old"})
        adopting.clean()
        adopting.assert_untouched({"old-6a0d9b8e-5c0f-4a55-9f0e-0123456789ab.txt": b"old"})


@pytest.mark.guarantees("P1", "P2", "P5", "P8", "P9")
class AdoptionFaultsContract(_Adopting):
    """A job that adopts dies, or a store call of it fails."""

    @gives_up_files
    @pytest.mark.parametrize("first", ["resume", "abort"])
    def test_a_crash_at_any_call_of_an_adopting_job_can_be_settled(
        self, adopting: Place, first: str, sweep: Sweep
    ) -> None:
        """All of the old or all of the new, byte for byte (P1-P9)."""
        crash_at_each_call(adopting, "overwrite", sweep, run=run, first=first)

    @gives_up_files
    @pytest.mark.parametrize("kind", ["error", "error_but_applied", "applied_late", "hang"])
    def test_a_call_of_an_adopting_job_fails(
        self, adopting: Place, kind: Kind, sweep: Sweep
    ) -> None:
        """What the job says of itself is true of the store (P1-P9)."""
        fail_each(adopting, "overwrite", kind, sweep, run=run)


def _wrong(files: Sequence[fc.AdoptedFile], *, is_uploaded: bool) -> list[list[fc.AdoptedFile]]:
    one, *others = files
    stem, _, extension = one.name.rpartition(".")
    named = [
        [replace(one, name="part.txt")],
        [replace(one, name=f"{stem}2.{extension}")],
        [one, *others, one],
    ]
    different = [
        [replace(one, size_bytes=one.size_bytes + 1)],
        [replace(one, size_bytes=1 << 63)],
        [replace(one, name=f"other-{one.name}")],
        [replace(one, upload_id="upload", part_tokens=("etag",))],
        [*others, replace(one, size_bytes=one.size_bytes - 1)],
    ]
    if not is_uploaded:
        return [*named, *different]
    (token,) = one.part_tokens
    return [
        *named,
        *different,
        [replace(one, upload_id=None)],
        [replace(one, part_tokens=())],
        [replace(one, part_tokens=("0" * 32,))],
        [replace(one, part_tokens=(token, token))],
        [replace(one, upload_id=others[0].upload_id)],
    ]
