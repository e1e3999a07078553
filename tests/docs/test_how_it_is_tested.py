"""The page about the tests: what it counts is so."""

from __future__ import annotations

import re
from typing import Literal

import pytest

from tests.counts import COUNTS, PAGE, Count, is_true

pytestmark = pytest.mark.checkout

TOLD = dict(
    re.findall(r"^\| (.+?) \| ([\w ,]*\d[\d,]*) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
)


def test_the_page_has_every_count_and_no_other() -> None:
    assert [*TOLD] == [count.what for count in COUNTS]


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(count, id=count.what, marks=pytest.mark.slow if count.slow else ())
        for count in COUNTS
    ],
)
def test_a_count_is_so(count: Count) -> None:
    assert is_true(count, TOLD[count.what]), f"{count.of()}: python -m tests.counts writes it anew"


@pytest.mark.parametrize(
    ("said", "told", "so"),
    [
        ("at least", "at least 100", True),
        ("at least", "at least 90", True),
        ("at least", "at least 89", False),
        ("at least", "at least 101", False),
        ("at most", "at most 100", True),
        ("at most", "at most 99", False),
        ("at most", "at most 120", False),
        ("", "100", True),
        ("", "99", False),
    ],
)
def test_what_is_too_much_or_too_little_is_noticed(
    said: Literal["at least", "at most", ""], told: str, *, so: bool
) -> None:
    assert is_true(Count("tests", lambda: 100, said=said), told) == so
