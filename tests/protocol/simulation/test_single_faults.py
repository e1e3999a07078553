"""Every fault at every store call of small runs: P1 to P11 hold at each moment, and in the end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import pytest

from fsspec_commit.testing.simulation import FAMILIES, FaultAt, Plan, Run, run, shrink
from fsspec_commit.testing.simulation.process import FaultKind
from fsspec_commit.testing.sweeps import Sweep, sweep_of
from tests.protocol.simulation.scenes import plans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

DELAYS_S = (0.3, 40.0, 4_000.0)
SCHEDULES = 5
EVERY_BY_DAY = 6
LEAST_BY_DAY = 60_000
LEAST_BY_NIGHT = 410_000
"""In eight nights."""


@pytest.fixture(
    params=[
        pytest.param(range(SCHEDULES), id="some"),
        *(
            pytest.param(range(n, n + 1), id=f"whole{n}", marks=pytest.mark.slow)
            for n in range(SCHEDULES)
        ),
    ]
)
def schedules(request: pytest.FixtureRequest) -> range:
    """By day all of them; by night one at a time, so that each has its time."""
    return request.param  # type: ignore[no-any-return]  # a range


@pytest.fixture
def sweep(request: pytest.FixtureRequest, schedules: range) -> Iterator[Sweep]:
    yield from sweep_of(request, EVERY_BY_DAY if schedules == range(SCHEDULES) else 1)


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


def drawn(plan: Plan, schedules: Iterable[int], sweep: Sweep) -> Iterator[Plan]:
    """A scene under each of the schedules, with each of the faults that the sweep chooses."""
    for schedule in schedules:
        scheduled = replace(plan, schedule=schedule)
        found = run(scheduled)
        assert not found.violations, shrink(found)
        for fault in sweep(faults_of(found)):
            yield replace(scheduled, faults=(fault,))


@pytest.mark.parametrize("plan", [*plans()])
def test_p1_to_p11_hold_after_any_single_fault(plan: Plan, schedules: range, sweep: Sweep) -> None:
    for faulty in drawn(plan, schedules, sweep):
        failed = run(faulty)
        assert not failed.violations, shrink(failed)


def test_so_many_single_faults_are_tried_by_day(say_what_ran: Callable[[str], None]) -> None:
    """As the tests draw them, each its sample; another seed draws as many, but for some."""
    ran = seen = 0
    for one in plans():
        plan, sweep = one.values[0], Sweep(EVERY_BY_DAY, seed=str(one.id))
        assert isinstance(plan, Plan)
        ran += len([*drawn(plan, range(SCHEDULES), sweep)])
        seen += sweep.seen
    say_what_ran(f"{ran:,} runs by day of {seen:,}")
    assert ran >= LEAST_BY_DAY
    assert seen >= LEAST_BY_NIGHT
