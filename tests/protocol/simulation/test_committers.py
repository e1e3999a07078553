"""Jobs by each committer that is safe on a store, and by two at one destination; P1 to P11 hold."""

from __future__ import annotations

import pytest

from fsspec_commit.testing.simulation import FAMILIES, JobPlan, Plan, run, search
from tests.protocol.simulation.seeds import parts, seeds_of

BY_DAY = 12
BY_NIGHT = 1_500
OF_SEVERAL = [name for name, family in FAMILIES.items() if len(family.committers) > 1]


@pytest.fixture(params=parts(4))
def seeds(request: pytest.FixtureRequest) -> range:
    return seeds_of(request, by_day=BY_DAY, by_night=BY_NIGHT)


@pytest.mark.parametrize("varied", [False, True], ids=["plain", "varied"])
@pytest.mark.parametrize("family", OF_SEVERAL, ids=lambda name: name.replace("hdfs", "dfs"))
def test_p1_to_p11_hold_by_any_committer(family: str, seeds: range, *, varied: bool) -> None:
    failed = search(seeds, family=family, varied=varied, extended=True, committers=True)
    assert failed is None, failed


def test_every_committer_is_simulated_with_directories_and_without() -> None:
    simulated = {(by, one.has_directories) for one in FAMILIES.values() for by in one.committers}
    assert simulated >= {("v1", True), ("manifest", True), ("manifest", False), ("magic", False)}


@pytest.mark.parametrize("family", OF_SEVERAL, ids=lambda name: name.replace("hdfs", "dfs"))
def test_p9_p11_jobs_by_two_committers_commit_one_after_the_other(family: str) -> None:
    """Each replaces what the one before has written, whoever had written it."""
    first, second = FAMILIES[family].committers
    asked = (first, second, first)
    jobs = tuple(
        JobPlan(name=name, mode="overwrite", committer=by)
        for name, by in zip("abc", asked, strict=True)
    )
    found = run(Plan(family=family, jobs=jobs, old=("old.txt",)))
    assert not found.violations, found
    assert found.told == {"commit returned": 3}, found
    assert len(found.visible) == 1, found
