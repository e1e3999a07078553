"""A damaged job is given up (`clean --accept-loss`) while its driver, past its decision, lives."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

T = TypeVar("T")


def write(url: Path, mode: fc.Mode) -> None:
    with fc.Job(url, mode=mode) as job, job.task() as task:
        for number in range(4):
            with task.open(f"{number}.txt", "w") as file:
                file.write(str(number))


@pytest.mark.parametrize("published", range(5))
@pytest.mark.parametrize("damaged", ["decision", "job.json"])
@pytest.mark.guarantees("P1", "P7")
def test_its_driver_says_committed_only_where_every_file_is_there(
    tmp_path: Path, damaged: str, published: int
) -> None:
    """It took the missing record for a resumer's work: "committed", with one file of four."""
    url = tmp_path / "out"
    write(url, "append")  # An epoch stands, as wherever a job has finished.
    before = 0

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        nonlocal before
        if (verb, path.rpartition("/")[0]) == ("rename", str(url)) or path.endswith("/published"):
            if before == published:
                before += 1
                give_up()
            before += 1
        return await call()

    def give_up() -> None:
        """As another process does: the damage first, then what is left of the job goes."""
        [area] = url.glob("_commit/2*")
        if damaged == "decision":
            (area / damaged).write_bytes(b"garbage")
        else:
            (area / damaged).unlink()
        shutil.rmtree(area.rename(area.with_name(f"gone-{32 * '0'}")))

    with (
        wrapping(lambda store: WrappedStore(store, carry)),
        pytest.raises(fc.JobNotActiveError) as caught,
    ):
        write(url, "append")
    there = len(list(url.glob("*.txt"))) - 4
    assert there == published
    assert caught.value.outcome == ("committed" if there == 4 else "unknown")
