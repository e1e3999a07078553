"""A file that another driver of the job has taken to the trash is not taken again (P9)."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.testing import Crash, Fault, inject
from tests.protocol.test_trash import replace, taken_by_a_slow_driver, write
from tests.scenes.hooks import at_call, before

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("ending", [".pending", ""], ids=["now", "of an earlier version"])
@pytest.mark.parametrize("comes", [False, True], ids=["alone", "then a newer one comes"])
@pytest.mark.guarantees("P8", "P9")
def test_a_file_that_another_driver_takes_as_it_was_listed_is_gone(
    tmp_path: Path, ending: str, comes: bool
) -> None:
    """Whatever it is called in the trash, it was taken once, and no newer file goes for it."""
    count, nth, last = 1, 0, 0
    while nth <= count:
        nth += 1
        destination = tmp_path / str(nth)
        destination.mkdir()
        (destination / "old.txt").write_bytes(b"old")
        with inject(Fault("rename", 1, "crash_before")), suppress(Crash):
            write(destination)
        (job,) = fc.jobs(destination)
        took: list[bool] = []

        def take(destination: Path = destination, took: list[bool] = took) -> None:
            took.append((destination / "old.txt").exists())
            taken_by_a_slow_driver(destination, "old.txt", ending)
            if comes:
                replace(destination / "old.txt", b"newer")

        with before(at_call(nth), take) as verbs:
            fc.resume(destination, job.job_id)
        count, last = len(verbs), nth if took == [True] else last
        stands = (destination / "old.txt").exists()
        assert stands == (comes and bool(took)), f"call {nth} of {count}"
        assert fc.jobs(destination) == []
        assert len([*destination.glob("new-*.txt")]) == 1
    assert last > 1
