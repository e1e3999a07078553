"""The demo does what it says: it ends well, and the dataset that it leaves is the second one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds
import pytest

import fsspec_commit as fc
from fsspec_commit.testing import assert_committed, assert_no_leftovers

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parents[2]
MONTHS = 12
FLIGHTS_THAT_LEFT = 328_521


def test_two_jobs_are_killed_and_the_second_dataset_is_there(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, ROOT / "tests/demo/run.py", tmp_path / "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=240,
    )
    assert told.returncode == 0, told.stdout
    assert "NOT SO" not in told.stdout
    assert told.stdout.count("killed (exit status -9)") == 2

    destination = tmp_path / "demo/flights"
    assert_committed(str(destination), file_count=MONTHS)
    assert_no_leftovers(str(destination))
    assert fc.jobs(destination) == []
    flights = ds.dataset(destination, format="parquet", partitioning="hive").to_table()
    assert flights.num_rows == FLIGHTS_THAT_LEFT
    assert flights["dep_time"].null_count == 0
    assert sorted(flights["month"].unique().to_pylist()) == list(range(1, MONTHS + 1))
