"""Forks below the guards: what a child that is not told that it is one would do, at each call.

So the guards in ``fsspec_commit.sync`` are no courtesy. Two processes with one attempt lose its
files on every store, and two with one driver lose the marker where it is an upload. That no child
gets past the guards is tried at every call in ``tests/integration/test_forks_at_calls.py``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.testing.simulation import FAMILIES, FaultAt, JobPlan, Plan, run
from tests.protocol.simulation.forking import run_forked
from tests.protocol.simulation.scenes import UUID
from tests.sweeps import some_by_day

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsspec_commit.testing.simulation import Run
    from fsspec_commit.testing.simulation.process import FaultKind
    from fsspec_commit.testing.sweeps import Sweep

DRIVER, ATTEMPT = "a.driver", "a.attempt0"
GIVES_UP: FaultKind = "interrupt"
"""The child leaves the blocks by an exception, as by Ctrl-C."""


def plan_on(family: str) -> Plan:
    job = JobPlan(name="a", mode="overwrite", files=(("a.txt", "day=1/b.txt"),))
    return Plan(family=family, old=(f"old-{UUID}.txt",), jobs=(job,))


def calls_of(family: str, actor: str) -> range:
    """After how many of its calls *actor* may be forked."""
    return range(run(plan_on(family)).calls[actor] + 1)


def forked(family: str, actor: str, calls: int, child: FaultKind | None = None) -> Run:
    """The run in which *actor* is forked after so many calls; its child has a fault at the next."""
    faults = () if child is None else (FaultAt(f"{actor}.child", calls + 1, child),)
    return run_forked(replace(plan_on(family), faults=faults), actor, calls)


def broken(runs: Iterable[Run]) -> set[str]:
    """The promises that are broken in any of them."""
    return {
        promise
        for found in runs
        for violation in found.violations
        for promise in violation.partition(":")[0].split()
    }


@pytest.mark.parametrize("actor", [DRIVER, ATTEMPT])
@some_by_day(3)
def test_p1_p5_a_child_that_ends_at_once_changes_nothing(actor: str, sweep: Sweep) -> None:
    for family in FAMILIES:
        for calls in sweep(calls_of(family, actor)):
            found = forked(family, actor, calls, "crash_before")
            assert not found.violations, found
            assert found.told["commit returned"] >= 1, found
            assert found.visible == ("a.txt", "day=1/b.txt")


@pytest.mark.parametrize("actor", [DRIVER, ATTEMPT])
def test_a_child_is_its_parent_until_it_is_forked(actor: str) -> None:
    """It makes the same calls with the same answers, and the parent makes those of a lone one."""
    for family in FAMILIES:
        *_, all_calls = calls_of(family, actor)
        found = forked(family, actor, all_calls)
        assert not found.violations, found
        assert found.calls[f"{actor}.child"] == found.calls[actor] == all_calls


@pytest.mark.parametrize("child", [None, GIVES_UP], ids=["goes on", "gives up"])
@some_by_day(3)
def test_p1_to_p11_hold_for_two_processes_with_one_driver_where_nothing_is_uploaded(
    child: FaultKind | None, sweep: Sweep
) -> None:
    """They are two drivers, of which one decides."""
    for family, kind in FAMILIES.items():
        if not kind.habits.uploads:
            for calls in sweep(calls_of(family, DRIVER)):
                found = forked(family, DRIVER, calls, child)
                assert not found.violations, found


@pytest.mark.parametrize("child", [None, GIVES_UP], ids=["goes on", "gives up"])
def test_two_processes_with_one_driver_lose_its_marker_without_the_guard(
    child: FaultKind | None,
) -> None:
    """Where it is an upload, which each of them completes, or drops."""
    runs = (forked("s3", DRIVER, calls, child) for calls in calls_of("s3", DRIVER))
    assert {"P1", "P8"} <= broken(runs)


def test_two_processes_with_one_attempt_lose_its_files_without_the_guard() -> None:
    """On every store: the child gives up, and drops what its parent is about to commit, or has."""
    for family in FAMILIES:
        every = calls_of(family, ATTEMPT)
        assert {"P1", "P8"} <= broken(forked(family, ATTEMPT, one, GIVES_UP) for one in every)
