"""A driver goes by the manifests that tasks of its own process have created; a resumer reads."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.layout import StorePath
from fsspec_commit.protocol import kept_manifests
from fsspec_commit.protocol.kept_manifests import KeptManifests
from fsspec_commit.records.job import TaskCommit
from fsspec_commit.store import AtomicRename, Expect
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit.testing.recording import recorded_calls
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.in_buckets import started, url, write

if TYPE_CHECKING:
    from collections.abc import Iterator

JOB_ID = "20261120T140355-9c1e5f00a1b2c3d4"


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


def manifests(bucket: Bucket) -> list[StorePath]:
    return [StorePath(key) for key in bucket.keys("") if "/manifests/" in key]


def shown(bucket: Bucket) -> list[str]:
    return [name.partition("-")[0] for name in fc.committed_files(url(bucket)).names]


def message(task_id: int, data: bytes) -> TaskCommit:
    attempt_id = f"{task_id:016x}"
    return TaskCommit(
        task_id=task_id,
        attempt_id=attempt_id,
        file_count=1,
        bytes=1,
        manifest=f"{JOB_ID}/manifests/{task_id}/{attempt_id}",
        digest=sha256(data).hexdigest(),
    )


def test_only_those_of_tasks_elsewhere_are_read(bucket: Bucket) -> None:
    with recorded_calls() as calls:
        job = started(bucket)
        write(job.task(0), "a.txt").commit()
        elsewhere = write(fc.Task.from_spec(job.spec, 1), "b.txt").commit()
        job.commit([elsewhere])
    read = [call.path for call in calls if call.verb == "read" and "/manifests/" in call.path]
    assert [path.partition("/manifests/")[2].partition("/")[0] for path in read] == ["1"]
    assert shown(bucket) == ["a", "b"]


def test_a_driver_that_was_made_from_a_spec_reads_all(bucket: Bucket) -> None:
    job = started(bucket)
    own = write(job.task(0), "a.txt").commit()
    with recorded_calls() as calls:
        fc.Job.from_spec(job.spec).commit([own])
    assert [call for call in calls if call.verb == "read" and "/manifests/" in call.path]


@pytest.mark.guarantees("P1", "P10")
@pytest.mark.parametrize("becomes", ["other bytes", "nothing"])
def test_what_has_become_of_a_copy_concerns_its_resumer(bucket: Bucket, becomes: str) -> None:
    """Its driver publishes what the task has written; who resumes the job says what is wrong."""
    publishes = "rename" if bucket.habits.renames is not AtomicRename.NONE else "complete"
    with inject(Fault(publishes, 1, "crash_before")) as fired:
        job = started(bucket)
        write(job.task(), "a.txt").commit()
        (path,) = manifests(bucket)
        whole = bucket.objects[path].data
        if becomes == "nothing":
            bucket.delete(path, Expect.ANYTHING)
        else:
            bucket.put(path, whole.replace(b"a-", b"b-"), None, Expect.ANYTHING)
        with suppress(Crash):
            job.commit()
    assert fired
    assert [one.state for one in fc.jobs(url(bucket))] == ["decided"]
    with pytest.raises(fc.CommitError, match="the manifest of task 0 cannot be used") as caught:
        fc.resume(job.destination, job.job_id)
    assert caught.value.outcome == "partial"
    assert shown(bucket) == []
    bucket.put(path, whole, None, Expect.ANYTHING)
    fc.resume(job.destination, job.job_id)
    assert shown(bucket) == ["a"]


@pytest.mark.guarantees("P1")
def test_without_its_copy_a_job_is_committed_all_the_same(bucket: Bucket) -> None:
    job = started(bucket)
    write(job.task(), "a.txt").commit()
    bucket.delete(manifests(bucket)[0], Expect.ANYTHING)
    job.commit()
    assert shown(bucket) == ["a"]
    assert fc.jobs(url(bucket)) == []


@pytest.mark.guarantees("P5", "P7")
def test_who_was_aborted_meanwhile_is_told_so(bucket: Bucket) -> None:
    """By its decision, which finds no job: its manifests would have been gone before that."""
    job = started(bucket)
    write(job.task(), "a.txt").commit()
    fc.abort(job.destination, job.job_id)
    with pytest.raises(fc.JobNotActiveError):
        job.commit()
    assert shown(bucket) == []
    fc.clean(job.destination, older_than=timedelta(0), dry_run=False)
    assert not [key for key in bucket.keys("") if job.job_id in key]


def test_few_are_kept_and_none_of_another_name_or_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_manifests, "_BYTES_MAX", 10)
    kept, ones = KeptManifests(), [bytes([number]) * 4 for number in range(3)]
    for number, data in enumerate(ones):
        for _ in range(2):
            kept.keep(message(number, data), data)
    assert [kept.get(message(number, data)) for number, data in enumerate(ones)] == [
        ones[0],
        ones[1],
        None,
    ]
    assert kept.get(message(0, ones[1])) is None
    copied = kept.copy()
    kept.clear()
    assert kept.get(message(0, ones[0])) is None
    assert copied.get(message(0, ones[0])) == ones[0]
    kept.keep(message(2, ones[2]), ones[2])
    assert kept.get(message(2, ones[2])) == ones[2]
    assert copied.get(message(2, ones[2])) is None


def test_none_is_kept_once_the_job_is_over(bucket: Bucket) -> None:
    for end in ("commit", "abort"):
        job = started(bucket)
        sent = write(job.task(), "a.txt").commit()
        kept = job._driver.started().own_manifests
        assert kept.get(sent) is not None
        getattr(job, end)()
        assert kept.get(sent) is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process is forked here")
def test_what_is_kept_is_of_no_use_to_a_forked_child(bucket: Bucket) -> None:
    """There the job refuses whatever is asked of it."""
    job = started(bucket)
    write(job.task(), "a.txt").commit()
    job._pid = -1
    with pytest.raises(RuntimeError, match="after fork"):
        job.commit()
    job._pid = os.getpid()
    job.abort()
