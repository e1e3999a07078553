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
LATE: dict[FaultKind, tuple[float, ...]] = {
    **dict.fromkeys(("applied_late", "halt", "halt_after", "outage"), DELAYS_S),
    "refused": (0.0, 40.0),
}
"""For how long what lasts does; that one call is refused, or all for longer than anybody tries."""
SCHEDULES = 5
EVERY_BY_DAY = 11
LEAST_BY_DAY = 60_000
LEAST_BY_NIGHT = 650_000
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
                for delay_s in LATE.get(kind, DELAYS_S[:1]):
                    yield FaultAt(actor, call, kind, min(delay_s, longest_s))


def drawn(plan: Plan, schedules: Iterable[int], sweep: Sweep) -> Iterator[Plan]:
    """A scene under each of the schedules, with each of the faults that the sweep chooses."""
    for schedule in schedules:
        scheduled = replace(plan, schedule=schedule)
        found = run(scheduled)
        assert not found.violations, shrink(found)
        for fault in sweep(faults_of(found)):
            yield replace(scheduled, faults=(fault,))


def least(seen: int, every: int, schedules: int) -> int:
    """How many runs a sweep must at least choose, of so many faults under so many schedules."""
    return max(schedules, seen // every - schedules)


@pytest.mark.parametrize("plan", [*plans()])
def test_p1_to_p11_hold_after_any_single_fault(plan: Plan, schedules: range, sweep: Sweep) -> None:
    ran = 0
    for faulty in drawn(plan, schedules, sweep):
        failed = run(faulty)
        assert not failed.violations, shrink(failed)
        ran += any("***" in event.what for event in failed.trace.events)
    assert ran >= least(sweep.seen, sweep.every, len(schedules)), "a fault has not happened"


def test_so_many_single_faults_are_tried_by_day(say_what_ran: Callable[[str], None]) -> None:
    """Each test above asserts that it has run its share of these, whichever were drawn."""
    ran = seen = 0
    for one in plans():
        plan = one.values[0]
        assert isinstance(plan, Plan)
        faults = sum(
            sum(1 for _ in faults_of(run(replace(plan, schedule=schedule))))
            for schedule in range(SCHEDULES)
        )
        ran += least(faults, EVERY_BY_DAY, SCHEDULES)
        seen += faults
    say_what_ran(f"at least {ran:,} runs by day of {seen:,}")
    assert ran >= LEAST_BY_DAY
    assert seen >= LEAST_BY_NIGHT
