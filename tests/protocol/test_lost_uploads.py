"""Uploads that somebody else took away: found out, never papered over, settled by hand (P8)."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Literal

import pytest

import fsspec_commit as fc
from fsspec_commit.errors import StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit.testing.simulation import Habits
from tests.flat.bucket import make_bucket, remove_bucket
from tests.protocol.in_buckets import started, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.flat.bucket import Bucket


def expire(bucket: Bucket, part: str) -> None:
    """What a rule of the bucket does to old uploads."""
    for upload_id, upload in list(bucket.uploads.items()):
        if part in upload.path.rpartition("/")[2]:
            del bucket.uploads[upload_id]


def shown(bucket: Bucket) -> list[str]:
    names = (key.rpartition("/out/")[2] for key in bucket.keys(""))
    return sorted(name.partition("-")[0] for name in names if not name.startswith("_"))


def test_a_lost_file_is_found_out_and_settled_by_hand(bucket: Bucket) -> None:
    job = started(bucket)
    write(job.task(), "a.txt", "gone.txt", "z.txt").commit()
    expire(bucket, "gone")
    with pytest.raises(fc.PartialCommitError, match="its upload is gone") as caught:
        job.commit()
    assert caught.value.remaining == 1 or caught.value.done is not None
    with pytest.raises(fc.PartialCommitError):
        fc.resume(job.destination, job.job_id)
    assert "_SUCCESS" not in [key.rpartition("/")[2] for key in bucket.keys("")]
    result = fc.resume(job.destination, job.job_id, accept_loss=True)
    assert [warning for warning in result.warnings if "gone" in warning]
    assert shown(bucket) == ["a", "z"]
    assert "_SUCCESS" not in [key.rpartition("/")[2] for key in bucket.keys("")]
    assert bucket.uploads == {}
    assert fc.jobs(job.destination) == []


def test_a_name_that_somebody_took_is_not_taken_back(bucket: Bucket) -> None:
    """Until it is free again the job stays decided; then it is finished."""
    job = started(bucket)
    write(job.task(), "a.txt", "b.txt").commit()
    (path,) = [u.path for u in bucket.uploads.values() if "/b-" in u.path]
    bucket.put(path, b"foreign", None, Expect.ANYTHING)
    with pytest.raises(fc.PartialCommitError):
        job.commit()
    found = bucket.get(path)
    assert found is not None
    assert found.data == b"foreign"
    bucket.delete(path, Expect.ANYTHING)
    assert fc.resume(job.destination, job.job_id).file_count == 2
    assert shown(bucket) == ["a", "b"]


def marker_of(bucket: Bucket) -> bytes | None:
    found = bucket.get(StorePath(f"{bucket.name}/out/_SUCCESS"))
    return None if found is None else found.data


@pytest.mark.parametrize("nth", [1, 2], ids=["before the files", "before the marker"])
def test_a_lost_marker_is_found_out_and_settled_by_hand(bucket: Bucket, nth: int) -> None:
    """Who waits for it must not be told that the job is over while he waits for ever."""
    job = started(bucket)
    message = write(job.task(), "a.txt").commit()
    with inject(Fault("complete", nth, "crash_before")) as fired, suppress(Crash):
        fc.Job.from_spec(job.spec).commit([message])
    assert fired
    expire(bucket, "_SUCCESS")
    for _ in range(2):
        with pytest.raises(fc.PartialCommitError, match="'_SUCCESS' is not, and") as caught:
            fc.resume(job.destination, job.job_id)
        assert "--accept-loss" in str(caught.value)
        assert (shown(bucket), marker_of(bucket)) == (["a"], None)
        assert [one.state for one in fc.jobs(job.destination)] == ["published"]
    result = fc.resume(job.destination, job.job_id, accept_loss=True)
    assert result.warnings == ("lost: '_SUCCESS' is gone, and was left out",)
    assert (shown(bucket), marker_of(bucket)) == (["a"], None)
    assert bucket.uploads == {}
    assert fc.jobs(job.destination) == []


def test_a_lost_marker_does_not_matter_where_anothers_stands(bucket: Bucket) -> None:
    """As when a later append has removed what the job had published, and published its own."""
    job = started(bucket)
    message = write(job.task(), "a.txt").commit()
    with inject(Fault("complete", 2, "crash_before")) as fired, suppress(Crash):
        fc.Job.from_spec(job.spec).commit([message])
    assert fired
    expire(bucket, "_SUCCESS")
    later = started(bucket, success="json")
    write(later.task(), "b.txt").commit()
    later.commit()
    standing = marker_of(bucket)
    assert fc.resume(job.destination, job.job_id).warnings == ()
    assert shown(bucket) == ["a", "b"]
    assert marker_of(bucket) == standing != b""
    assert fc.jobs(job.destination) == []


@pytest.fixture
def forgetful() -> Iterator[Bucket]:
    """With versions, so that markers are removed; it forgets what uploads it has completed."""
    bucket = make_bucket(Habits(versioned=True, again=404))
    yield bucket
    remove_bucket(bucket)


@pytest.mark.parametrize("success", ["none", "marker"])
def test_a_marker_is_not_lost_that_another_job_is_to_replace(
    forgetful: Bucket, success: Literal["none", "marker"]
) -> None:
    """That job has removed it, and has died; when its own is lost as well, nothing hides that."""
    bucket = forgetful
    job = started(bucket)
    message = write(job.task(), "a.txt").commit()
    with inject(Fault("create", 5, "crash_before")) as fired, suppress(Crash):
        fc.Job.from_spec(job.spec).commit([message])
    assert fired
    assert marker_of(bucket) == b""
    later = started(bucket, success=success)
    message = write(later.task(), "b.txt").commit()
    with inject(Fault("complete", 2, "crash_before")) as fired, suppress(Crash):
        fc.Job.from_spec(later.spec).commit([message])
    assert fired
    assert marker_of(bucket) is None
    assert fc.resume(job.destination, job.job_id).warnings == ()
    expire(bucket, "_SUCCESS")
    with pytest.raises(fc.PartialCommitError, match="'_SUCCESS' is not, and"):
        fc.resume(later.destination, later.job_id)
    assert fc.resume(later.destination, later.job_id, accept_loss=True).warnings
    assert bucket.uploads == {}


def test_an_upload_that_would_not_go_is_aborted_when_the_task_commits(bucket: Bucket) -> None:
    """Else nobody would know of it where uploads cannot be listed: records of published attempts
    are not read.
    """
    job = started(bucket)
    with inject(*[Fault("abort", nth, "error") for nth in range(1, 9)]) as fired:
        # A store that is opened now fails eight times, as long as anybody is patient.
        task = fc.Task.from_spec(job.spec, 0)
        write(task, "kept.txt", "unwanted.txt")
        with pytest.raises(StoreError):
            task.filesystem.rm("unwanted.txt")
        assert len(fired) == 8
        assert len(bucket.uploads) == 2
        message = task.commit()
    assert len(bucket.uploads) == 1
    job.commit([message])
    assert shown(bucket) == ["kept"]
    assert bucket.uploads == {}


def test_a_late_attempt_cannot_commit(bucket: Bucket) -> None:
    """Where no directory goes away under it, it has to look."""
    job = started(bucket)
    task = write(fc.Task.from_spec(job.spec, 0), "a.txt")
    job.abort()
    with pytest.raises(fc.JobNotActiveError):
        task.commit()
    task.abort()
    assert bucket.objects == {}
    assert bucket.uploads == {}
