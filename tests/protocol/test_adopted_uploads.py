"""Uploads that another program has begun, in a bucket: adopted if they are as described."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect
from tests.protocol.in_buckets import started, url, write

if TYPE_CHECKING:
    from tests.flat.bucket import Bucket

ATTEMPT = "0123456789abcdef"


def upload(bucket: Bucket, name: str, parts: dict[int, bytes]) -> fc.AdoptedFile:
    """An upload without anything that this library says beside its own."""
    begun = bucket.start(StorePath(f"{bucket.name}/out/{name}"), Nonce(""))
    tokens = [bucket.put_part(begun, number, data).token for number, data in parts.items()]
    return fc.AdoptedFile(name, sum(map(len, parts.values())), begun.upload_id, tuple(tokens))


@pytest.mark.parametrize("bucket", ["versioned", "unversioned"], indirect=True)
def test_one_that_is_as_described_is_completed_and_no_other(bucket: Bucket) -> None:
    job = started(bucket)
    name = f"part-{job.job_id}-0.csv"
    gap = upload(bucket, name, {1: b"a", 3: b"c"})
    late = upload(bucket, name, {2: b"b", 3: b"c"})
    file = upload(bucket, name, {1: b"first", 2: b"last"})
    first, last = file.part_tokens
    wrong = {
        "has the parts [1, 3], and should have 1 to 2": gap,
        "has the parts [2, 3], and should have 1 to 2": late,
        "has the parts [1, 2], and should have 1 to 1": replace(file, part_tokens=(first,)),
        f"part 1 of its upload is {first!r}, and not {last!r}": replace(
            file, part_tokens=(last, first)
        ),
        "has 9 bytes, and should have 8": replace(file, size_bytes=8),
        "it was completed, or aborted, or never was": replace(file, upload_id="none"),
        "has no upload_id": replace(file, upload_id=None),
        "or no part_tokens": replace(file, part_tokens=()),
    }
    for why, one in wrong.items():
        with pytest.raises(fc.RequestError) as caught:
            job.adopt(0, ATTEMPT, [one])
        assert why in str(caught.value)
        assert caught.value.kind == "cannot_adopt"
    message = job.adopt(0, ATTEMPT, [file])
    assert job.adopt(0, ATTEMPT, [file]) == message
    with pytest.raises(fc.RequestError, match="adopted before, with other files"):
        job.adopt(0, ATTEMPT, [])
    assert job.commit([message]).bytes == len(b"firstlast")
    assert bucket.objects[StorePath(f"{bucket.name}/out/{name}")].data == b"firstlast"
    assert bucket.uploads == {}


@pytest.mark.parametrize("bucket", ["by path"], indirect=True)
def test_where_another_program_cannot_begin_one_it_is_refused(bucket: Bucket) -> None:
    job = started(bucket)
    file = fc.AdoptedFile(f"part-{job.job_id}-0-{ATTEMPT}.csv", 1, "upload", ("etag",))
    with pytest.raises(fc.RequestError, match="only by the library that began it"):
        job.adopt(0, ATTEMPT, [file])
    job.abort()


@pytest.mark.parametrize(
    "left",
    [
        f"__magic_job-{{}}/tasks/0/{ATTEMPT}/__base/part-{{}}-0.csv",
        f"__magic_job-{{}}/tasks/0/{ATTEMPT}/__base/part-{{}}-0.csv.pending",
        "_logs/run-{}-0/stderr.txt",
        "_logs/stderr-{}-executor.txt",
        ".part-{}-0.csv.crc",
    ],
)
@pytest.mark.guarantees("P7")
def test_p7_what_is_named_after_an_aborted_job_does_not_make_it_a_committed_one(
    bucket: Bucket, left: str
) -> None:
    """A late executor of S3A's records its upload; "committed and finished already" was said."""
    with fc.Job(url(bucket), mode="append") as before, before.task() as task:
        write(task, "before.csv")
    job = started(bucket)
    fc.abort(url(bucket), job.job_id)
    path = StorePath(f"{bucket.name}/out/{left.format(job.job_id, job.job_id)}")
    bucket.put(path, b"", None, Expect.ANYTHING)
    for ask in (
        lambda: job.commit([]),
        job.abort,
        lambda: fc.resume(url(bucket), job.job_id),
        lambda: fc.abort(url(bucket), job.job_id),
    ):
        with pytest.raises(fc.JobNotActiveError) as caught:
            ask()
        assert caught.value.outcome == "unknown"


@pytest.mark.guarantees("P7")
def test_p7_of_a_committed_job_each_name_that_it_can_have_says_so(bucket: Bucket) -> None:
    names = ["a.csv", "day=1/b", "_more/c.tar.gz"]
    with fc.Job(url(bucket), mode="append") as job, job.task() as task:
        write(task, *names)
    ours = {path: one for path, one in bucket.objects.items() if f"-{job.job_id}-0" in path}
    assert len(ours) == len(names)
    for path, one in ours.items():
        for other in ours:
            bucket.objects.pop(other, None)
        bucket.objects[path] = one
        with pytest.raises(fc.JobNotActiveError) as caught:
            fc.resume(url(bucket), job.job_id)
        assert caught.value.outcome == "committed"
