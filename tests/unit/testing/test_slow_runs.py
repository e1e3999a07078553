"""A run that takes longer makes more calls; the sweeps over calls do not take that for a defect."""

from __future__ import annotations

import gc
from itertools import count
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.testing.committer_contract import crashes
from fsspec_commit.testing.committer_contract.crashes import (
    crash_at_each_call,
    gives_up_files,
    happened,
)
from fsspec_commit.testing.committer_contract.given import Place
from fsspec_commit.testing.committer_contract.lost_replies import fail_each
from fsspec_commit.testing.faults import Fault, crash_points
from fsspec_commit.testing.sweeps import Sweep

if TYPE_CHECKING:
    from collections.abc import Iterator


class FirstIsSlow:
    """A job that makes some calls more when it runs for the first time, as if it took longer."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, place: Place, mode: fc.Mode) -> fc.CommitResult:
        self.runs += 1
        result = crashes.run(place, mode)
        if self.runs == 1:
            fc.jobs(place.url)
        return result


@pytest.fixture
def buried() -> Iterator[None]:
    """What the dead have given up goes where that is no error, and not in a later test."""
    yield
    gc.collect()


@gives_up_files
@pytest.mark.usefixtures("buried")
def test_a_crash_where_only_a_slow_run_comes(url: str) -> None:
    slow, sweep = FirstIsSlow(), Sweep(1, seed="any")
    crash_at_each_call(Place(url), "append", sweep, run=slow, first="resume")
    assert slow.runs > 1 + sweep.ran, "no run was counted again"


@gives_up_files
@pytest.mark.usefixtures("buried")
def test_a_fault_where_only_a_slow_run_comes(url: str) -> None:
    slow, sweep = FirstIsSlow(), Sweep(1, seed="any")
    fail_each(Place(url), "append", "error", sweep, run=slow)
    assert slow.runs > 1 + sweep.ran, "no run was counted again"


def test_a_fault_that_happens_nowhere_is_told(url: str) -> None:
    """Were faults not injected at all, a sweep would pass."""
    places = (f"{url}/{number}" for number in count())

    def points() -> Iterator[Fault]:
        return crash_points(lambda: crashes.run(Place(next(places)), "append"))

    fault = next(points())
    assert happened(fault, [fault], points)
    with pytest.raises(AssertionError, match="did not happen"):
        happened(fault, [], points)
