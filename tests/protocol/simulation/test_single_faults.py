"""Every fault at every store call of small runs: P1 to P11 hold at each moment, and in the end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import pytest

from fsspec_commit.testing.simulation import FAMILIES, FaultAt, Plan, Run, run, shrink
from fsspec_commit.testing.simulation.process import FaultKind
from fsspec_commit.testing.sweeps import Sweep, sweep_of
from tests.protocol.simulation.scenes import again, plans
from tests.sweeps import every_by_day

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DELAYS_S = (0.3, 40.0, 4_000.0)
SCHEDULES = 5
EVERY_BY_DAY = 24
LEAST_BY_DAY = 16_500
LEAST_BY_NIGHT = 400_000
"""In five nights."""


@pytest.fixture(params=every_by_day(EVERY_BY_DAY))
def sweep(request: pytest.FixtureRequest) -> Iterator[Sweep]:
    yield from sweep_of(request, request.param)


def faults_of(found: Run) -> Iterator[FaultAt]:
    """Every fault at every call of a run but those of who settles in the end."""
    longest_s = FAMILIES[found.plan.family].request_lives_s
    for actor, calls in found.calls.items():
        if actor.startswith("operator"):
            continue
        for call in range(1, calls + 1):
            for kind in get_args(FaultKind):
                for delay_s in (
                    DELAYS_S
                    if kind in {"applied_late", "halt", "halt_after", "outage"}
                    else DELAYS_S[:1]
                ):
                    yield FaultAt(actor, call, kind, min(delay_s, longest_s))


@pytest.mark.parametrize("plan", [*plans()])
def test_p1_to_p11_hold_after_any_single_fault(plan: Plan, sweep: Sweep) -> None:
    for scheduled in again(plan, SCHEDULES):
        found = run(scheduled)
        assert not found.violations, shrink(found)
        for fault in sweep(faults_of(found)):
            failed = run(replace(scheduled, faults=(fault,)))
            assert not failed.violations, shrink(failed)


def test_so_many_single_faults_are_tried_by_day(say_what_ran: Callable[[str], None]) -> None:
    """Counted in one schedule: the calls of a run are as many in the others, but for some."""
    each = [len([*faults_of(run(one.values[0]))]) for one in plans()]  # type: ignore[arg-type]  # a plan
    by_day = sum(SCHEDULES * (count // EVERY_BY_DAY) for count in each)
    say_what_ran(f"{by_day:,} runs by day of {SCHEDULES * sum(each):,}")
    assert by_day >= LEAST_BY_DAY
    assert SCHEDULES * sum(each) >= LEAST_BY_NIGHT
