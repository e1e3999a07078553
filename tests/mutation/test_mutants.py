"""Mutants of the protocol: their names are theirs alone, they run, and the simulator kills some.

A mutant is the product with one small change: a condition negated, a statement left out. All are
tried by ``python -m tests.mutation.measure``.
"""

from __future__ import annotations

import pytest

from fsspec_commit.testing.simulation import run
from tests.mutation.mutants import code_of, live_function, modules, mutants_of
from tests.protocol.simulation.scenes import plan_of

PLANS = [
    plan
    for family in ("disk", "gcs", "s3-versioned")
    for scene in ("append", "overwrite", "resumed")
    if (plan := plan_of(scene, family))
]


def test_there_is_a_mutant_of_each_step() -> None:
    names = {mutant.name for mutant in mutants_of("protocol/commit.py")}
    for step in (
        "prepare_job: await refuse_endangered(job, held, new) -> nothing",
        "commit_job: other is None -> other is not None",
        "commit_job: await alive.end() -> nothing",
        "finish_job: await is_over(job) -> not await is_over(job)",
    ):
        assert f"protocol/commit.py:{step}" in names


@pytest.mark.parametrize("module", modules()[::7])
def test_mutants_take_the_place_of_functions(module: str) -> None:
    """Each by the same name in the same file, and as many as there are names."""
    mutants = mutants_of(module)
    assert len({mutant.name for mutant in mutants}) == len(mutants)
    for mutant in mutants[::20]:
        code, real = code_of(mutant), live_function(mutant).__code__
        assert code.co_code != real.co_code or code.co_consts != real.co_consts
        assert (code.co_name, code.co_freevars) == (real.co_name, real.co_freevars)


BY_DAY = (
    ("protocol/commit.py", "_finish: published is None -> published is not None"),
    (
        "protocol/commit.py",
        "_finish: warnings += await delete_replaced(job, published, replaced) -> nothing",
    ),
    ("protocol/decision.py", "_confirmed: ours is None -> ours is not None"),
    ("committers/renaming.py", "RenamingCommitter.publish: not arrived -> arrived"),
    (
        "effects/retirement.py",
        "RetiringInOrder.retire: await self._store.delete(layout.spec, permit) -> nothing",
    ),
)


@pytest.mark.parametrize(("module", "change"), BY_DAY, ids=map(":".join, BY_DAY))
def test_the_simulator_kills_them(
    module: str, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant = next(one for one in mutants_of(module) if one.name == f"{module}:{change}")
    monkeypatch.setattr(live_function(mutant), "__code__", code_of(mutant))
    assert any(run(plan).violations for plan in PLANS)
