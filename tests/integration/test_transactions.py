"""fsspec's transactions in an attempt: rolled back, nothing of them is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from tests.flat import store as _flat  # noqa: F401  # the protocol of `flat://`
from tests.flat.bucket import AWS, make_bucket

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class OwnError(Exception):
    """What ends a transaction."""


@pytest.fixture(params=["disk", "paged"])
def job(request: pytest.FixtureRequest, fast: Path) -> fc.Job:
    url = str(fast / "out") if request.param == "disk" else f"flat://{make_bucket(AWS).name}/out"
    return fc.Job(url, mode="append", names="exact", allow_empty=True)


def write(filesystem: Any, name: str, text: str, *, close: bool) -> Any:
    file = filesystem.open(name, "wb")
    file.write(text.encode())
    if close:
        file.close()
    return file


def roll_back(task: fc.Task, closed: Sequence[bool]) -> list[Any]:
    """Open one name several times in a transaction that ends in an error of its user's own."""
    filesystem: Any = task.filesystem
    held: list[Any] = []

    def fail() -> None:
        with filesystem.transaction:
            for number, close in enumerate(closed):
                held.append(write(filesystem, "a", str(number), close=close))
            raise OwnError

    with pytest.raises(OwnError):
        fail()
    return held


def committed(job: fc.Job) -> list[str]:
    assert job.result is not None
    return sorted(job.result.files)


REOPENED = pytest.mark.parametrize(
    "closed", [(True,), (False,), (True, True), (True, False), (True, True, False)], ids=str
)


@REOPENED
def test_what_is_rolled_back_was_never_there(job: fc.Job, closed: Sequence[bool]) -> None:
    with job, job.task() as task:
        held = roll_back(task, closed)
        assert all(file.closed for file in held)
        with task.open("b", "w") as file:
            file.write("b")
    assert committed(job) == ["b"]


@REOPENED
def test_what_a_name_held_before_is_missed(job: fc.Job, closed: Sequence[bool]) -> None:
    """It is gone once the name was opened again, so the task says so until it is written."""
    with job, job.task() as task:
        write(task, "a", "before", close=True)
        roll_back(task, closed)
        with pytest.raises(fc.RequestError, match="'a' a second time"):
            task.commit()
        write(task, "a", "after", close=True)
    assert committed(job) == ["a"]


def test_the_last_content_of_a_name_counts(job: fc.Job) -> None:
    with job, job.task() as task:
        filesystem: Any = task.filesystem
        with filesystem.transaction:
            write(filesystem, "a", "1", close=True)
            write(filesystem, "a", "22", close=True)
    assert committed(job) == ["a"]
    assert job.result is not None
    assert job.result.bytes == 2
