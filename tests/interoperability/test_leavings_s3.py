"""What a killed job of Hadoop's magic committer has left in a bucket: told, and left there."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.interoperability.peer import magic

if TYPE_CHECKING:
    from tests.interoperability.peer import Peer
    from tests.servers.plugin import S3Bucket

pytestmark = [
    pytest.mark.server,
    pytest.mark.parametrize("s3_server", ["versitygw"], indirect=True),
]

JOB = "5f3d1e0a-0000-4000-8000-000000000001"
AREA = f"__magic_job-{JOB}"
TASKS = [f"task_20260101000000_0001_m_00000{number}" for number in range(2)]
ATTEMPT = "attempt_20260101000000_0001_m_000002_0"


def job_at(bucket: S3Bucket, name: str) -> fc.HadoopJob:
    [job] = fc.hadoop_jobs(f"{bucket.url}/{name}", storage_options=bucket.storage_options)
    assert (job.job_id, job.committer, job.directory) == (JOB, "magic", AREA)
    assert job.tasks_committed == 2
    assert [(one.name, one.committed, one.file_count, one.bytes) for one in job.tasks] == [
        *((task, True, 2, 18) for task in TASKS),
        (ATTEMPT, False, 2, 18),
    ]
    return job


def keys(bucket: S3Bucket, name: str) -> tuple[list[str], list[str]]:
    """Objects below a directory of the bucket, and pending uploads."""
    client = bucket.server.client
    where = {"Bucket": bucket.name, "Prefix": f"{name}/"}
    objects = client.list_objects_v2(**where).get("Contents", ())
    uploads = client.list_multipart_uploads(**where).get("Uploads", ())
    return [one["Key"] for one in objects], [one["Key"] for one in uploads]


def test_it_says_what_is_committed_and_what_is_pending(mortal: Peer, s3_bucket: S3Bucket) -> None:
    settings = magic(s3_bucket.storage_options, JOB)
    where = f"s3a://{s3_bucket.name}"
    assert mortal.leave(f"{where}/before", settings) == "MagicS3GuardCommitter"
    mortal.leave(f"{where}/during", settings, stop_at="publish", after=3)
    # Its name begins as another's does.
    mortal.leave(f"{where}/during2", settings, stop_at="publish", after=0)
    mortal.kill()

    before = job_at(s3_bucket, "before")
    assert [(one.pending, one.published) for one in before.tasks] == [(2, 0)] * 3
    during = job_at(s3_bucket, "during")
    left = [(one.pending, one.published) for one in during.tasks]
    assert sorted(left) == [(0, 2), (1, 1), (2, 0)]
    assert [(one.pending, one.published) for one in job_at(s3_bucket, "during2").tasks] == [
        (2, 0)
    ] * 3


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["error", "overwrite"])
def test_our_job_writes_beside_it(mode: fc.Mode, hadoop: Peer, s3_bucket: S3Bucket) -> None:
    options = s3_bucket.storage_options
    hadoop.leave(f"s3a://{s3_bucket.name}/out", magic(options, JOB))
    objects, uploads = keys(s3_bucket, "out")
    assert len(uploads) == 6
    url = f"{s3_bucket.url}/out"
    job = fc.Job(url, mode=mode, storage_options=options)
    with job, job.task() as task, task.open("a.txt", "w") as file:
        file.write("ours")
    report = fc.clean(url, older_than=timedelta(0), dry_run=False, storage_options=options)
    assert f"{AREA}: of a job of Hadoop's magic committer, never touched" in report.shown
    assert (report.aborted, report.deleted) == ((), ())
    now, pending = keys(s3_bucket, "out")
    assert set(objects) <= set(now)
    assert sorted(pending) == sorted(uploads)


@pytest.mark.slow
def test_the_next_magic_job_aborts_its_uploads(hadoop: Peer, s3_bucket: S3Bucket) -> None:
    """As `show` says: then what had committed is lost."""
    options = s3_bucket.storage_options
    where = f"s3a://{s3_bucket.name}/out"
    hadoop.leave(where, magic(options, JOB), committed=3, uncommitted=0)
    hadoop.run(where, magic(options, JOB.replace("1", "2")), number=2)
    assert keys(s3_bucket, "out")[1] == []
    [job] = fc.hadoop_jobs(f"{s3_bucket.url}/out", storage_options=options)
    # The other job's tasks had the names of two of these three, and wrote as much.
    assert [(one.pending, one.published) for one in job.tasks] == [(0, 2), (0, 2), (0, 0)]


@pytest.mark.slow
@pytest.mark.parametrize("keeping", [False, True], ids=["as shipped", "told not to"])
def test_a_magic_job_of_hadoops_aborts_our_uploads(
    keeping: bool, hadoop: Peer, s3_bucket: S3Bucket
) -> None:
    """Unless it is told not to: the page says so."""
    options = s3_bucket.storage_options
    url = f"{s3_bucket.url}/out"
    settings = magic(options, JOB)
    if keeping:
        settings["fs.s3a.committer.abort.pending.uploads"] = "false"
    job = fc.Job(url, mode="append", storage_options=options).start()
    with job.task() as task, task.open("a.txt", "w") as file:
        file.write("ours")
    hadoop.run(f"s3a://{s3_bucket.name}/out", settings, number=1)
    if keeping:
        assert job.commit().file_count == 1
        return
    with pytest.raises(fc.PartialCommitError):
        job.commit()
    result = fc.resume(url, job.job_id, accept_loss=True, storage_options=options)
    assert any(job.job_id in warning for warning in result.warnings)
    assert not any(f"a-{job.job_id}" in key for key in keys(s3_bucket, "out")[0])
