"""What the magic committer has left, where no Hadoop is needed: older layouts, damage, losses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect
from tests.flat.bucket import AWS, Bucket, make_bucket, remove_bucket
from tests.flat.store import FLAT

if TYPE_CHECKING:
    from collections.abc import Iterator

AREA = "__magic_job-5f3d/job-5f3d/00"
TASK = "task_20260101000000_0001_m_000000"
ATTEMPT = "attempt_20260101000000_0001_m_000001_0"


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    bucket = make_bucket(AWS)
    yield bucket
    remove_bucket(bucket)


def put(bucket: Bucket, name: str, data: bytes) -> None:
    bucket.put(StorePath(f"{bucket.name}/out/{name}"), data, None, Expect.ANYTHING)


def begun(bucket: Bucket, name: str) -> dict[str, object]:
    """An upload as Hadoop records it."""
    upload = bucket.start(StorePath(f"{bucket.name}/out/{name}"), Nonce("0" * 32))
    return {
        "bucket": bucket.name,
        "destinationKey": f"out/{name}",
        "uploadId": upload.upload_id,
        "length": 3,
    }


def pending_set(*commits: dict[str, object]) -> bytes:
    return json.dumps({"version": 2, "commits": list(commits)}).encode()


def found(bucket: Bucket) -> list[fc.HadoopJob]:
    return fc.hadoop_jobs(f"{FLAT}://{bucket.name}/out")


def test_what_is_pending_published_or_lost(bucket: Bucket) -> None:
    there = begun(bucket, "a")
    published, lost, longer = (
        {**there, "destinationKey": f"out/{name}", "uploadId": "gone"} for name in "bcd"
    )
    put(bucket, "b", b"abc")
    put(bucket, "d", b"abcd")
    put(bucket, f"{AREA}/{TASK}.pendingset", pending_set(there, published, lost, longer))
    [job] = found(bucket)
    assert (job.job_id, job.directory) == ("5f3d", "__magic_job-5f3d")
    [task] = job.tasks
    assert (task.name, task.committed, task.file_count, task.bytes) == (TASK, True, 4, 12)
    assert (task.pending, task.published) == (1, 1)


def test_an_attempt_is_all_of_its_files(bucket: Bucket) -> None:
    working = f"{AREA}/tasks/{ATTEMPT}/__base"
    for name in ("a", "x/b"):
        put(bucket, f"{working}/{name}", b"")
        put(bucket, f"{working}/{name}.pending", json.dumps(begun(bucket, name)).encode())
    [job] = found(bucket)
    assert job.tasks_committed == 0
    [task] = job.tasks
    assert (task.name, task.committed, task.file_count, task.pending) == (ATTEMPT, False, 2, 2)


def test_the_name_of_earlier_releases(bucket: Bucket) -> None:
    put(bucket, f"__magic/app-1/{TASK}.pendingset", pending_set(begun(bucket, "a")))
    [job] = found(bucket)
    assert (job.job_id, job.committer, job.directory) == (None, "magic", "__magic")
    assert job.tasks[0].pending == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"bucket": "another"},
        {"destinationKey": "elsewhere/a"},
        {"destinationKey": "out2/a"},
        {"destinationKey": "out/../a"},
        {"destinationKey": "out/_commit/a"},
        {"length": None},
    ],
)
def test_what_is_not_of_here_is_damage(bucket: Bucket, changed: dict[str, object]) -> None:
    bad = {**begun(bucket, "a"), **changed}
    put(bucket, f"{AREA}/{TASK}.pendingset", pending_set(bad))
    put(bucket, f"{AREA}/tasks/{ATTEMPT}/__base/a.pending", json.dumps(bad).encode())
    [job] = found(bucket)
    assert [(task.name, task.committed, task.file_count) for task in job.tasks] == [
        (TASK, True, None),
        (ATTEMPT, False, None),
    ]
    assert all(task.damage for task in job.tasks)


def test_a_file_of_such_a_name_is_no_job(bucket: Bucket) -> None:
    put(bucket, "__magic_job-1", b"")
    assert found(bucket) == []


def test_another_jobs_uploads_are_not_taken_for_its_own(bucket: Bucket) -> None:
    recorded = begun(bucket, "a")
    begun(bucket, "a")
    put(bucket, f"{AREA}/{TASK}.pendingset", pending_set(recorded))
    [job] = found(bucket)
    assert job.tasks[0].pending == 1


def test_what_is_written_for_a_job_of_ours_is_no_job_of_hadoops(bucket: Bucket) -> None:
    ours = "20261120T140355-9c1e5f00a1b2c3d4"
    put(bucket, f"__magic_job-{ours}/tasks/0/0123456789abcdef/__base/a.pending", b"{}")
    for other in (f"{ours}0", f"x{ours}", "5f3d"):
        put(bucket, f"__magic_job-{other}/a.pending", b"{}")
    assert [job.job_id for job in found(bucket)] == [f"{ours}0", "5f3d", f"x{ours}"]
