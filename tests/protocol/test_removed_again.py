"""A file that a task removed and wrote again: a removal that comes late takes no committed file."""

from __future__ import annotations

from uuid import uuid4

import pytest

import fsspec_commit as fc
from fsspec_commit.testing import Fault, inject

CALLS_MAX = 12
"""After so many more calls the task has committed."""


def removed_again(job: fc.Job, *, late_by: int) -> fc.TaskCommit | None:
    """The message of a task whose first request to remove a file is not answered; or it failed."""
    fault = Fault("delete", 1, "applied_late")
    with inject(fault, late_by=late_by) as fired:
        task = fc.Task.from_spec(job.spec, 0)
        for text in ("first", None, "again"):
            if text is None:
                task.filesystem.rm("a.txt")
                continue
            with task.open("a.txt", "w") as file:
                file.write(text)
        try:
            task.commit()
        except fc.CommitFailedError:
            task.abort()
            return None
    assert fired
    return task.message


@pytest.mark.parametrize("late_by", range(1, CALLS_MAX + 1))
def test_p1_p8_a_removal_that_comes_late_is_noticed_before_the_job_is_decided(late_by: int) -> None:
    job = fc.Job(f"memory://{uuid4().hex}/out", mode="append", names="exact").start()
    message = removed_again(job, late_by=late_by)
    if message is None:
        with fc.Task.from_spec(job.spec, 0) as task, task.open("a.txt", "w") as file:
            file.write("again")
        message = task.message
    assert message is not None
    job.commit([message])
    assert [path.rpartition("/")[2] for path in fc.committed_files(job.destination)] == ["a.txt"]
    assert fc.jobs(job.destination) == []


def test_some_come_in_time_and_some_do_harm() -> None:
    outcomes = set()
    for late_by in range(1, CALLS_MAX + 1):
        job = fc.Job(f"memory://{uuid4().hex}/out", mode="append").start()
        outcomes.add(removed_again(job, late_by=late_by) is None)
        job.abort()
    assert outcomes == {True, False}
