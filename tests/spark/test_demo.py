"""The demo of Spark does what it says: it ends well."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.checkout, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


@pytest.mark.usefixtures("own_limit")  # On a busy machine five jobs of Spark take long.
def test_an_executor_and_a_driver_are_killed_and_no_row_is_lost(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "tests.demo.spark", str(tmp_path / "demo")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=900,
    )
    assert told.returncode == 0, told.stdout
    assert "NOT SO" not in told.stdout
    assert told.stdout.count("✓") == 10
