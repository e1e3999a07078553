"""What was found of the store adapters does not come back unseen: the test that holds it fails."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.protocol.planted.bugs import BUGS
from tests.protocol.planted.of_stores import FINDINGS, HELD_BY
from tests.protocol.planted.uncaught import HELD_BY as ALL_HELD_BY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

WITHIN_S = 240


def outcomes(held: Mapping[str, str], place: Path) -> dict[str, int]:
    """How many of the tests passed, failed and so on, each with the bug that *held* names."""
    bugs = place / "bugs.json"
    bugs.write_text(json.dumps(held))
    options = [
        *("-q", "-p", "no:cacheprovider", f"--basetemp={place / 'temporary'}"),
        *("-p", "tests.protocol.planted.each", f"--plant={bugs}"),
    ]
    command = [sys.executable, "-m", "pytest", *options, *sorted(HELD_BY.values())]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WITHIN_S)
    last = done.stdout.rstrip().rpartition("\n")[2]
    found = {what: int(number) for number, what in re.findall(r"(\d+) ([a-z]+)", last)}
    assert done.returncode == 0, done.stdout + done.stderr
    return found


def test_each_is_caught_by_the_test_that_is_named(tmp_path: Path) -> None:
    """Each on its own, one after the other: none is there when its test is over."""
    held = {test: name for name, test in HELD_BY.items()}
    assert len(held) == len(HELD_BY), "two bugs cannot be planted for one test"
    assert outcomes(held, tmp_path)["xfailed"] == len(held)


def test_without_them_the_same_tests_pass(tmp_path: Path) -> None:
    assert outcomes({}, tmp_path)["passed"] == len(HELD_BY)


@pytest.mark.parametrize("found", FINDINGS)
def test_each_finding_has_bugs_that_bring_it_back(found: str) -> None:
    for name in FINDINGS[found]:
        assert name in BUGS
        assert ALL_HELD_BY[name] == HELD_BY[name]


def test_each_bug_is_of_a_finding() -> None:
    assert {name for names in FINDINGS.values() for name in names} == HELD_BY.keys()
