"""A job that is left where it stood, and whoever looks at one before it is over."""

from __future__ import annotations

import gc
import inspect
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

import fsspec_commit as fc
from fsspec_commit.testing import Crash, Fault, inject

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["memory", "local"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"memory://left-{uuid4().hex}" if request.param == "memory" else str(tmp_path / "t")


def write(task: fc.Task, name: str) -> None:
    with task.open(name) as file:
        file.write(b"x")


@pytest.mark.filterwarnings("error")
def test_a_job_that_could_not_be_aborted_is_told_of_once(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """And not when it is dropped: to use "with Job(...)" would be no advice."""
    with (
        inject(*(Fault("create", nth, "error") for nth in range(2, 100))),
        pytest.raises(ValueError, match="no such column") as caught,
        fc.Job(url) as job,
    ):
        raise ValueError("no such column")
    expected = "the job could not be aborted ("
    assert [note[: len(expected)] for note in caught.value.__notes__] == [expected]
    assert caught.value.__notes__[0].endswith(f"fsspec-commit abort {url} {job.job_id}")
    del job, caught
    gc.collect()
    [record] = [record for record in caplog.records if record.levelname == "WARNING"]
    assert "the job could not be aborted" in record.getMessage()


@pytest.mark.filterwarnings("error")
def test_a_process_that_a_test_lets_die_warns_of_nothing(url: str) -> None:
    """Projects in whose tests warnings are errors could not use what the page Testing shows."""
    with (
        inject(Fault("create", 2, "crash_before")),
        pytest.raises(Crash) as caught,
        fc.Job(url) as job,
        job.task() as task,
    ):
        write(task, "a")
    assert caught.value.__notes__ == [
        f"the job could not be aborted; settle it with: fsspec-commit abort {url} {job.job_id}"
    ]
    del job, task, caught
    gc.collect()


def test_whoever_looks_at_every_attribute_is_not_stopped(url: str) -> None:
    """As Ray does, to say why a job cannot be pickled: it said that the job had no result."""
    job = fc.Job(url)
    members = dict(inspect.getmembers(job))
    assert "destination" in members
    assert {"job_id", "result", "selection", "spec"}.isdisjoint(members)
    with job:
        with job.task() as task:
            assert "message" not in dict(inspect.getmembers(task))
            write(task, "a")
        assert "message" in dict(inspect.getmembers(task))
        with pytest.raises(RuntimeError, match="cannot give a filesystem: task 0 is committed"):
            _ = task.filesystem
    assert "result" in dict(inspect.getmembers(job))
