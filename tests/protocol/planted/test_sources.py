"""No rule, no finding and no old mistake is without a planted bug, or a reason."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.protocol.planted.bugs import BUGS
from tests.protocol.planted.sources import PAGE, SOURCES, page
from tests.protocol.planted.test_planted import MEASURED
from tests.protocol.planted.uncaught import HELD_BY, NO_DIFFERENCE

if TYPE_CHECKING:
    from tests.protocol.planted.source import Source

ALL = [source for sources in SOURCES.values() for source in sources]
SENTENCE_MIN = 40
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("source", ALL, ids=lambda source: source.what)
def test_each_has_its_bugs_or_a_reason(source: Source) -> None:
    """A bug that makes no difference alone is none; and what has bugs needs no excuse."""
    unknown = [name for name in source.planted if name not in BUGS]
    assert not unknown
    if source.planted:
        assert not source.why_not
        assert not {*source.planted} <= NO_DIFFERENCE.keys()
    else:
        assert len(source.why_not) > SENTENCE_MIN


def test_each_of_their_bugs_is_caught() -> None:
    """By a random run, by the run that is planned for it, or by the test that is named for it."""
    named = {name for source in ALL for name in source.planted} - NO_DIFFERENCE.keys()
    by_chance = {name for name in named if MEASURED[name]["caught"]}
    planned = {name for name in named if BUGS[name].plan is not None}
    assert named == by_chance | planned | (named & HELD_BY.keys())


def test_none_is_missing() -> None:
    """As many as the models, the attacks and the reports have told of."""
    counts = {title: len(sources) for title, sources in SOURCES.items()}
    assert counts == {
        "rules of several jobs": 7,
        "rules of one job's life": 19,
        "rules of a commit in waves": 2,
        "rules of a look beside the claims": 7,
        "rules of reading": 5,
        "bugs found by attacks on the protocol": 22,
        "bugs found by odd input": 18,
        "bugs found by odd answers of stores": 18,
        "mistakes of committers of Hadoop and Spark": 20,
        "mistakes of writers in Python": 12,
    }
    assert len({source.what for source in ALL}) == len(ALL)


@pytest.mark.parametrize("name", HELD_BY)
def test_the_test_that_holds_a_bug_is_there(name: str) -> None:
    path, _, test = HELD_BY[name].partition("::")
    function = test.rpartition("::")[2].partition("[")[0]
    where = [ROOT / path, *(ROOT / "fsspec_commit/testing/committer_contract").glob("*.py")]
    assert any(re.search(rf"def {function}\(", one.read_text()) for one in where)


@pytest.mark.checkout
def test_the_page_says_so() -> None:
    assert PAGE.read_text() == page()
