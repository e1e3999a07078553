"""Four attempts of one task: one is killed, the message of one is lost, one is late, one counts."""

from __future__ import annotations

import pytest

from fsspec_commit.testing.simulation import (
    FAMILIES,
    AttemptPlan,
    FaultAt,
    JobPlan,
    Plan,
    Run,
    run,
)

FILES = (("a.txt", "day=1/b.txt"), ("c.txt",))
LATE_S = 40.0
"""When the job is over; the driver decides after some seconds."""


def four(family: str, first: int, *, collect: bool) -> Run:
    """The run in which the attempt of that number begins first; they follow each other."""
    turns = [(first + turn) % 4 for turn in range(4)]
    killed, lost, counting, late = turns
    begin_s = {number: 3.0 * turn for turn, number in enumerate(turns)}
    attempts = tuple(
        AttemptPlan(task=0, at_s=begin_s[number], pause_s=LATE_S if number == late else 0.0)
        for number in range(4)
    )
    job = JobPlan(
        name="a",
        mode="append",
        files=FILES,
        attempts=(*attempts, AttemptPlan(task=1, at_s=12.0)),
        collect=collect,
        patience_s=20.0,
    )
    faults = (
        FaultAt(f"a.attempt{killed}", 2, "crash_before"),
        # It has committed, and dies before it can send a message.
        FaultAt(f"a.attempt{lost}", 2 if collect else 1, "crash_after", verb="create"),
    )
    found = run(Plan(family=family, jobs=(job,), faults=faults))
    assert not found.violations, found
    # The late one finds the job over; of the two that died nothing was heard.
    assert said(found, "has committed") == {f"a.attempt{counting}", "a.attempt4"}, found
    assert said(found, "has failed") == {f"a.attempt{late}"}, found
    return found


def said(found: Run, what: str) -> set[str]:
    return {event.actor for event in found.trace.events if event.what == what}


@pytest.mark.parametrize("collect", [False, True], ids=["sent", "collected"])
def test_p2_p3_of_four_attempts_of_a_task_one_counts(*, collect: bool) -> None:
    """Whichever of them is which; collected by the store, it is the one that was not heard of."""
    for family in FAMILIES:
        for first in range(4):
            found = four(family, first, collect=collect)
            assert found.told == {"commit returned": 1}, found
            assert found.visible == ("a.txt", "c.txt", "day=1/b.txt")
