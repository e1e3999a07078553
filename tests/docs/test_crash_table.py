"""What the documentation says of a driver that died: what is seen, what recovery does."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from tests import crash_table
from tests.crash_table import COMMITTERS, JOBS, PAGE, READS

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


def test_p8_p9_each_row_keeps_the_promises() -> None:
    """Whatever the page says, it says nothing that must not be."""
    for _, jobs, listed, committed, resume, abort, clean in rows(PAGE.read_text("utf-8")):
        if jobs in {"`open`", "`committing`"}:
            assert (listed, committed) == ("2 old, `_SUCCESS`", "old")
            assert (resume, abort, clean) == ("refused: `not_decided`", "removes it", "aborts it")
        elif jobs in {"`decided`", "`published`"}:
            assert resume.endswith("ends it")
            assert abort == "`JobNotActiveError`, committed"
            assert clean == "shows it"
            assert committed == ("old" if jobs == "`decided`" else "new")
            assert "2 new" in listed or "2 old" in listed
            assert "`_SUCCESS`" not in listed or not {"1 old", "1 new"} & {*listed.split(", ")}
        elif jobs == "-":
            assert listed == f"2 {committed}, `_SUCCESS`"
            assert clean in {"removes what is left", "finds nothing"}
        else:
            assert jobs in {"`aborted`", "`jobs`"}


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
