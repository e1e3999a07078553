"""The simulator alone catches each planted bug: one that catches nothing proves nothing."""

from __future__ import annotations

import re

import pytest

from fsspec_commit.testing.simulation import draw, run, search
from tests.protocol.planted.bugs import BUGS

SEEDS = 400


@pytest.mark.parametrize(
    "name", [pytest.param(name, id=f"{' '.join(bug.breaks)} {name}") for name, bug in BUGS.items()]
)
def test_it_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bug = BUGS[name]
    bug.plant(monkeypatch)
    seeds = range(bug.first, bug.first + SEEDS)
    plans = (draw(seed, family=bug.family) for seed in seeds) if bug.plan is None else (bug.plan,)
    violations = next(filter(None, (run(plan).violations for plan in plans)), ())
    broken = {one for found in violations for one in re.findall(r"P\d+", found.partition(":")[0])}
    assert broken & set(bug.breaks), violations


def test_what_is_found_is_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS["leaves the old files"].plant(monkeypatch)
    failed = search(range(10), family="gcs")
    assert failed is not None
    assert failed.plan.faults == ()
    assert all(not job.helpers and len(job.attempts) == 1 for job in failed.plan.jobs)
    assert len(failed.plan.jobs) + len(failed.plan.old) == 2
    text = str(failed)
    assert text.startswith("P9: ")
    assert "!!! VIOLATION" in text
    assert f"plan = {failed.plan!r}" in text


def test_without_a_bug_nothing_is_found_where_bugs_were() -> None:
    for bug in BUGS.values():
        found = run(bug.plan or draw(bug.first, family=bug.family))
        assert not found.violations, found
