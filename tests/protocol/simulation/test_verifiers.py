"""Somebody asks `verify` while jobs come, go, and die: all that it says was so at some moment."""

from __future__ import annotations

import re

import pytest

from fsspec_commit.testing.simulation import (
    FAMILIES,
    FaultAt,
    HelperPlan,
    JobPlan,
    Plan,
    ReaderPlan,
    draw,
    run,
    search,
)
from tests.protocol.simulation.seeds import parts, seeds_of

BY_DAY = 6
BY_NIGHT = 1_000


@pytest.fixture(params=parts(3))
def seeds(request: pytest.FixtureRequest) -> range:
    return seeds_of(request, by_day=BY_DAY, by_night=BY_NIGHT)


@pytest.mark.parametrize("varied", [False, True], ids=["plain", "varied"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda name: name.replace("hdfs", "dfs"))
def test_p1_p2_what_verify_says_is_so(family: str, seeds: range, *, varied: bool) -> None:
    failed = search(seeds, family=family, varied=varied, verified=True)
    assert failed is None, failed


@pytest.mark.parametrize("family", FAMILIES, ids=lambda name: name.replace("hdfs", "dfs"))
def test_who_verifies_often_is_told_of_jobs_that_are_over_and_of_one_that_has_died(
    family: str,
) -> None:
    """The first has left its names; the second dies when all is in place, and leaves none."""
    files = (("a.txt", "day=1/a.txt", "day=2/a.txt"),)
    resumer = HelperPlan(kind="resumer", at_s=15.0)
    plan = Plan(
        family=family,
        jobs=(
            JobPlan(name="a", mode="append", files=files, success="json"),
            JobPlan(
                name="b", mode="append", files=files, at_s=20.0, then="leave", helpers=(resumer,)
            ),
        ),
        readers=(ReaderPlan(at_s=0.0, count=80, every_s=0.5, verifies=True),),
        faults=(FaultAt("b.driver", 6, "crash_before", verb="create"),),
    )
    found = run(plan)
    assert not found.violations, found
    text = "\n".join(found.trace.lines())
    compared = re.findall(r"told that (\d of \d) files are as jobs wrote them", text)
    assert [*dict.fromkeys(compared)] == ["0 of 0", "3 of 3", "3 of 6", "0 of 6"]
    shown = re.findall(r"told of (\d) things to settle", text)
    assert [*dict.fromkeys(shown)] == ["0", "1"]
    assert shown[-1] == "0"


def test_half_of_those_that_are_drawn_are_told_of_files() -> None:
    """Of such as jobs have written down: the others ask before that, or when all jobs are over."""
    runs = [run(draw(seed, varied=True, verified=True)) for seed in range(20)]
    told = ["\n".join(one.trace.lines()) for one in runs]
    assert sum(re.search(r"told that [1-9]\d* of", text) is not None for text in told) >= 10
