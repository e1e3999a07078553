"""Runs that have found a bug, each kept as the smallest plan that shows it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

import pytest

from fsspec_commit.testing.simulation import (
    AttemptPlan,
    CleanerPlan,
    FaultAt,
    ForeignPlan,
    HelperPlan,
    JobPlan,
    Plan,
    ReaderPlan,
    run,
)
from tests.protocol.planted.of_effects import renames_areas_that_just_begin
from tests.protocol.simulation.scenes import aborted_while_it_commits, again, claimed_while_it_ends


@pytest.mark.parametrize("family", ["disk", "gcs", "s3-versioned", "s3"])
@pytest.mark.parametrize("success", ["none", "marker", "json"])
def test_p8_a_marker_that_another_job_has_removed_keeps_no_job_from_its_end(
    family: str, success: Literal["none", "marker", "json"]
) -> None:
    """Two appends; one dies when its marker stands, the other removes that and writes none."""
    plan = Plan(
        family=family,
        jobs=(
            JobPlan(name="a", mode="append"),
            JobPlan(
                name="b",
                mode="append",
                success=success,
                attempts=(AttemptPlan(task=0, pause_s=20),),
            ),
        ),
        faults=(FaultAt("a.driver", 6, "crash_before", verb="create"),),
    )
    found = run(plan)
    assert found.told["commit returned"] == 1
    assert not found.violations, found


@pytest.mark.parametrize("family", ["minio", "s3", "gcs"])
@pytest.mark.parametrize("own", ["marker", "json"])
def test_p8_an_empty_marker_of_a_later_job_is_not_taken_for_the_one_before(
    family: str, own: Literal["marker", "json"]
) -> None:
    """Every empty object has the same etag: that of b, which a has replaced, and that of c."""
    plan = Plan(
        family=family,
        jobs=(
            JobPlan(name="b", mode="append", success="marker"),
            JobPlan(name="a", mode="append", success=own, at_s=20),
            JobPlan(name="c", mode="append", success="marker", at_s=40),
        ),
        faults=(FaultAt("a.driver", 6, "crash_after", verb="create"),),
    )
    found = run(plan)
    assert found.told["commit returned"] == 2
    assert not found.violations, found


MARKS = {"disk": ("rename", 4), "gcs": ("rename", 2)}
"""The call that publishes a marker, of a job that removes one before."""


@pytest.mark.parametrize("family", MARKS)
@pytest.mark.parametrize("success", ["none", "marker"])
def test_p8_nor_while_the_other_job_is_to_publish_one(
    family: str, success: Literal["none", "marker"]
) -> None:
    """Both die, the other when it has removed the marker; they are resumed in either order."""
    verb, call = MARKS[family]
    later = AttemptPlan(task=0, pause_s=20)
    plan = Plan(
        family=family,
        jobs=(
            JobPlan(name="a", mode="append"),
            JobPlan(name="b", mode="append", success=success, attempts=(later,)),
        ),
        faults=(
            FaultAt("a.driver", 2, "crash_after", verb="rename"),
            FaultAt("b.driver", call, "crash_before", verb=verb),
        ),
    )
    first_resumed = set()
    for found in map(run, again(plan, 6)):
        assert not found.violations, found
        assert found.told["resume returned"] + found.told["commit returned"] == 2
        told = next(event for event in found.trace.lines() if "calls resume" in event)
        first_resumed.add(told.rpartition("job ")[2])
    assert first_resumed == {"a>", "b>"}


def test_p8_a_hidden_name_never_leaves_a_job_that_nobody_can_finish() -> None:
    """Where uploads are kept by path, the first job that completes one drops that of the other."""
    first = JobPlan(name="a", mode="overwrite", files=(("a.txt", "_notes"),))
    slower = JobPlan(
        name="b",
        mode="overwrite",
        files=(("_notes",), ("b.txt",)),
        attempts=(AttemptPlan(task=0), AttemptPlan(task=1, pause_s=20)),
    )
    found = run(Plan(family="azure-flat", jobs=(first, slower)))
    assert not found.violations, found
    elsewhere = run(Plan(family="s3-versioned", jobs=(first, slower)))
    assert elsewhere.told == {"commit returned": 2}, elsewhere
    assert not elsewhere.violations, elsewhere


@pytest.mark.parametrize("family", ["gcs", "s3"])
def test_p8_a_resumer_that_comes_late_is_told_that_the_job_is_committed(family: str) -> None:
    """An aborter decides when the area is gone, and dies: that decision counts for nothing."""
    job = JobPlan(
        name="a",
        mode="append",
        then="leave",
        helpers=(HelperPlan(kind="resumer", at_s=5), HelperPlan(kind="aborter", at_s=6)),
    )
    faults = (
        FaultAt("a.driver", 1, "halt", delay_s=20, verb="delete"),
        FaultAt("a.resumer0", 4, "halt", delay_s=100, verb="read"),
        FaultAt("a.aborter1", 1, "halt_after", delay_s=60, verb="read"),
        FaultAt("a.aborter1", 2, "crash_before", verb="read"),
    )
    found = run(Plan(family=family, jobs=(job,), faults=faults))
    assert not found.violations, found
    assert found.told == {"commit returned": 1, "resume committed": 1}, found


@pytest.mark.parametrize("family", ["disk", "dfs"])
@pytest.mark.parametrize(
    ("mode", "listed_late"),
    [("overwrite", 4), ("overwrite_partitions", 3)],
)
def test_p9_a_destination_inside_whose_job_ends_in_mid_listing_loses_nothing(
    family: str, mode: Literal["overwrite", "overwrite_partitions"], listed_late: int
) -> None:
    """Its area is seen before it has left an epoch, and is listed when it is gone."""
    outer = JobPlan(
        name="a",
        mode=mode,
        partitions=("inner",) if mode == "overwrite_partitions" else (),
        files=(("inner/a.txt",),),
        at_s=1,
        then="abort",
    )
    plan = Plan(
        family=family.replace("dfs", "hdfs"),
        jobs=(JobPlan(name="n", mode="append", at="out/inner"), outer),
        faults=(
            FaultAt("n.driver", 5, "halt", 5.0, "create"),
            FaultAt("a.driver", listed_late, "halt", 20.0, "list_tree"),
        ),
    )
    found = run(plan)
    assert not found.violations, found
    assert found.told["commit returned"] == 1, found


@pytest.mark.parametrize("family", ["gcs", "s3", "s3-versioned", "s3-express", "azure-flat"])
def test_p8_a_decision_that_comes_late_into_half_an_area_leaves_nothing_that_looks_lost(
    family: str,
) -> None:
    """An aborter dies when the decision is gone; a driver creates another one, and dies, too."""
    job = JobPlan(
        name="a", mode="append", then="leave", helpers=(HelperPlan(kind="aborter", at_s=0.3),)
    )
    faults = (
        FaultAt("a.driver", 3, "halt", 1.4, "create"),
        FaultAt("a.driver", 4, "crash_after", verb="create"),
        FaultAt("a.aborter0", 2, "crash_after", verb="delete"),
    )
    found = run(Plan(family=family, jobs=(job,), faults=faults))
    assert not found.violations, found


def test_p11_rows_below_a_declared_partition_are_rows_of_it() -> None:
    """The model took them for none: one in 15,000 varied plans was called wrong, and was not."""
    files = {"a": "day=%31/b.txt", "c": "day=1/b.txt"}
    jobs = (
        JobPlan(name="a", mode="overwrite_partitions", files=((files["a"],),)),
        JobPlan(
            name="c",
            mode="overwrite_partitions",
            files=((files["c"],),),
            partitions=("day=1",),
            at_s=10,
        ),
    )
    found = run(Plan(family="disk", old=("day=1/hour=2/old.txt",), jobs=jobs))
    assert not found.violations, found
    assert found.visible == tuple(sorted(files.values()))


@pytest.mark.parametrize("family", ["s3", "s3-versioned", "minio", "azure-flat", "disk"])
@pytest.mark.parametrize("mode", ["append", "overwrite", "overwrite_partitions"])
def test_p1_a_marker_never_names_what_a_later_job_has_replaced(
    family: str, mode: Literal["append", "overwrite", "overwrite_partitions"]
) -> None:
    """Where it cannot be removed it did, if that job was to leave none, and no run looked at it."""
    jobs = (
        JobPlan(name="a", mode="append", success="json", files=(("day=1/a.txt",),)),
        JobPlan(name="b", mode=mode, success="none", files=(("day=1/b.txt",),), at_s=20),
    )
    found = run(Plan(family=family, jobs=jobs))
    assert not found.violations, found
    assert found.told == {"commit returned": 2}


def test_p1_a_job_whose_area_is_put_back_is_alive_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `clean` had looked just before `job.json` came, and took the area when that had decided.

    So it does where an adapter removes no empty directories.
    """
    renames_areas_that_just_begin(monkeypatch)
    plan = Plan(
        family="disk",
        schedule=6,
        old=("day=1/old.txt",),
        jobs=(JobPlan(name="a", mode="overwrite", files=(("day=1/a.txt", "day=2/b.txt"),)),),
        cleaners=(CleanerPlan(at_s=0.02),),
        faults=(FaultAt("cleaner0", 1, "halt", 1.5, "rename_directory"),),
    )
    found = run(plan)
    assert not found.violations, found
    assert found.told == {"commit returned": 1}
    calls = [f"{event.actor} {event.what} {event.path}" for event in found.trace.events]
    steps = ("create .*/decision", "cleaner0 rename_directory .*/void-", "create .*/published")
    places = [next(n for n, call in enumerate(calls) if re.search(step, call)) for step in steps]
    assert places == sorted(places)


def test_p1_a_job_is_over_for_others_while_its_area_is_looked_into() -> None:
    """The model looked for its files when the area was gone: a later job had replaced them."""
    first, later = (
        JobPlan(name=name, mode="overwrite_partitions", files=((file,),), at_s=at_s)
        for name, file, at_s in (("b", "day=1/a.txt", 0), ("a", "day=1/b.txt", 10))
    )
    plan = Plan(
        family="disk",
        old=("day=1/a.txt",),
        jobs=(first, later),
        foreign=(ForeignPlan(name="day=1/a.txt", at_s=5),),
        faults=(
            FaultAt("b.driver", 4, "halt", 8.0, "create"),
            FaultAt("b.driver", 1, "halt_after", 40.0, "rename_directory"),
        ),
    )
    found = run(plan)
    assert not found.violations, found
    assert found.told == {"commit returned": 2}
    assert any("/void-" in event.path for event in found.trace.events)


def test_p8_an_area_that_clean_has_put_back_is_settled_after_that() -> None:
    """Its driver died while it looked into it, at every call; an old file went by another hand."""
    job = JobPlan(
        name="a", mode="overwrite_partitions", files=(("day=3/a.txt",),), partitions=("day=2",)
    )
    put_back = 0
    for moment in range(20, 60):
        foreign = ForeignPlan(name="day=2/old.txt", at_s=moment / 20, deletes=True)
        plan = Plan(family="disk", old=("day=2/old.txt",), jobs=(job,), foreign=(foreign,))
        calls = run(plan).calls["a.driver"]
        for call in range(calls - 12, calls + 1):
            found = run(replace(plan, faults=(FaultAt("a.driver", call, "crash_before"),)))
            assert not found.violations, found
            lines = [line for line in found.trace.lines() if "/void-" in line]
            put_back += any(" a.driver " in line for line in lines) and any(
                " operator " in line for line in lines
            )
    assert put_back


@pytest.mark.parametrize("family", ["disk", "disk-folding", "hdfs", "memory"])
def test_p8_a_task_that_has_written_a_file_twice_commits_the_second(family: str) -> None:
    """The first, given up, came in between: the job was decided, and nobody could finish it."""
    job = JobPlan(
        name="a",
        mode="overwrite",
        names="exact",
        files=(("day=2/a.txt",),),
        attempts=(AttemptPlan(task=0, pause_s=18.251, retries=True),),
        then="leave",
    )
    plan = Plan(
        family=family,
        schedule=122537002714,
        jobs=(job,),
        faults=(FaultAt("a.attempt0", 1, "applied_late", 40.0, "finish"),),
    )
    found = run(plan)
    assert not found.violations, found
    assert any("earlier request for that name" in line for line in found.trace.lines())


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_p1_readers_know_a_new_file_by_any_spelling_of_its_directory(
    mode: Literal["append", "overwrite"],
) -> None:
    """The directory stands, and keeps its name; the driver dies between any two calls."""
    old = ("day=1/old.txt",)
    files = (("DAY=1/new.txt", "other.txt"),)
    job = JobPlan(name="a", mode=mode, names="exact", files=files)
    readers = (ReaderPlan(at_s=30.0, count=1),)
    plan = Plan(family="disk-folding", old=old, jobs=(job,), readers=readers)
    for call in range(1, run(plan).calls["a.driver"] + 1):
        found = run(replace(plan, faults=(FaultAt("a.driver", call, "halt", delay_s=60.0),)))
        assert not found.violations, found


def test_p10_a_destination_is_known_by_any_spelling_of_what_is_above_it() -> None:
    """The simulator took the name that the disk keeps for that of another destination."""
    found = run(
        Plan(family="disk-folding", jobs=(JobPlan(name="n", mode="append", at="Out/Inner"),))
    )
    assert not found.violations, found


def test_p1_what_begins_inside_a_destination_may_go_unnoticed_that_once() -> None:
    """The guarantees say so: the inner area is listed before its files, and gone by then."""
    inner = JobPlan(
        name="n",
        mode="overwrite",
        files=(("day=1/a.txt",), ("a.txt",)),
        then="abort",
        at="out/inner",
    )
    outer = JobPlan(name="a", mode="overwrite", files=(("day=1/a.txt",),), then="abort", wait_s=0.0)
    plan = Plan(
        family="hdfs",
        schedule=164,
        old=("day=1/a.txt",),
        jobs=(
            outer,
            replace(inner, wait_s=0.0, attempts=(AttemptPlan(task=0), AttemptPlan(task=1))),
        ),
        readers=(
            ReaderPlan(at_s=54.358, count=10, every_s=0.3),
            ReaderPlan(at_s=0.083, count=10, every_s=0.3),
        ),
        faults=(FaultAt("n.driver", 4, "halt_after", delay_s=3.0, verb="create"),),
    )
    found = run(plan)
    assert any("is told that 2 files are committed" in line for line in found.trace.lines())
    assert not found.violations, found


@pytest.mark.parametrize(
    ("written", "told"), [("Day=%31", "commit returned"), ("day=%31", "abort returned")]
)
def test_p11_where_names_are_folded_values_are_not(written: str, told: str) -> None:
    """``Day=1`` would be ``day=1`` there, but nobody reads the escape of one as the other."""
    job = JobPlan(
        name="a",
        mode="overwrite_partitions",
        names="exact",
        files=((f"{written}/b.txt",),),
        attempts=(AttemptPlan(task=0),),
    )
    found = run(Plan(family="disk-folding", old=("day=1/a.txt",), jobs=(job,)))
    assert found.told.get(told) == 1, found
    assert not found.violations, found


@pytest.mark.parametrize("family", ["gcs", "s3", "s3-versioned", "gen2", "hdfs"])
@pytest.mark.parametrize("schedule", range(12))
def test_p8_a_driver_that_decides_when_its_job_was_aborted_leaves_no_damage(
    family: str, schedule: int
) -> None:
    """A task commits while an area is removed that was listed before, and its driver dies late."""
    found = run(aborted_while_it_commits(family, schedule))
    assert not found.violations, found


@pytest.mark.parametrize("family", ["gcs", "s3", "s3-express", "azure-flat"])
@pytest.mark.parametrize("schedule", range(6))
def test_p8_a_driver_that_decides_when_its_job_was_committed_leaves_no_damage(
    family: str, schedule: int
) -> None:
    """It has the message of another attempt, which the list of what goes was too early for."""
    found = run(claimed_while_it_ends(family, schedule))
    assert not found.violations, found
