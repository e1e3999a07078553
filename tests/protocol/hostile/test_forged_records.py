"""Records that a clever enemy forges: whole, of the right job, and with the right digests (P10)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec
import pytest

import fsspec_commit as fc
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.names import Target
from fsspec_commit.records.job import Decision, ReplacedFile, ReplacedList
from fsspec_commit.records.pending_set import PendingFile, PendingSet
from fsspec_commit.store import Expect, PendingUpload
from fsspec_commit.testing import Crash, Fault, inject
from tests.protocol.in_buckets import started, url, write

if TYPE_CHECKING:
    from tests.flat.bucket import Bucket

OLD = "old-6a0d9b8e-5c0f-4a55-9f0e-0123456789ab.txt"
pytestmark = pytest.mark.guarantees("P10")


def put(bucket: Bucket, path: str, data: bytes) -> None:
    bucket.put(StorePath(path), data, None, Expect.ANYTHING)


@pytest.mark.parametrize("name", ["_commit/x/job.json", "a/_COMMIT/x", "../kept.txt", "", "x\0y"])
@pytest.mark.parametrize("bucket", ["versioned"], indirect=True)
def test_p10_no_list_removes_what_no_job_lists(bucket: Bucket, name: str) -> None:
    check_that_none_is_removed(bucket, name)


@pytest.mark.parametrize("bucket", ["minio"], indirect=True)
def test_p10_no_list_removes_what_this_store_cannot_tell_from_a_newer_file(bucket: Bucket) -> None:
    """It ended in an error that nobody foresaw, when every file had been published."""
    check_that_none_is_removed(bucket, "kept.txt")


def check_that_none_is_removed(bucket: Bucket, name: str) -> None:
    """Not even a new file is published before all of a forged list has been checked."""
    root = f"{bucket.name}/out"
    put(bucket, f"{root}/{OLD}", b"old")
    job = started(bucket, mode="overwrite")
    message = write(job.task(), "a.txt").commit()
    with inject(Fault("complete", 1, "crash_before")), suppress(Crash):
        fc.Job.from_spec(job.spec).commit([message])
    for kept in (f"{root}/kept.txt", f"{bucket.name}/kept.txt", f"{root}/_commit/x/job.json"):
        put(bucket, kept, b"kept")
    area = f"{root}/_commit/{job.job_id}"
    decision = Decision.decode(bucket.objects[StorePath(f"{area}/decision")].data)
    assert decision.claim is not None
    line = msgspec.json.encode(ReplacedFile(name, 4, "token", in_place=False)) + b"\n"
    put(bucket, f"{area}/replaced-{decision.claim.nonce}", line)
    forged = ReplacedList(count=1, digest=sha256(line).hexdigest())
    put(bucket, f"{area}/decision", msgspec.structs.replace(decision, replaced=forged).encode())
    before = dict(bucket.objects)
    with pytest.raises(fc.PartialCommitError, match="the list of replaced files names one"):
        fc.resume(url(bucket), job.job_id)
    assert bucket.objects == before


@pytest.mark.parametrize("bucket", ["versioned", "minio"], indirect=True)
def test_p10_no_manifest_completes_the_upload_of_another_job(bucket: Bucket) -> None:
    """Which its task has neither finished nor sent a message of, so that nobody may see it."""
    theirs = started(bucket)
    write(theirs.task(), "a.txt")
    [(upload_id, pending)] = bucket.uploads.items()
    victim = started(bucket)
    message = write(victim.task(), "b.txt").commit()
    root = StorePath(f"{bucket.name}/out")
    attempt = DestinationLayout(root).job(victim.job_id).attempt(0, message.attempt_id)
    upload = PendingUpload(path=pending.path, upload_id=upload_id, nonce=pending.nonce)
    parts = bucket.stored_parts(upload)
    assert parts is not None
    upload = replace(upload, parts=tuple(parts))
    file = PendingFile(Target(pending.path[len(root) + 1 :]), message.bytes, upload)
    forged = PendingSet(attempt, SYSTEM_IDS.nonce(), SYSTEM_IDS.now(), [file]).encode()
    put(bucket, attempt.manifest, forged)
    told = msgspec.structs.replace(message, digest=sha256(forged).hexdigest())
    with pytest.raises(fc.RecordError, match="which is not its own"):
        victim.commit([told])
    assert upload_id in bucket.uploads
    victim.abort()
    assert list(bucket.uploads) == [upload_id]


@pytest.mark.parametrize("bucket", ["versioned"], indirect=True)
def test_p10_a_manifest_that_its_message_does_not_name_is_not_believed(bucket: Bucket) -> None:
    """Nothing is wrong with it, but that another one was written, and promised to the driver."""
    job = started(bucket)
    message = write(fc.Task.from_spec(job.spec, 0), "a.txt").commit()
    root = StorePath(f"{bucket.name}/out")
    path = DestinationLayout(root).job(job.job_id).attempt(0, message.attempt_id).manifest
    written = bucket.objects[path].data
    forged = written.replace(b'"rows":""', b'"rows":"7"')
    assert forged != written
    put(bucket, path, forged)
    with pytest.raises(fc.RecordError, match="is not the one its message names"):
        job.commit([message])
    put(bucket, path, written)
    job.commit([message])
