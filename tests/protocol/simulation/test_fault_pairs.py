"""Every two faults at the store calls of one job, a part of them in each test."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.testing.simulation import FaultAt, Plan, run, shrink
from fsspec_commit.testing.sweeps import Sweep, sweep_of
from tests.protocol.simulation.scenes import plan_of
from tests.protocol.simulation.test_single_faults import faults_of
from tests.sweeps import every_by_day

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PARTS = 120
"""Into how many tests the pairs are divided, of which each has its time, and each night some."""
EVERY = {"gcs": 1, "s3-versioned": 1, "memory": 1, "disk": 8}
"""Kinds of stores, of each committer one at least, and every so-manyth pair of theirs by night.

A job on a disk makes the most calls: all of its pairs would take as long as those of the others.
"""
EVERY_BY_DAY = 3_000


@pytest.fixture(params=every_by_day(EVERY_BY_DAY))
def sweep(request: pytest.FixtureRequest, family: str) -> Iterator[Sweep]:
    every = request.param if request.param == EVERY_BY_DAY else EVERY[family]
    yield from sweep_of(request, every)


def pairs(faults: Sequence[FaultAt], part: int) -> Iterator[tuple[FaultAt, FaultAt]]:
    """Every so-many-th fault with all that come later: at one call only the first would happen."""
    for number in range(part, len(faults), PARTS):
        first = faults[number]
        for second in faults[number + 1 :]:
            if (first.actor, first.call) != (second.actor, second.call):
                yield first, second


@cache
def reference(family: str) -> tuple[Plan, list[FaultAt]]:
    """The job, and every fault that it can meet; of refusals those of one call."""
    plan = plan_of("overwrite", family)
    assert plan is not None
    faults = faults_of(run(plan))
    return plan, [one for one in faults if one.kind != "refused" or one.delay_s == 0]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("family", EVERY)
def test_p1_to_p11_hold_after_any_two_faults(family: str, part: int, sweep: Sweep) -> None:
    plan, faults = reference(family)
    for both in sweep(pairs(faults, part)):
        failed = run(replace(plan, faults=both))
        assert not failed.violations, shrink(failed)
