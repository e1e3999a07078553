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
    for seed in range(bug.first, bug.first + SEEDS):
        violations = run(draw(seed, family=bug.family)).violations
        if violations:
            break
    broken = {one for found in violations for one in re.findall(r"P\d+", found.partition(":")[0])}
    assert broken & set(bug.breaks), violations


def test_what_is_found_is_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS["leaves the old files"].plant(monkeypatch)
    failed = search(range(10))
    assert failed is not None
    assert failed.plan.faults == ()
    (job,) = failed.plan.jobs
    assert (job.helpers, len(job.attempts), len(failed.plan.old)) == ((), 1, 1)
    text = str(failed)
    assert text.startswith("P9: ")
    assert "!!! VIOLATION" in text
    assert f"plan = {failed.plan!r}" in text
