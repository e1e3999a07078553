"""Readers that ask all the time while jobs come, go, and die: they are told of whole jobs only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import pytest

from fsspec_commit.testing.simulation import FAMILIES, FaultAt, JobPlan, Plan, ReaderPlan, run
from fsspec_commit.testing.simulation.process import FaultKind
from fsspec_commit.testing.sweeps import sweep_of
from tests.protocol.simulation.scenes import again, plans

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

ALL_THE_TIME = tuple(ReaderPlan(at_s=0.003 * number, count=40) for number in range(2))


@pytest.fixture(
    params=[
        pytest.param((3_000, tuple(FAMILIES)), id="some"),
        *(
            pytest.param((20, (name,)), id=name.replace("hdfs", "dfs"), marks=pytest.mark.slow)
            for name in FAMILIES
        ),
    ]
)
def watched(request: pytest.FixtureRequest) -> Iterator[Iterator[Plan]]:
    """Some runs of all kinds of stores; by night many of each, which have their time each."""
    every, families = request.param
    for sweep in sweep_of(request, every):
        yield sweep(_plans(families))


def test_p1_p2_readers_are_told_of_whole_jobs_whatever_happens(watched: Iterator[Plan]) -> None:
    """Each scene on each kind of store, with single faults of its driver, or of a reader too."""
    for plan in watched:
        found = run(plan)
        assert not found.violations, found


def _plans(families: Collection[str]) -> Iterator[Plan]:
    for parameters in plans():
        plan = parameters.values[0]
        assert isinstance(plan, Plan)
        if plan.family not in families:
            continue
        for scheduled in again(replace(plan, readers=ALL_THE_TIME), 3):
            yield scheduled
            for call in range(1, 40, 3):
                for kind in get_args(FaultKind):
                    faults = [FaultAt(name, call, kind, 0.3) for name in ("a.driver", "reader0")]
                    yield replace(scheduled, faults=tuple(faults[: 1 + call % 2]))


def test_who_asks_often_sees_jobs_come_one_by_one() -> None:
    for family in FAMILIES:
        jobs = tuple(
            JobPlan(name=name, mode="append", at_s=5.0 * number)
            for number, name in enumerate("abcd")
        )
        readers = (ReaderPlan(at_s=0.0, count=90, every_s=0.1),)
        found = run(Plan(family=family, jobs=jobs, readers=readers))
        assert not found.violations, found
        told = [line.partition("told that ")[2] for line in found.trace.lines()]
        told = [what for what in told if what]
        assert len(told) > 40
        assert len(set(told)) >= 4, (family, set(told))
        assert told == sorted(told)
