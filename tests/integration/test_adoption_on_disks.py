"""Files that a JVM has written to the directory of an attempt on a disk, adopted by a job."""

from __future__ import annotations

import re
import tracemalloc
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from fsspec_commit.testing import Crash, Fault, assert_committed, assert_no_leftovers, inject

if TYPE_CHECKING:
    from pathlib import Path

    from fsspec_commit.testing.faults import Kind

ATTEMPT = "0123456789abcdef"


@pytest.fixture
def job(tmp_path: Path) -> fc.Job:
    job = fc.Job(tmp_path / "out").start()
    job._begun_here = False  # It is settled by others, too.
    return job


def directory(job: fc.Job, tmp_path: Path) -> Path:
    return tmp_path / "out" / "_commit" / job.job_id / "tasks" / "0" / ATTEMPT


def written(job: fc.Job, tmp_path: Path, stem: str = "part", data: bytes = b"x") -> fc.AdoptedFile:
    name = f"{stem}-{job.job_id}-0.csv"
    path = directory(job, tmp_path) / f"{name}.pending"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return fc.AdoptedFile(name, len(data))


def test_what_is_beside_the_files_is_left_out(job: fc.Job, tmp_path: Path) -> None:
    """Such as the checksums of Spark's local file system."""
    files = [written(job, tmp_path), written(job, tmp_path, "day=1/part")]
    beside = directory(job, tmp_path)
    (beside / f".{files[0].name}.pending.crc").write_bytes(b"crc")
    (beside / "foreign.csv").write_bytes(b"foreign")
    (beside / "temporary").mkdir()
    job.commit([job.adopt(0, ATTEMPT, files)])
    assert_committed(job.destination, file_count=2)
    assert_no_leftovers(job.destination)
    left = {path.name for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert left == {name.rpartition("/")[2] for name in (files[0].name, files[1].name)} | {
        "_SUCCESS",
        *(path.name for path in (tmp_path / "out" / "_commit").iterdir()),
    }


def test_a_name_that_is_too_long_to_be_marked_is_adopted_by_its_digest(
    job: fc.Job, tmp_path: Path
) -> None:
    stem = "long" * 53
    name = f"day=1/{stem}-{job.job_id}-0.csv"
    working = directory(job, tmp_path) / f"{sha256(name.encode()).hexdigest()}.pending"
    working.parent.mkdir(parents=True)
    working.write_bytes(b"long")
    job.commit([job.adopt(0, ATTEMPT, [fc.AdoptedFile(name, 4)])])
    assert (tmp_path / "out" / name).read_bytes() == b"long"


def test_partitions_are_replaced_by_what_is_adopted(tmp_path: Path) -> None:
    """And nothing else: a file in none of them would clear the whole destination."""
    old = [tmp_path / "out" / f"day={day}" / "old.csv" for day in (1, 2)]
    for path in old:
        path.parent.mkdir(parents=True)
        path.write_bytes(b"old")
    job = fc.Job(tmp_path / "out", mode="overwrite_partitions").start()
    with pytest.raises(fc.RequestError, match="would clear everything") as caught:
        job.adopt(0, ATTEMPT, [written(job, tmp_path)])
    assert caught.value.kind == "file_outside_partition"
    job.commit([job.adopt(0, ATTEMPT, [written(job, tmp_path, "day=1/part")])])
    assert [path.exists() for path in old] == [False, True]
    assert_committed(job.destination, file_count=2)
    assert_no_leftovers(job.destination)


def test_of_a_long_listing_little_is_kept(job: fc.Job, tmp_path: Path) -> None:
    """One task of a Spark job may have 100,000 files."""
    files = [written(job, tmp_path, f"part-{number}") for number in range(3_000)]
    tracemalloc.start()
    try:
        message = job.adopt(0, ATTEMPT, files)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert message.file_count == 3_000
    assert peak_bytes < 700 * 3_000


def test_an_attempt_without_a_directory_is_not_there(job: fc.Job, tmp_path: Path) -> None:
    """It was told that the job was settled, which is open."""
    missing = fc.AdoptedFile(f"part-{job.job_id}-0.csv", 1)
    with pytest.raises(fc.RequestError, match="there is no directory") as caught:
        job.adopt(0, ATTEMPT, [missing])
    assert (caught.value.kind, caught.value.outcome) == ("cannot_adopt", "not_committed")
    job.commit([job.adopt(0, ATTEMPT, [written(job, tmp_path)])])
    assert_committed(job.destination, file_count=1)


@pytest.mark.guarantees("P6", "P8")
@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"size_bytes": True}, "a number of bytes, not True"),
        ({"size_bytes": "1"}, "a number of bytes, not '1'"),
        ({"size_bytes": -1}, "a number of bytes, not -1"),
        ({"part_tokens": ["etag"]}, "a tuple of etags"),
        ({"part_tokens": ("etag", "")}, "a tuple of etags"),
        ({"upload_id": ""}, "a text, not ''"),
        ({"upload_id": "\udc80"}, "a text, not '\\udc80'"),
        ({"upload_id": 7}, "a text, not 7"),
        ({"name": 7}, "a file is described by fsspec_commit.AdoptedFile("),
        ({"upload_id": "upload"}, "tasks write files here, and upload nothing"),
        ({"part_tokens": ("etag",)}, "tasks write files here, and upload nothing"),
    ],
)
def test_what_no_program_can_have_been_told_is_refused(
    job: fc.Job, tmp_path: Path, wrong: dict[str, Any], why: str
) -> None:
    file = replace(written(job, tmp_path), **wrong)
    with pytest.raises(fc.RequestError, match=re.escape(why)) as caught:
        job.adopt(0, ATTEMPT, [file])
    assert caught.value.kind == "cannot_adopt"


@pytest.mark.parametrize("file", [None, "a.csv", {"name": "a.csv", "size_bytes": 1}])
def test_what_describes_no_file_is_refused(job: fc.Job, file: Any) -> None:
    with pytest.raises(fc.RequestError, match=r"a file is described by fsspec_commit\.AdoptedFile"):
        job.adopt(0, ATTEMPT, [file])


@pytest.mark.parametrize("dies", ["after the rename", "after the manifest"])
def test_a_late_writer_is_not_in_the_way_of_another_driver(
    job: fc.Job, tmp_path: Path, dies: str
) -> None:
    """Whatever it writes where the files were, they are adopted again, and published."""
    file = written(job, tmp_path, data=b"right")
    kind: Kind = "crash_before" if dies == "after the rename" else "crash_after"
    with inject(Fault("create", 1, kind)), pytest.raises(Crash):
        fc.Job.from_spec(job.spec).adopt(0, ATTEMPT, [file])
    written(job, tmp_path, data=b"wrong")
    message = job.adopt(0, ATTEMPT, [file])
    assert fc.Job.from_spec(job.spec).adopt(0, ATTEMPT, [file]) == message
    job.commit([message])
    assert (tmp_path / "out" / file.name).read_bytes() == b"right"
    assert_no_leftovers(job.destination)


@pytest.mark.parametrize("attempt_id", [None, 7, "0" * 15, f"{ATTEMPT}\n"])
def test_an_attempt_id_is_sixteen_digits(job: fc.Job, tmp_path: Path, attempt_id: str) -> None:
    with pytest.raises(fc.RequestError) as caught:
        job.adopt(0, attempt_id, [written(job, tmp_path)])
    assert caught.value.kind == "invalid_attempt_id"


@pytest.mark.guarantees("P8")
def test_a_task_id_is_one_that_a_resumer_can_read(job: fc.Job, tmp_path: Path) -> None:
    """A job with a larger one was decided, and its decision was damaged to all others."""
    for task_id in (1 << 31, 10**30):
        with pytest.raises(fc.RequestError, match="2147483647") as caught:
            job.adopt(task_id, ATTEMPT, [])
        assert caught.value.kind == "invalid_task_id"
        with pytest.raises(fc.RequestError, match="2147483647"):
            job.task(task_id)
    largest = (1 << 31) - 1
    message = job.adopt(largest, ATTEMPT, [])
    file = written(job, tmp_path)
    with inject(Fault("rename", 1, "crash_before")), pytest.raises(Crash):
        fc.Job.from_spec(job.spec).commit([message, job.adopt(0, ATTEMPT, [file])])
    assert fc.resume(job.destination, job.job_id).file_count == 1
