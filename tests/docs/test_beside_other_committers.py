"""The table that has other committers beside ours: each cell says what shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

PAGE = (Path(__file__).resolve().parents[2] / "docs/guarantees.md").read_text("utf-8")
ROWS = 9
"""So many has the paper's table."""


def rows() -> list[list[str]]:
    section = PAGE.partition("## Beside other committers\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def test_each_cell_of_ours_names_a_test_and_each_of_others_what_it_is_from() -> None:
    assert len(rows()) == ROWS
    for _, here, s3a, emr in rows():
        assert re.fullmatch(r".+: `test_\w+`", here)
        assert re.fullmatch(r"(?:yes|no): (?:`test_\w+`|paper)", s3a)
        assert re.fullmatch(r"(?:yes|no): paper", emr)


def test_the_tests_that_show_what_hadoops_do_run_hadoop() -> None:
    named = {name for _, _, s3a, _ in rows() for name in re.findall(r"test_\w+", s3a)}
    tests = Path(__file__).resolve().parents[1] / "interoperability"
    text = "\n".join(path.read_text("utf-8") for path in tests.glob("test_*.py"))
    assert named
    assert {name for name in named if f"def {name}(" not in text} == set()
