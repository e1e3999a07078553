"""Standard streams that are full, or were never there: what was done, the status still says."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fsspec_commit as fc
from fsspec_commit.testing import assert_committed

TABLE = pa.table({"day": ["a", "b"], "clicks": [1, 2]})


def wrote(directory: Path, redirections: str) -> int:
    """How `write` ends, started by a shell with *redirections*."""
    pq.write_table(TABLE, directory / "in.parquet")
    program = f"{sys.executable} -m fsspec_commit write in.parquet out --mode append"
    return subprocess.run(
        f"{program} {redirections}", shell=True, check=False, cwd=directory
    ).returncode


@pytest.mark.parametrize("redirections", [">/dev/full 2>/dev/full", "<&- >&- 2>&-"])
def test_a_job_is_done_whoever_hears_of_it(redirections: str, tmp_path: Path) -> None:
    """A log on a full disk: told that it was not committed, a scheduler would run it again."""
    assert wrote(tmp_path, redirections) == 0
    assert_committed(tmp_path / "out", file_count=1)


@pytest.mark.parametrize("asked", [("explain",), ("explain", "--json"), ("jobs", "--json")])
def test_a_question_without_an_answer_is_no_success(
    command: Any, tmp_path: Path, asked: tuple[str, ...]
) -> None:
    """It says so where it can still be heard, also to a program that wants JSON."""
    with Path("/dev/full").open("w") as full, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        ran = command(asked[0], tmp_path, *asked[1:])
    assert ran.status == 1
    assert ran.err == (
        "error: no space left on device: 'the standard output'; nothing was changed\n"
    )
    assert fc.jobs(tmp_path) == []
