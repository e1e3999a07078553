"""What a user of S3 does, is told, and leaves behind."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

import fsspec_commit as fc
from tests.integration.cli.command import command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.servers.plugin import S3Bucket

T = TypeVar("T")
# Thirty seconds are promised; a busy machine may double them, no retry of ours may.
PATIENCE_S = 60.0


def soon(call: Callable[[], T]) -> T:
    """What *call* answers; a failure of the test when it takes for ever."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(call).result(PATIENCE_S)


def write(url: str, options: Mapping[str, Any], **job_options: Any) -> fc.CommitResult:
    with (
        fc.Job(url, storage_options=options, **{"mode": "append", **job_options}) as job,
        job.task() as task,
        task.open("part.csv", "w") as file,
    ):
        file.write("1\n")
    assert job.result is not None
    return job.result


def told(call: Callable[[], object]) -> str:
    """The sentence that a call fails with, before anything is committed."""
    with pytest.raises(fc.CommitError) as caught:
        soon(call)
    assert caught.value.outcome == "not_committed"
    text = str(caught.value)
    assert "\n" not in text
    return text


def told_by_the_command(*arguments: object, options: Mapping[str, Any]) -> str:
    """The one line that the command fails with."""
    given = [f"--storage-option={name}={value}" for name, value in options.items()]
    ran = command(*arguments, *given)
    assert ran.status in {1, 2}, ran
    assert ran.out == ""
    [line] = ran.err.splitlines()
    assert line.startswith("error: ")
    return line


def leftovers(bucket: S3Bucket) -> list[str]:
    """What is in the bucket that no finished job leaves."""
    client = bucket.server.client
    objects = client.list_objects_v2(Bucket=bucket.name).get("Contents", [])
    uploads = client.list_multipart_uploads(Bucket=bucket.name).get("Uploads", [])
    found = [one["Key"] for one in objects if "/_commit/" in f"/{one['Key']}"]
    return [key for key in found if "/epoch-" not in key] + [one["Key"] for one in uploads]


def settle(url: str, options: Mapping[str, Any]) -> None:
    for job in fc.jobs(url, storage_options=options):
        if job.state in {"decided", "published"}:
            fc.resume(url, job.job_id, storage_options=options)
    fc.clean(url, older_than=timedelta(0), dry_run=False, storage_options=options)
