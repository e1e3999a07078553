"""Uploads that a program has begun which knows nothing of this library, adopted by a job."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
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
    """Writes as S3A does below a magic directory: a pending upload, without metadata, its record.

    By s3fs alone.
    """

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
        size_bytes = sum(map(len, parts))
        self._record(name, json.dumps({"uploadId": upload_id, "length": size_bytes}))
        return fc.AdoptedFile(name, size_bytes, upload_id, tuple(etags))

    def _record(self, name: str, record: str) -> None:
        directory, _, file_name = name.rpartition("/")
        found = re.search(r"-(\d{8}T\d{6}-[0-9a-f]{16})-(\d+)", file_name)
        assert found is not None
        job_id, task_id = found.groups()
        base = f"__magic_job-{job_id}/tasks/{task_id}/{ATTEMPT}/__base/{directory}".rstrip("/")
        for left, data in ((file_name, b""), (f"{file_name}.pending", record.encode())):
            self._s3.pipe_file(f"{self._bucket}/{self._prefix}/{base}/{left}", data)

    def write_again(self, file: fc.AdoptedFile, data: bytes) -> None:
        """Another content of its first part."""
        where = {"Bucket": self._bucket, "Key": f"{self._prefix}/{file.name}"}
        upload = {"UploadId": file.upload_id, "PartNumber": 1}
        self._s3.call_s3("upload_part", **where, **upload, Body=data)

    def end(self, file: fc.AdoptedFile, operation: str) -> None:
        where = {"Bucket": self._bucket, "Key": f"{self._prefix}/{file.name}"}
        numbered = enumerate(file.part_tokens, 1)
        parts = [{"PartNumber": number, "ETag": etag} for number, etag in numbered]
        more = {"MultipartUpload": {"Parts": parts}} if operation.startswith("complete") else {}
        self._s3.call_s3(operation, **where, UploadId=file.upload_id, **more)

    def uploads(self) -> list[str]:
        """The keys of all pending uploads."""
        listed = self._s3.call_s3("list_multipart_uploads", Bucket=self._bucket)
        keys = [upload["Key"] for upload in listed.get("Uploads", ())]
        return [key for key in keys if key.startswith(f"{self._prefix}/")]

    def names(self) -> list[str]:
        """Everything that stands."""
        root = f"{self._bucket}/{self._prefix}"
        self._s3.invalidate_cache()
        # An empty directory is a file to fsspec where a server shows it as an object.
        return [name[len(root) + 1 :] for name in self._s3.find(root) if name != root]

    def read(self, name: str) -> bytes:
        data: bytes = self._s3.cat_file(f"{self._bucket}/{self._prefix}/{name}")
        return data


@pytest.fixture
def started(s3_bucket: S3Bucket) -> tuple[fc.Job, Engine]:
    destination = f"{s3_bucket.url}/{uuid4().hex}"
    job = fc.Job(destination, storage_options=s3_bucket.storage_options).start()
    job._begun_here = False  # It is settled by others, too.
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


@pytest.mark.guarantees("P2", "P6")
def test_p2_what_a_program_uploads_after_its_files_were_adopted_is_never_shown(
    started: tuple[fc.Job, Engine], s3_bucket: S3Bucket
) -> None:
    """Its job stays decided, until somebody accepts that the file is lost."""
    job, engine = started
    names = [f"part-{number}-{job.job_id}-0.csv" for number in range(2)]
    files = [engine.write(name, b"right") for name in names]
    message = job.adopt(0, ATTEMPT, files)
    engine.write_again(files[0], b"wrong")
    with pytest.raises(fc.PartialCommitError):
        job.commit([message])
    options = s3_bucket.storage_options
    with pytest.raises(fc.PartialCommitError):
        fc.resume(job.destination, job.job_id, storage_options=options)
    assert [one.state for one in fc.jobs(job.destination, storage_options=options)] == ["decided"]
    result = fc.resume(job.destination, job.job_id, accept_loss=True, storage_options=options)
    assert [warning for warning in result.warnings if names[0] in warning]
    assert [name for name in engine.names() if name.endswith(".csv")] == [names[1]]
    assert engine.read(names[1]) == b"right"


def shown(s3_bucket: S3Bucket, job: fc.Job) -> tuple[list[fc.JobInfo], list[fc.HadoopJob]]:
    options = s3_bucket.storage_options
    jobs = fc.jobs(job.destination, storage_options=options)
    return jobs, fc.hadoop_jobs(job.destination, storage_options=options)


def cleaned(s3_bucket: S3Bucket, job: fc.Job, *, dry_run: bool = False) -> fc.CleanReport:
    return fc.clean(
        job.destination,
        older_than=timedelta(0),
        dry_run=dry_run,
        storage_options=s3_bucket.storage_options,
    )


@pytest.mark.guarantees("P5")
@pytest.mark.parametrize("settled_by", ["its driver", "abort", "clean"])
def test_an_aborted_job_leaves_nothing_of_another_program(
    started: tuple[fc.Job, Engine], s3_bucket: S3Bucket, settled_by: str
) -> None:
    """Also where no task was ever adopted, as when a job of Spark's fails."""
    job, engine = started
    engine.write(f"day=1/part-00000-{job.job_id}-0.parquet", b"a")
    engine.write(f"part-00001-{job.job_id}-1.parquet", b"b")
    assert len(engine.uploads()) == 2
    jobs, others = shown(s3_bucket, job)
    assert ([one.state for one in jobs], others) == (["open"], [])
    would = cleaned(s3_bucket, job, dry_run=True)
    assert (would.aborted, would.deleted, would.shown) == ((job.job_id,), (), ())
    if settled_by == "its driver":
        job.abort()
    elif settled_by == "abort":
        fc.abort(job.destination, job.job_id, storage_options=s3_bucket.storage_options)
    else:
        done = cleaned(s3_bucket, job)
        assert (done.aborted, done.bytes) == (would.aborted, would.bytes)
    assert (engine.uploads(), engine.names()) == ([], [])


@pytest.mark.guarantees("P6")
@pytest.mark.parametrize("ended", ["committed", "aborted"])
def test_what_a_zombie_writes_is_cleaned(
    started: tuple[fc.Job, Engine], s3_bucket: S3Bucket, ended: str
) -> None:
    """It is nobody's any more: neither its uploads nor their records stay."""
    job, engine = started
    name = f"part-00000-{job.job_id}-0.parquet"
    if ended == "committed":
        job.commit([job.adopt(0, ATTEMPT, [engine.write(name, b"a")])])
    else:
        job.abort()
    before = engine.names()
    assert not any(name.startswith("__magic") for name in before)
    late = engine.write(f"part-00001-{job.job_id}-1.parquet", b"late")
    assert shown(s3_bucket, job) == ([], [])
    assert cleaned(s3_bucket, job, dry_run=True).deleted == (
        f"upload of {late.name}",
        f"__magic_job-{job.job_id}",
    )
    assert len(engine.uploads()) == 1
    cleaned(s3_bucket, job)
    assert (engine.uploads(), engine.names()) == ([], before)


@pytest.mark.guarantees("P8")
def test_what_a_live_job_writes_is_left_alone(
    started: tuple[fc.Job, Engine], s3_bucket: S3Bucket
) -> None:
    """One that is decided and not finished, and one that is younger than what is cleaned."""
    job, engine = started
    messages = [job.adopt(0, ATTEMPT, [engine.write(f"a-{job.job_id}-0.csv", b"a")])]
    names = engine.names()
    options = s3_bucket.storage_options
    fc.clean(job.destination, older_than=timedelta(hours=1), dry_run=False, storage_options=options)
    assert engine.names() == names
    with inject(Fault("complete", 1, "crash_before")), pytest.raises(Crash):
        fc.Job.from_spec(job.spec, storage_options=options).commit(messages)
    assert cleaned(s3_bucket, job).shown == (
        f"{job.job_id}: committed but not finished, resume it",
    )
    assert set(names) <= set(engine.names())
    fc.resume(job.destination, job.job_id, storage_options=options)
    assert [name for name in engine.names() if not name.startswith("_")] == [
        f"a-{job.job_id}-0.csv"
    ]
    assert_no_leftovers(job.destination, storage_options=options)


def test_a_file_of_another_name_s_upload_is_refused(started: tuple[fc.Job, Engine]) -> None:
    """Its job could be neither finished nor given up, once it had decided.

    And where a server takes whatever it is given, SeaweedFS, a part of the file was missing.
    """
    job, engine = started
    one = engine.write(f"one-{job.job_id}-0.csv", b"a" * (5 << 20), b"tail")
    other = engine.write(f"other-{job.job_id}-0.csv", b"a" * (5 << 20), b"tail")
    first, last = one.part_tokens
    for wrong in (
        replace(one, upload_id=other.upload_id),
        replace(one, upload_id="none"),
        replace(one, size_bytes=one.size_bytes + 1),
        replace(one, part_tokens=(first,), size_bytes=5 << 20),
        replace(one, part_tokens=(last, first)),
        replace(one, part_tokens=(first, last, last)),
        replace(one, part_tokens=(first, "0" * 32)),
        replace(one, part_tokens=(first, "\ud800")),
    ):
        with pytest.raises(fc.RequestError, match="cannot adopt") as caught:
            job.adopt(0, ATTEMPT, [wrong])
        assert (caught.value.kind, caught.value.outcome) == ("cannot_adopt", "not_committed")
    quoted = replace(one, part_tokens=(f'"{first}"', f'"{last}"'))
    assert job.commit([job.adopt(0, ATTEMPT, [quoted])]).bytes == one.size_bytes
    assert engine.read(one.name) == b"a" * (5 << 20) + b"tail"
    assert engine.uploads() == []


@pytest.mark.parametrize("done", ["complete_multipart_upload", "abort_multipart_upload"])
def test_an_upload_that_is_over_is_refused(started: tuple[fc.Job, Engine], done: str) -> None:
    job, engine = started
    file = engine.write(f"part-{job.job_id}-0.csv", b"a")
    engine.end(file, done)
    with pytest.raises(fc.RequestError, match="no such upload of that name is pending"):
        job.adopt(0, ATTEMPT, [file])
    job.abort()
