"""What people see on a terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.integration.cli.command import COMMAND
from tests.integration.cli.drivers import left_behind
from tests.unit.cli.terminal import on_a_terminal

if TYPE_CHECKING:
    from pathlib import Path


def test_people_see_a_summary(source: Path, destination: Path) -> None:
    shown = on_a_terminal(COMMAND, "write", source, destination, "--partition-by", "day")
    assert "committed 2 files, 3 rows, " in shown
    assert "  2 partitions\n" in shown
    assert re.search(
        r"  mode error, committer v1, \d+\.\d s, job \d{8}T\d{6}-[0-9a-f]{16}\n", shown
    )


def test_people_who_want_quiet_get_it(source: Path, destination: Path) -> None:
    assert on_a_terminal(COMMAND, "write", source, destination, "--quiet") == ""


def test_people_see_tables(destination: Path) -> None:
    assert f"no job is unfinished at {destination}" in on_a_terminal(COMMAND, "jobs", destination)
    job = left_behind(destination, "open")
    assert re.search(rf"{job} +open +append", on_a_terminal(COMMAND, "jobs", destination))
    assert f"aborted job {job}" in on_a_terminal(COMMAND, "abort", destination, job[-5:])
