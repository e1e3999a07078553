"""Small runs, whose single faults are tried one by one."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from fsspec_commit.testing.simulation import (
    FAMILIES,
    AttemptPlan,
    CleanerPlan,
    FaultAt,
    HelperPlan,
    JobPlan,
    Plan,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from fsspec_commit.selection import Request

UUID = "6a0d9b8e-5c0f-4a55-9f0e-0123456789ab"
TWO_TASKS = (("a.txt", "day=1/a.txt"), ("day=2/b.txt",))
ONCE = (AttemptPlan(task=0), AttemptPlan(task=1))
TWICE = (AttemptPlan(task=0), AttemptPlan(task=0, at_s=0.1), AttemptPlan(task=1))
SCENES = {
    "append": JobPlan(name="a", mode="append", files=TWO_TASKS, attempts=TWICE),
    "overwrite": JobPlan(name="a", mode="overwrite", files=TWO_TASKS, attempts=ONCE),
    "overwrite, exact": JobPlan(
        name="a", mode="overwrite", names="exact", files=TWO_TASKS, attempts=ONCE
    ),
    "partitions": JobPlan(
        name="a",
        mode="overwrite_partitions",
        files=(("day=1/a.txt",),),
        partitions=("day=2",),
    ),
    "resumed": JobPlan(
        name="a",
        mode="overwrite",
        then="leave",
        helpers=(HelperPlan(kind="resumer", at_s=100), HelperPlan(kind="aborter", at_s=200)),
    ),
    "two drivers": JobPlan(name="a", mode="overwrite", helpers=(HelperPlan(kind="twin"),)),
    "collected": JobPlan(name="a", mode="append", collect=True, attempts=TWICE, files=TWO_TASKS),
    "adopted": JobPlan(
        name="a",
        mode="overwrite",
        files=(("a.txt",), ("_notes", "day=1/b.txt")),
        attempts=(AttemptPlan(task=0, adopted=True), AttemptPlan(task=1)),
        callback="exits",
    ),
    "folded": JobPlan(
        name="a", mode="append", files=(("Day=1/a.txt", "DAY=2/b.txt"),), attempts=TWICE[:2]
    ),
    "spelled otherwise": JobPlan(
        name="a", mode="overwrite_partitions", files=(("DAY=1/a.txt",),), then="abort"
    ),
}
OF_FOLDED_NAMES = {"folded", "spelled otherwise"}
"""What is another thing than its like where the store takes these names for those that stand."""
REFUSED = {"spelled otherwise"}


def plan_of(scene: str, family: str, committer: Request = "auto") -> Plan | None:
    """The run of a scene on a kind of store; `None` where it would be refused."""
    job, kind = replace(SCENES[scene], committer=committer), FAMILIES[family]
    old: tuple[str, ...] = ("old.txt", "day=1/old.txt", "day=2/old.txt")
    if not kind.takes_any_name:
        old = tuple(name.replace("old", f"old-{UUID}") for name in old)
    if kind.folds_names != (scene in OF_FOLDED_NAMES):
        return None
    if scene == "adopted" and not kind.keeps_names_apart:
        return None
    if job.names == "exact":
        if not kind.keeps_names_apart:
            return None
        old = (*old[1:], "a.txt")
    return Plan(family=family, old=old, jobs=(job,))


def plans() -> Iterator[pytest.ParameterSet]:
    """Every scene on every kind of store, by each committer that is safe there."""
    import pytest

    for name, family in FAMILIES.items():
        asked: tuple[Request, ...] = ("auto", *family.committers[1:])
        for committer, scene in product(asked, SCENES):
            plan = plan_of(scene, name, committer)
            if plan is not None:
                by = "" if committer == "auto" else f" by {committer}"
                # A test with the name of that store in its own would be one of a cluster.
                yield pytest.param(plan, id=f"{name.replace('hdfs', 'dfs')}{by}, {scene}")


def again(plan: Plan, times: int) -> Iterator[Plan]:
    """The same with other schedules."""
    for number in range(times):
        yield replace(plan, schedule=number)


_LATE = JobPlan(name="a", mode="append", success="none", at_s=0.05, wait_s=0.0)


def _decides_late(driver: str, created: int) -> tuple[FaultAt, FaultAt]:
    """It stands still before the decision, its create of that number, and dies just after that."""
    return (
        FaultAt(driver, created, "halt", delay_s=60.0, verb="create"),
        FaultAt(driver, 2, "crash_before", verb="read"),
    )


def aborted_while_it_commits(family: str, schedule: int = 0) -> Plan:
    """A cleaner's last requests take long; the driver has claimed meanwhile, and decides late."""
    return Plan(
        family=family,
        schedule=schedule,
        jobs=(replace(_LATE, attempts=(AttemptPlan(task=0, at_s=0.9),)),),
        cleaners=(CleanerPlan(at_s=0.1, older_than_s=0.0, skew_s=30.0),),
        faults=(FaultAt("cleaner0", 1, "hang", verb="delete"), *_decides_late("a.driver", 3)),
    )


def claimed_while_it_ends(family: str, schedule: int = 0) -> Plan:
    """The driver's last requests take long; a twin has claimed meanwhile, with another attempt."""
    twice = replace(
        _LATE,
        attempts=(AttemptPlan(task=0), AttemptPlan(task=0, at_s=1.0)),
        helpers=(HelperPlan(kind="twin", at_s=1.6),),
    )
    return Plan(
        family=family,
        schedule=schedule,
        jobs=(twice,),
        faults=(FaultAt("a.driver", 1, "hang", verb="delete"), *_decides_late("a.twin0", 2)),
    )
