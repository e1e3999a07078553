"""A task writes a file again; what it had given up is carried out between any two later calls."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.store import AtomicRename
from fsspec_commit.testing.simulation import FAMILIES, AttemptPlan, FaultAt, JobPlan, Plan, Run, run
from tests.protocol.simulation.scenes import UUID

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.testing.simulation.process import FaultKind

NEVER_S = 90_000.0
"""Later than all the rest of a run."""
OLD = f"day=2/old-{UUID}.txt"
BY_UPLOADS = [
    name
    for name, family in FAMILIES.items()
    if family.capabilities.atomic_rename is AtomicRename.NONE
]
BY_RENAMES = [name for name in FAMILIES if name not in BY_UPLOADS]
BY_DIRECTORY_RENAMES = ["disk", "disk-folding", "hdfs", "memory"]


def written_again(family: str, verb: str, *then: FaultAt) -> Plan:
    """The first attempt of a task writes its first file twice; another attempt comes much later."""
    late = FaultAt("a.attempt0", 1, "applied_late", NEVER_S, verb)
    job = JobPlan(
        name="a",
        mode="overwrite",
        names="unique" if family in BY_UPLOADS else "exact",
        files=(("day=2/a.txt", "b.txt"),),
        attempts=(
            AttemptPlan(task=0, pause_s=5.0, retries=True),
            AttemptPlan(task=0, at_s=1_000.0),
        ),
        patience_s=5_000.0,
    )
    return Plan(family=family, old=(OLD,), jobs=(job,), faults=(late, *then))


def late_at_any_time(plan: Plan) -> Iterator[Run]:
    """The same with its first fault carried out between any two calls, until all is over."""
    (late, *others) = plan.faults
    longest_s = FAMILIES[plan.family].request_lives_s
    never = replace(late, delay_s=min(NEVER_S, longest_s))
    undisturbed = run(replace(plan, faults=(never, *others)))
    yield undisturbed
    events = undisturbed.trace.events
    sent_s = next(event.time_s for event in events if event.what.startswith("*** applied_late"))
    times_s = sorted({event.time_s - sent_s for event in events if event.time_s > sent_s})
    for one, other in pairwise(times_s):
        if other < longest_s:
            moved = replace(late, delay_s=(one + other) / 2)
            yield run(replace(plan, faults=(moved, *others)))


def hold(plan: Plan) -> None:
    """Its job is committed, by the second attempt if not by the first, whenever the call comes."""
    came = 0
    for found in late_at_any_time(plan):
        assert not found.violations, found
        assert found.told == {"commit returned": 1}, found
        came += any(event.what.endswith(", late") for event in found.trace.events)
    assert came > 20


@pytest.mark.parametrize("family", BY_RENAMES)
def test_p1_p8_what_was_given_up_comes_between_any_two_calls(family: str) -> None:
    """Before the second writing, before the task's commit, after the decision, in the end."""
    hold(written_again(family, "finish"))


@pytest.mark.parametrize("kind", ["error_but_applied", "applied_late"])
@pytest.mark.parametrize("family", BY_DIRECTORY_RENAMES)
def test_p1_p8_also_where_the_rename_of_its_directory_is_not_answered(
    family: str, kind: FaultKind
) -> None:
    """The file may bring the directory back, which then looks as if it had not been renamed."""
    hold(written_again(family, "finish", FaultAt("a.attempt0", 2, kind, 60, "rename_directory")))


@pytest.mark.parametrize("verb", ["start", "put_part"])
@pytest.mark.parametrize("family", BY_UPLOADS)
def test_p1_p8_nor_is_an_upload_harmed_by_the_one_before(family: str, verb: str) -> None:
    """The request is repeated by itself, in vain, until the file is given up."""
    silent = (FaultAt("a.attempt0", number, "error", verb=verb) for number in range(2, 9))
    hold(written_again(family, verb, *silent))
