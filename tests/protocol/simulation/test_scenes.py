"""What a simulated run can hold beside plain jobs: each takes place, and nothing is wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Literal

import pytest

from fsspec_commit.testing.simulation import (
    FAMILIES,
    AttemptPlan,
    CleanerPlan,
    FaultAt,
    ForeignPlan,
    JobPlan,
    Plan,
    Run,
    run,
)
from fsspec_commit.testing.simulation.leftovers import LEFTOVERS

ADOPTING = [name for name, family in FAMILIES.items() if family.keeps_names_apart]


def well(plan: Plan) -> Run:
    found = run(plan)
    assert not found.violations, found
    return found


@pytest.mark.parametrize("family", ADOPTING, ids=lambda name: name.replace("hdfs", "dfs"))
def test_p1_p2_adopted_attempts_are_committed_like_others(family: str) -> None:
    attempts = (
        AttemptPlan(task=0, adopted=True),
        AttemptPlan(task=0, adopted=True, at_s=5),
        AttemptPlan(task=1),
    )
    files = (("a.txt", "day=1/b.txt"), ("c.txt",))
    job = JobPlan(name="a", mode="append", files=files, attempts=attempts)
    found = well(Plan(family=family, jobs=(job,)))
    assert found.visible == ("a.txt", "c.txt", "day=1/b.txt")
    again = FaultAt("a.driver", 1, "error_but_applied", verb="complete")
    lost = FaultAt("a.driver", 1, "error_but_applied", verb="rename")
    assert well(Plan(family=family, jobs=(job,), faults=(again, lost))).visible == found.visible


@pytest.mark.parametrize("callback", ["raises", "exits"])
def test_p8_a_callback_decides_nothing(callback: str) -> None:
    job = JobPlan(name="a", mode="append", callback=callback)  # type: ignore[arg-type]  # one of two
    assert well(Plan(family="gcs", jobs=(job,))).told == {"commit returned": 1}


@pytest.mark.parametrize("family", ["disk", "gcs", "s3"])
def test_p5_p8_ctrl_c_ends_a_commit_until_it_decides(family: str) -> None:
    told = {"before": 0, "after": 0}
    plan = Plan(family=family, jobs=(JobPlan(name="a", mode="append", then="abort"),))
    for call in range(1, well(plan).calls["a.driver"] + 1):
        pressed = FaultAt("a.driver", call, "interrupt")
        found = well(Plan(family=family, jobs=plan.jobs, faults=(pressed,)))
        told["before"] += found.told["commit interrupted"]
        told["after"] += found.told["commit returned"]
        assert found.told["abort returned"] >= found.told["commit interrupted"]
    assert min(told.values()) > 1, told


def test_p4_neighbours_commit_as_if_they_were_alone() -> None:
    for family in FAMILIES:
        jobs = tuple(
            JobPlan(name=name, mode="overwrite", at=at)
            for name, at in (("a", "out"), ("m", "ou"), ("n", "out2"))
        )
        assert well(Plan(family=family, jobs=jobs)).told == {"commit returned": 3}


def test_p10_a_destination_inside_another_is_left_alone() -> None:
    """Whoever overwrites or cleans the one above it meanwhile."""
    inner = JobPlan(
        name="n", mode="append", at="out/inner", attempts=(AttemptPlan(task=0, pause_s=5),)
    )
    outer = JobPlan(name="a", mode="overwrite", at_s=2, then="abort")
    for family in FAMILIES:
        plan = Plan(family=family, jobs=(inner, outer), cleaners=(CleanerPlan(at_s=3),))
        found = well(plan)
        assert found.told["commit returned"] == 1, found
        assert not found.visible


@pytest.mark.parametrize("left", LEFTOVERS)
def test_p5_p10_leftovers_are_cleaned_if_they_are_ours(left: str) -> None:
    for family in FAMILIES:
        job = JobPlan(name="a", mode="append")
        found = well(Plan(family=family, jobs=(job,), leftovers=(left,)))
        assert found.told["commit returned"] or left == "newer"


@pytest.mark.parametrize("family", ["disk", "dfs", "gen2", "gcs", "s3-versioned"])
def test_p9_what_others_write_over_an_old_file_stays(family: str) -> None:
    """However late they come between the listing of the old file and its deletion."""
    family = family.replace("dfs", "hdfs")
    job = JobPlan(name="a", mode="overwrite")
    plan = Plan(family=family, old=("old.txt",), jobs=(job,))
    other = ForeignPlan(name="old.txt", at_s=10)
    stayed = 0
    for call in range(1, well(plan).calls["a.driver"] + 1):
        still = FaultAt("a.driver", call, "halt", 20.0)
        found = well(
            Plan(family=family, old=plan.old, jobs=(job,), foreign=(other,), faults=(still,))
        )
        stayed += "old.txt" in found.visible
    assert stayed


def test_p11_appends_of_one_hidden_name_are_told_before_they_decide() -> None:
    for family in FAMILIES:
        jobs = tuple(
            JobPlan(name=name, mode="append", files=(("a.txt", "_notes"),)) for name in "ab"
        )
        committed = well(Plan(family=family, jobs=jobs)).told["commit returned"]
        assert committed == FAMILIES[family].keeps_names_apart


@pytest.mark.parametrize("family", ["disk", "gcs", "s3"])
def test_p11_who_waits_for_a_job_reads_each_of_its_records_once(family: str) -> None:
    """However long that takes; and the longer it takes, the less often the area is listed."""
    jobs = tuple(
        JobPlan(name=name, mode="overwrite", at_s=at_s, wait_s=3_600)
        for name, at_s in (("a", 0.0), ("b", 10.0))
    )
    looks = []
    for until_s in (60.0, 360.0):
        still = FaultAt(
            "a.driver", 1, "halt_after", until_s, "rename" if family != "s3" else "complete"
        )
        found = well(Plan(family=family, jobs=jobs, faults=(still,)))
        assert found.told == {"commit returned": 2}, found
        of_a = next(job_id for job_id, name in found.trace.names.items() if name == "job a")
        asked = Counter(
            (event.what, event.path.rpartition("/")[2])
            for event in found.trace.events
            if event.actor == "b.driver" and f"/{of_a}/" in f"{event.path}/"
        )
        assert asked["read", "decision"] <= 3, asked
        looks.append(asked["list_children", of_a])
    half_seconds_more = 600
    assert 0 < looks[1] - looks[0] < 0.85 * half_seconds_more, looks


def test_p8_what_came_too_late_is_no_loss() -> None:
    """A decision and a manifest, carried out when their job was over: no person is asked."""
    attempts = (AttemptPlan(task=0), AttemptPlan(task=0))
    job = JobPlan(name="a", mode="append", attempts=attempts)
    late = (
        FaultAt("a.driver", 4, "applied_late", 300.0, "create"),
        FaultAt("a.attempt1", 1, "applied_late", 200.0, "create"),
    )
    for faults in (late, late[:1], late[1:]):
        found = well(Plan(family="s3", jobs=(job,), faults=faults))
        assert not any("/_commit/lost/" in event.path for event in found.trace.events)


SPELLED = (("a", "day=x"), ("b", "DAY=X"), ("c", "Day=x"))


def spelled(**how: object) -> tuple[JobPlan, ...]:
    """Three jobs, one after the other, each with another spelling of one partition."""
    jobs = (
        JobPlan(name=name, mode="overwrite_partitions", files=((f"{partition}/{name}.txt",),))
        for name, partition in SPELLED
    )
    return tuple(replace(job, at_s=20.0 * n, **how) for n, job in enumerate(jobs))  # type: ignore[arg-type]  # fields


def test_p9_partitions_whose_names_are_alike_lose_nothing() -> None:
    """A disk could take them for one; here each job replaces the rows of its own spelling alone."""
    for family, kind in FAMILIES.items():
        if kind.folds_names:
            continue
        old = ("day=x/old.txt", "DAY=X/old.txt") if kind.takes_any_name else ()
        found = well(Plan(family=family, jobs=spelled(), old=old))
        assert found.told == {"commit returned": 3}, found
        assert found.visible == ("DAY=X/b.txt", "Day=x/c.txt", "day=x/a.txt")


@pytest.mark.parametrize("old", [(), ("day=x/old.txt",)])
def test_p9_p11_a_partition_that_the_disk_takes_for_another_is_refused(
    old: tuple[str, ...],
) -> None:
    """Its rows would be read as the other's: the first job of them commits, alone."""
    found = well(Plan(family="disk-folding", jobs=spelled(then="abort"), old=old))
    assert found.told == {"commit returned": 1, "commit not_committed": 2, "abort returned": 2}
    assert found.visible == ("day=x/a.txt",)
    refusals = [event.answer for event in found.trace.events if "both names" in event.answer]
    assert len(refusals) == 2


def test_p11_jobs_that_begin_together_on_such_a_disk_are_refused_but_for_one() -> None:
    """Whichever comes first: by their claims they are jobs at one partition."""
    first: set[str] = set()
    for schedule in range(12):
        jobs = tuple(replace(job, at_s=0.0, then="leave") for job in spelled())
        found = well(Plan(family="disk-folding", jobs=jobs, schedule=schedule))
        assert found.told["commit returned"] == 1, found
        first.update(found.visible)
    assert len(first) == 3


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_p1_two_names_that_are_one_are_refused_before_anything_is_decided(
    mode: Literal["append", "overwrite"],
) -> None:
    for files in ((("a.txt", "A.txt"),), (("e\u0301.txt",), ("\u00e9.txt",))):
        attempts = tuple(AttemptPlan(task=task) for task in range(len(files)))
        job = JobPlan(
            name="a", mode=mode, names="exact", files=files, attempts=attempts, then="abort"
        )
        found = well(Plan(family="disk-folding", jobs=(job,), old=("old.txt",)))
        assert found.told == {"commit not_committed": 1, "abort returned": 1}, found
        assert found.visible == ("old.txt",)
        elsewhere = well(Plan(family="disk", jobs=(job,)))
        assert elsewhere.told == {"commit returned": 1}
        assert len(elsewhere.visible) == 2


def test_p4_one_destination_by_two_names_is_one() -> None:
    """Where a disk takes them for one; elsewhere they are neighbours."""
    for family, visible in (("disk-folding", ("b.txt",)), ("disk", ("a.txt",))):
        jobs = (
            JobPlan(name="a", mode="append"),
            JobPlan(name="b", mode="overwrite", files=(("b.txt",),), at="Out", at_s=5),
        )
        found = well(Plan(family=family, jobs=jobs))
        assert found.told == {"commit returned": 2}, found
        assert found.visible == visible
