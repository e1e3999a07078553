"""An upload of `_SUCCESS` that no job knows of: `clean` on real servers aborts it in time."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.sweeps import some_tests_by_day

if TYPE_CHECKING:
    from tests.servers.plugin import S3Bucket

UNKNOWN = "_SUCCESS: a pending upload that no job is known to have begun"


@some_tests_by_day(3)
@pytest.mark.parametrize("data", [b"", b"of somebody else"], ids=["empty", "with data"])
def test_clean_aborts_an_old_and_empty_one(s3_bucket: S3Bucket, data: bytes) -> None:
    url, options = f"{s3_bucket.url}/out", s3_bucket.storage_options
    client = s3_bucket.server.client
    where = {"Bucket": s3_bucket.name, "Key": "out/_SUCCESS"}
    upload_id = client.create_multipart_upload(**where)["UploadId"]
    client.upload_part(**where, UploadId=upload_id, PartNumber=1, Body=data)
    with fc.Job(url, mode="append", storage_options=options) as job, job.task() as task:
        with task.open("a.txt", "w") as file:
            file.write("a")
        report = fc.clean(url, older_than=timedelta(days=1), dry_run=False, storage_options=options)
        assert report.shown == (UNKNOWN,), "a job is undecided, and it is young"
    ages = [timedelta(days=1), timedelta(0)]
    reports = [
        fc.clean(url, older_than=age, dry_run=False, storage_options=options) for age in ages
    ]
    assert [report.shown for report in reports] == [(UNKNOWN,), (UNKNOWN,) if data else ()]
    assert reports[1].deleted == (() if data else ("upload of _SUCCESS",))
    listed = client.list_multipart_uploads(Bucket=s3_bucket.name).get("Uploads", [])
    assert [one["UploadId"] for one in listed] == ([upload_id] if data else [])
