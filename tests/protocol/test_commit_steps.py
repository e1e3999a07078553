"""Steps of a commit whose absence no simulated run shows, each in one job that needs it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from fsspec.callbacks import Callback

import fsspec_commit as fc
from fsspec_commit.testing import Crash, Fault, inject
from tests.protocol.in_buckets import started, write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.flat.bucket import Bucket


def test_two_messages_of_one_task_are_refused(tmp_path: Path) -> None:
    job = fc.Job(tmp_path / "out", mode="append").start()
    messages = [write(job.task(0), name).commit() for name in ("a.txt", "b.txt")]
    with pytest.raises(fc.RequestError):
        job.commit(messages)
    job.abort()


def test_a_task_whose_message_is_forgotten_is_named(tmp_path: Path) -> None:
    job = fc.Job(tmp_path / "out", mode="append").start()
    messages = [write(fc.Task.from_spec(job.spec, number), "a.txt").commit() for number in (0, 1)]
    assert "left out" in str(job.commit(messages[:1]).warnings)


def test_a_callback_is_told_how_many_files_there_are(tmp_path: Path) -> None:
    bar = Callback()
    with fc.Job(tmp_path / "out", mode="append", callback=bar) as job:
        write(job.task(), "a.txt", "b.txt").commit()
    assert (bar.size, bar.value) == (2, 2)


@pytest.mark.parametrize("bucket", ["unversioned"], indirect=True)
def test_whoever_resumes_a_job_removes_the_epochs_before(bucket: Bucket) -> None:
    first = started(bucket)
    write(first.task(), "a.txt").commit()
    first.commit()
    job = started(bucket)
    message = write(job.task(), "b.txt").commit()
    with inject(Fault("complete", 1, "crash_before")) as fired, suppress(Crash):
        fc.Job.from_spec(job.spec).commit([message])
    assert fired
    fc.resume(job.destination, job.job_id)
    assert len([key for key in bucket.keys("") if "/_commit/epoch-" in key]) == 1


def test_p11_a_job_that_was_refused_is_in_nobodys_way(tmp_path: Path) -> None:
    """Its claim is gone, while it is open and may commit again."""
    destination = tmp_path / "out"
    with fc.Job(destination, mode="append", names="exact") as job:
        write(job.task(), "a.txt").commit()
    refused = fc.Job(destination, mode="append", names="exact").start()
    write(refused.task(), "a.txt").commit()
    with pytest.raises(fc.DestinationExistsError):
        refused.commit()
    with fc.Job(destination, mode="overwrite", wait_s=0) as later:
        write(later.task(), "b.txt").commit()
    refused.abort()
