"""Uploads that a program has begun which knows nothing of this library, adopted by a job."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
import s3fs

import fsspec_commit as fc
from fsspec_commit.testing import Crash, Fault, assert_committed, assert_no_leftovers, inject

if TYPE_CHECKING:
    from tests.servers.plugin import S3Bucket

ATTEMPT = "0123456789abcdef"


class Engine:
    """Writes as Hadoop's magic committer does: parts of a pending upload, and no metadata."""

    def __init__(self, bucket: S3Bucket, destination: str) -> None:
        self._s3 = s3fs.S3FileSystem(**bucket.storage_options, skip_instance_cache=True)
        self._bucket, _, self._prefix = destination.removeprefix("s3://").partition("/")

    def write(self, name: str, *parts: bytes) -> fc.AdoptedFile:
        where = {"Bucket": self._bucket, "Key": f"{self._prefix}/{name}"}
        upload_id = self._s3.call_s3("create_multipart_upload", **where)["UploadId"]
        etags = [
            self._s3.call_s3(
                "upload_part", **where, UploadId=upload_id, PartNumber=number, Body=data
            )["ETag"].strip('"')
            for number, data in enumerate(parts, 1)
        ]
        return fc.AdoptedFile(name, sum(map(len, parts)), upload_id, tuple(etags))

    def read(self, name: str) -> bytes:
        data: bytes = self._s3.cat_file(f"{self._bucket}/{self._prefix}/{name}")
        return data


@pytest.fixture
def started(s3_bucket: S3Bucket) -> tuple[fc.Job, Engine]:
    destination = f"{s3_bucket.url}/{uuid4().hex}"
    job = fc.Job(destination, storage_options=s3_bucket.storage_options).start()
    return job, Engine(s3_bucket, destination)


def test_its_uploads_are_completed(started: tuple[fc.Job, Engine], s3_bucket: S3Bucket) -> None:
    """The sizes of their parts are not known to anybody."""
    job, engine = started
    long = f"day=1/part-00000-{job.job_id}-0.snappy.parquet"
    short = f"day=2/part-00000-{job.job_id}-0-c000.csv.gz"
    parts = b"a" * (5 << 20), b"tail"
    files = [engine.write(long, *parts), engine.write(short, b"")]
    result = job.commit([job.adopt(0, ATTEMPT, files)])
    assert (result.file_count, result.bytes) == (2, (5 << 20) + 4)
    assert engine.read(long) == b"".join(parts)
    assert engine.read(short) == b""
    options = s3_bucket.storage_options
    assert_committed(job.destination, file_count=2, storage_options=options)
    assert_no_leftovers(job.destination, storage_options=options)


@pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")
def test_a_resumer_knows_what_was_completed(
    started: tuple[fc.Job, Engine], s3_bucket: S3Bucket
) -> None:
    """By its name and its size: it has no nonce, and is found completed."""
    job, engine = started
    names = [f"part-{number}-{job.job_id}-0.csv" for number in range(3)]
    message = job.adopt(0, ATTEMPT, [engine.write(name, name.encode()) for name in names])
    with inject(Fault("complete", 2, "crash_after")) as fired, pytest.raises(Crash):
        fc.Job.from_spec(job.spec, storage_options=s3_bucket.storage_options).commit([message])
    assert fired
    result = fc.resume(job.destination, job.job_id, storage_options=s3_bucket.storage_options)
    assert (result.state, result.warnings) == ("committed", ())
    assert [engine.read(name) for name in names] == [name.encode() for name in names]
