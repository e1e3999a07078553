"""What the documentation says of a driver that died: what is seen, what recovery does."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from tests import crash_table
from tests.crash_table import COMMITTERS, IN_THE_PAGE, JOBS, PAGE, READS

pytestmark = pytest.mark.checkout


def rows(table: str) -> list[list[str]]:
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("committer", COMMITTERS)
def test_the_page_is_what_happens(committer: str) -> None:
    part = crash_table.part(committer)
    assert part in PAGE.read_text("utf-8"), "python -m tests.crash_table writes it anew"


def test_nothing_else_is_on_the_page() -> None:
    headings = re.findall(r"^### (.*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert headings == [heading for _, heading in COMMITTERS.values()]


def tables() -> dict[str, list[list[str]]]:
    """The rows of all tables of one job."""
    found = re.split(r"\n\n(?=\| died after)", PAGE.read_text("utf-8"))[1:]
    assert len(found) == len(COMMITTERS) * len(IN_THE_PAGE)
    order = [*IN_THE_PAGE] * len(COMMITTERS)
    return {
        name: [
            row
            for one, table in zip(order, found, strict=True)
            if one == name
            for row in rows(table)[1:]
        ]
        for name in IN_THE_PAGE
    }


@pytest.mark.parametrize("name", IN_THE_PAGE)
def test_p8_p9_each_row_keeps_the_promises(name: str) -> None:
    """Whatever the page says, it says nothing that must not be."""
    adds = name == "append"
    new = "old and new" if adds else "new"
    over = {"old": "2 old, `_SUCCESS`", "new": "2 new, `_SUCCESS`"}
    over["old and new"] = "2 old, 2 new, `_SUCCESS`"
    found = tables()[name]
    assert len(found) > len(COMMITTERS) * 3
    for _, jobs, listed, committed, resume, abort, clean in found:
        if jobs in {"`open`", "`committing`"}:
            assert (listed, committed) == ("2 old, `_SUCCESS`", "old")
            assert (resume, abort, clean) == ("refused: `not_decided`", "removes it", "aborts it")
        elif jobs in {"`decided`", "`published`"}:
            assert resume.endswith("ends it")
            assert "deletes" not in resume or not adds
            assert abort == "`JobNotActiveError`, committed"
            assert clean == "shows it"
            assert committed == ("old" if jobs == "`decided`" else new)
            assert "2 new" in listed or "2 old" in listed
            assert "2 old" in listed or not adds
            assert "`_SUCCESS`" not in listed or not {"1 old", "1 new"} & {*listed.split(", ")}
        elif jobs == "-":
            assert committed == ("old" if name == "abort" else new)
            assert listed == over[committed]
            assert clean in {"removes what is left", "finds nothing"}
        else:
            assert (name, jobs) == ("abort", "`aborted`")


@pytest.mark.slow
@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize("committer", COMMITTERS)
def test_after_a_call_that_only_reads_there_is_what_was_there(committer: str, name: str) -> None:
    where, _ = COMMITTERS[committer]
    for before, one in pairwise(crash_table.moments(name, where, reads=True)):
        assert one.call not in READS or one.cells == before.cells, one


def test_the_tests_that_a_page_names_are_there() -> None:
    """Beside other committers, and beside what was found."""
    root = PAGE.parents[1]
    sources = [*(root / "tests").rglob("*.py"), *(root / "fsspec_commit" / "testing").rglob("*.py")]
    text = "\n".join(path.read_text("utf-8") for path in sources)
    for page, at_least in (("guarantees.md", 7), ("how-it-is-tested.md", 30)):
        named = set(re.findall(r"`(test_\w+)`", (root / "docs" / page).read_text("utf-8")))
        assert len(named) >= at_least
        assert {name for name in named if f"def {name}(" not in text} == set()
