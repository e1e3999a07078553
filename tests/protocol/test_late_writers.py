"""Files of the manifest committer stay where late writers reach them: none is taken for ours."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit.testing.wrapped import WrappedStore
from tests.flat.bucket import RENAMING, Bucket
from tests.protocol.in_buckets import started, write

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")
pytestmark = pytest.mark.parametrize("bucket", RENAMING, indirect=True)


def working_file(bucket: Bucket, part: str) -> StorePath:
    (path,) = [
        path for path in bucket.objects if "/tasks/" in path and part in path.rpartition("/")[2]
    ]
    return path


def shown(bucket: Bucket) -> dict[str, bytes]:
    """What is visible, by the beginnings of the names."""
    names = {path: path.removeprefix(f"{bucket.name}/out/") for path in bucket.keys("")}
    return {
        name.partition("-")[0]: bucket.objects[path].data
        for path, name in names.items()
        if not name.startswith("_")
    }


def test_what_is_written_after_the_task_has_committed_is_not_published(bucket: Bucket) -> None:
    """Even of equal length, and with what marks the attempt's own files."""
    job = started(bucket)
    write(job.task(), "a.txt", "late.txt", "z.txt").commit()
    path = working_file(bucket, "late")
    bucket.put(path, b"LATE.TXT", bucket.objects[path].nonce, Expect.ANYTHING)
    with pytest.raises(fc.PartialCommitError, match="nothing was deleted") as caught:
        job.commit()
    assert caught.value.remaining
    with pytest.raises(fc.PartialCommitError):
        fc.resume(job.destination, job.job_id)
    result = fc.resume(job.destination, job.job_id, accept_loss=True)
    assert [warning for warning in result.warnings if "late" in warning]
    assert shown(bucket) == {"a": b"a.txt", "z": b"z.txt"}
    assert fc.jobs(job.destination) == []


def test_a_marker_that_has_another_token_by_now_is_published(bucket: Bucket) -> None:
    """Its name is the claim's, so it is the claim's own, whoever has changed its metadata."""
    with inject(Fault("rename", 1, "crash_before")):
        job = started(bucket)
        write(job.task(), "a.txt").commit()
        with pytest.raises(Crash):
            job.commit()
    (prepared,) = [path for path in bucket.objects if "_SUCCESS-" in path]
    bucket.put(prepared, b"", None, Expect.ANYTHING)
    assert fc.resume(job.destination, job.job_id).warnings == ()
    assert StorePath(f"{bucket.name}/out/_SUCCESS") in bucket.objects


@pytest.mark.parametrize(
    ("verb", "applied"),
    [
        ("finish", "applied_late"),
        ("finish", "error_but_applied"),
        ("finish", "hang"),
        ("write", "error_but_applied"),
    ],
)
@pytest.mark.parametrize("write_behind", [False, True])
def test_a_name_is_not_written_again_while_a_request_may_come_late(
    bucket: Bucket, verb: str, applied: str, write_behind: bool
) -> None:
    """It would take the place of the second writing, when that is sealed."""
    job = started(bucket, write_behind=write_behind)
    with inject(Fault(verb, 1, applied), late_by=8) as fired:  # type: ignore[arg-type]  # a kind
        with fc.Task.from_spec(job.spec, 0) as task:
            with pytest.raises(fc.CommitError):
                write(task, "a.txt", text="first")
            if write_behind:
                with pytest.raises(fc.CommitFailedError, match=r"'a\.txt' was closed"):
                    task.open("b.txt")
            with pytest.raises(fc.CommitFailedError, match="may still be carried out"):
                write(task, "a.txt", text="other")
            with pytest.raises(fc.RequestError, match="could not finish"):
                task.commit()
            task.filesystem.rm("a.txt")
            write(task, "b.txt")
        assert fired
        assert task.message is not None
        assert task.message.file_count == 1
        with fc.Task.from_spec(job.spec, 0) as again:
            write(again, "a.txt", text="again")
        assert again.message is not None
    job.commit([again.message])
    assert shown(bucket) == {"a": b"again"}


def test_a_name_is_written_again_after_its_writer_has_let_go_of_it(bucket: Bucket) -> None:
    """Nothing of that is on its way to the store."""
    job = started(bucket)
    with job.task() as task:
        with suppress(ZeroDivisionError), task.open("a.txt", "w") as file:
            file.write("first")
            raise ZeroDivisionError
        write(task, "a.txt", text="second")
        write(task, "b.txt", text="first")
        write(task, "b.txt", text="second")
    job.commit()
    assert shown(bucket) == {"a": b"second", "b": b"second"}


def test_a_writer_that_fails_is_discarded(bucket: Bucket) -> None:
    """Never finished, so that nothing of it is published; and never left open."""
    calls: list[str] = []

    async def record(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if "/a-" in path:
            calls.append(verb)
        return await call()

    with wrapping(lambda store: WrappedStore(store, record)):
        job = started(bucket)
    with suppress(ZeroDivisionError), job.task() as task, task.open("a.txt", "w") as file:
        file.write("first")
        raise ZeroDivisionError
    assert calls[-1] == "discard"
    assert "finish" not in calls
    job.abort()


def test_an_attempt_of_which_another_manifest_stands_does_not_commit(bucket: Bucket) -> None:
    """As if two processes were this attempt: what the other one has written is not taken for it."""
    job = started(bucket)

    async def come_first(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "create" and "/manifests/" in path and path not in bucket.objects:
            bucket.put(path, b"{}", None, Expect.ANYTHING)
        return await call()

    with wrapping(lambda store: WrappedStore(store, come_first)):
        task = write(fc.Task.from_spec(job.spec, 0), "a.txt")
    with pytest.raises(fc.JobNotActiveError):
        task.commit()
    with pytest.raises(RuntimeError, match="no message"):
        _ = task.message
    job.abort()


def test_a_removed_file_is_left_out_and_no_deletion_of_it_can_come_late(bucket: Bucket) -> None:
    """It would take what was written since; where deletes have no condition, for certain."""
    job = started(bucket)
    with inject(Fault("delete", 1, "applied_late"), late_by=6) as fired:
        with fc.Task.from_spec(job.spec, 0) as task:
            write(task, "a.txt", text="first")
            task.filesystem.rm("a.txt")
            write(task, "a.txt", text="again")
            write(task, "b.txt", text="removed")
            task.filesystem.rm("b.txt")
        assert not fired
    assert task.message is not None
    job.commit([task.message])
    assert shown(bucket) == {"a": b"again"}


@pytest.mark.parametrize("ending", ["commit", "abort"])
def test_a_late_attempt_cannot_commit(bucket: Bucket, ending: str) -> None:
    job = started(bucket)
    chosen = write(fc.Task.from_spec(job.spec, 0), "a.txt").commit()
    late = write(fc.Task.from_spec(job.spec, 0), "late.txt")
    if ending == "commit":
        job.commit([chosen])
    else:
        job.abort()
    with pytest.raises(fc.JobNotActiveError):
        late.commit()
    late.abort()
    assert shown(bucket) == ({"a": b"a.txt"} if ending == "commit" else {})
    assert not [path for path in bucket.keys("") if "/tasks/" in path]


def test_a_file_in_the_way_of_a_directory_is_named(bucket: Bucket) -> None:
    """It came after the decision; as soon as it is gone the job is finished."""
    job = started(bucket)
    message = write(job.task(), "d/a.txt", "b.txt").commit()
    with inject(Fault("rename", 1, "crash_before")), suppress(Crash):
        fc.Job.from_spec(job.spec).commit([message])
    blocking = StorePath(f"{bucket.name}/out/d")
    bucket.directories.discard(blocking)
    bucket.put(blocking, b"foreign", None, Expect.ANYTHING)
    if bucket.directories:
        with pytest.raises(fc.PartialCommitError, match="out/d'"):
            fc.resume(job.destination, job.job_id)
        assert bucket.objects[blocking].data == b"foreign"
        bucket.delete(blocking, Expect.ANYTHING)
    fc.resume(job.destination, job.job_id)
    assert shown(bucket).keys() >= {"d/a", "b"}


def test_a_name_that_somebody_took_is_not_taken_back(bucket: Bucket) -> None:
    """Until it is free again the job stays decided; then it is finished."""
    job = started(bucket)
    write(job.task(), "a.txt", "b.txt").commit()
    (name,) = [path for path in bucket.objects if "/b-" in path]
    taken = StorePath(f"{bucket.name}/out/{name.rpartition('/')[2].removesuffix('.pending')}")
    bucket.put(taken, b"b.txt", None, Expect.ANYTHING)
    with pytest.raises(fc.PartialCommitError):
        job.commit()
    assert bucket.objects[taken].nonce is None
    bucket.delete(taken, Expect.ANYTHING)
    assert fc.resume(job.destination, job.job_id).file_count == 2
    assert shown(bucket) == {"a": b"a.txt", "b": b"b.txt"}
