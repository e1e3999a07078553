"""Jobs of the first release beside those of this version: they see each other's claims (P11).

The first release names a claim after a nonce that is all random, and reads each claim that it
lists. Every other job of a run does so here; those of this version look at the names.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.protocol import claim, other_jobs
from fsspec_commit.protocol.job_state import read_state
from fsspec_commit.protocol.other_jobs import Met, Shown
from fsspec_commit.records.job import Claim
from fsspec_commit.records.outline import Outline
from fsspec_commit.testing.simulation import draw, run
from tests.protocol.planted.runs import ABOVE, UNCLAIMED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsspec_commit.layout import JobLayout
    from fsspec_commit.testing.simulation import Plan

PLANS = {"append and overwrite": UNCLAIMED, "one above another": ABOVE}
SEEDS = range(8)
NOTHING = Outline.of((), only_adds=True, reusable_names=False, key_digest=None)
looking: ContextVar[str] = ContextVar("looking")
"""The job that looks at the others."""


def make_some_first(patch: pytest.MonkeyPatch, remainder: int) -> set[bool]:
    """Make jobs with such ids of the first release; returns of which kind claims were taken."""
    passes, looks, real = other_jobs.those_in_the_way, other_jobs.look_at_areas, claim._meet_all
    outlined, taken = Claim.outlined, set[bool]()

    def is_first(job_id: str) -> bool:
        return int(job_id[-1], 16) % 2 == remainder

    def named(one: Claim) -> Claim:
        taken.add(is_first(one.job_id))
        return one if is_first(one.job_id) else outlined(one)

    async def meet(job: Any, own: Claim, early: Any) -> Any:
        looking.set(own.job_id)
        return await real(job, own, early)

    async def look(store: Any, others: Sequence[JobLayout], mine: Outline) -> Shown:
        return Shown() if is_first(looking.get()) else await looks(store, others, mine)

    async def those(
        store: Any, others: Sequence[JobLayout], mine: Outline, in_the_way: Any, shown: Shown
    ) -> Met:
        if not is_first(looking.get()):
            return await passes(store, others, mine, in_the_way, shown)
        states = [await read_state(store, one) for one in others]
        return Met([one.layout for one in states if in_the_way(one)], frozenset(others))

    patch.setattr(Claim, "outlined", named)
    patch.setattr(claim, "_meet_all", meet)
    patch.setattr(claim, "look_at_areas", look)
    patch.setattr(claim, "those_in_the_way", those)
    return taken


def trust_any_name(patch: pytest.MonkeyPatch) -> None:
    """A name without an outline is taken for one that says that nothing is touched."""
    told_by = Outline.told_by
    patch.setattr(Outline, "told_by", lambda *said: told_by(*said) or NOTHING)
    patch.setattr(Outline, "may_conflict", lambda *both: NOTHING not in both)


@pytest.mark.parametrize("remainder", [0, 1])
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_p11_jobs_of_two_versions_wait_for_each_other(
    monkeypatch: pytest.MonkeyPatch, plan: Plan, remainder: int
) -> None:
    make_some_first(monkeypatch, remainder)
    assert run(plan).violations == ()


def test_p11_whoever_passed_a_claim_of_the_first_release_would_be_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[str] = []
    for remainder in (0, 1):
        with monkeypatch.context() as patch:
            make_some_first(patch, remainder)
            trust_any_name(patch)
            found += run(ABOVE).violations
    assert found


def test_p1_to_p11_hold_among_two_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = make_some_first(monkeypatch, 0)
    for seed in SEEDS:
        assert run(draw(seed)).violations == (), seed
    assert taken == {True, False}
