"""A job that is asked for at a destination above its own: nothing there says how far it is."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.testing import Crash, Fault, inject

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def write(url: str) -> None:
    with fc.Job(url, mode="append") as job, job.task() as task:
        for name in ("a/1.txt", "a/2.txt", "b/3.txt"):
            with task.open(name) as file:
                file.write(b"x")


@pytest.mark.parametrize("settle", [fc.resume, fc.abort])
@pytest.mark.guarantees("P7", "P8")
def test_a_part_of_it_is_not_taken_for_all(url: str, settle: Callable[[str, str], object]) -> None:
    """Its files are below, and jobs had finished above: "committed and finished already"."""
    write(url)
    below = f"{url}/below"
    with inject(*(Fault(verb, 2) for verb in ("rename", "complete"))), suppress(Crash):
        write(below)
    [dead] = fc.jobs(below)
    assert dead.state == "decided"
    with pytest.raises(fc.JobNotActiveError) as caught:
        settle(url, dead.job_id)
    assert caught.value.outcome == "unknown"
    assert fc.resume(below, dead.job_id).file_count == 3


def test_working_files_are_nobodys_yet(tmp_path: Path) -> None:
    """Of an open job, whose driver lives, it was said as well that it is committed."""
    url = f"{tmp_path}/out"
    write(url)
    with fc.Job(f"{url}/below", mode="append") as job:
        with job.task() as task, task.open("a.txt") as file:
            file.write(b"x")
        with pytest.raises(fc.JobNotActiveError) as caught:
            fc.abort(url, job.job_id)
    assert caught.value.outcome == "unknown"


@pytest.mark.guarantees("P7")
def test_its_own_are_known_beside_another_destination(url: str) -> None:
    write(f"{url}/a")
    with fc.Job(url, mode="append") as job, job.task() as task:
        for name in ("a/1.txt", "b/2.txt"):
            with task.open(name) as file:
                file.write(b"x")
    with pytest.raises(fc.JobNotActiveError) as caught:
        fc.resume(url, job.job_id)
    assert caught.value.outcome == "committed"
