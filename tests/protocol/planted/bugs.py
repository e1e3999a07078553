"""Bugs on purpose: each weakens one rule, and the simulator must find out that it matters.

A bug is a function that patches the product for one test. Those of the models in `tests/specs` are
here as code, and so are mistakes that were found in this library, made again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.testing.simulation import (
    CleanerPlan,
    FaultAt,
    HelperPlan,
    JobPlan,
    Plan,
    ReaderPlan,
)
from tests.protocol.planted import of_commits, of_decisions, of_effects, of_reading, of_scenes

if TYPE_CHECKING:
    from fsspec_commit.testing.simulation.process import FaultKind


@dataclass(frozen=True)
class Bug:
    """One bug.

    Attributes:
        plant: Patches the product.
        breaks: The promises of which at least one must be found broken.
        family: The kind of store on which it is looked for; `None` for any.
        first: The seed to begin with: it, or one soon after it, finds the bug.
        plan: What is run instead, where only one run of some thousand finds the bug.
    """

    plant: Callable[[pytest.MonkeyPatch], None]
    breaks: tuple[str, ...]
    family: str | None = None
    first: int = 0
    plan: Plan | None = None


def superseded(family: str, verb: str, call: int, kind: FaultKind, *, until_s: float) -> Plan:
    """A driver stands still in an overwrite, a resumer finishes it, and a name comes back."""
    first = JobPlan(
        name="a",
        mode="overwrite",
        files=(("day=1/b.txt",),),
        helpers=(HelperPlan(kind="resumer", at_s=3),),
    )
    later = JobPlan(name="b", mode="append", names="exact", at_s=until_s)
    return Plan(
        family=family,
        same=family == "s3",
        old=("a.txt",),
        jobs=(first, later),
        faults=(FaultAt("a.driver", call, kind, delay_s=until_s + 50, verb=verb),),
    )


BESIDE_THE_START = Plan(
    family="disk",
    jobs=(JobPlan(name="a", mode="append", files=(("a.txt", "day=1/a.txt"),)),),
    cleaners=(CleanerPlan(at_s=0.2),),
    faults=(
        FaultAt("a.driver", 1, "halt", delay_s=0.6, verb="create"),
        FaultAt("cleaner0", 2, "halt", delay_s=1.5, verb="list_tree"),
    ),
)
"""A cleaner looks between the directory of an area and its `job.json`, and deletes later."""

TWO_THREADS_AND_AN_OUTAGE = Plan(
    family="s3-versioned",
    old=("old.txt",),
    jobs=(JobPlan(name="a", mode="overwrite", threads=2, then="abort"),),
    faults=(FaultAt("a.driver", 15, "outage", delay_s=4_000),),
)
"""One call of the driver decides, and the other one, without an answer, does not know of it."""


def read(family: str, schedule: int = 0, *faults: FaultAt) -> Plan:
    """Two jobs, and two readers that ask again and again; or one that stands still once."""
    files = (("a.txt", "day=1/a.txt", "day=2/a.txt"),)
    often = tuple(ReaderPlan(at_s=0.01 * number, count=30) for number in range(2))
    return Plan(
        family=family,
        schedule=schedule,
        old=("a.txt", "old.txt", "day=1/old.txt", "day=2/b.txt", "zz.txt"),
        jobs=(
            JobPlan(name="a", mode="overwrite", files=files, at_s=1.0 if faults else 0.0),
            JobPlan(name="b", mode="append", files=files, at_s=100.0 if faults else 0.5),
        ),
        readers=(ReaderPlan(at_s=0.2),) if faults else often,
        faults=faults,
    )


IN_MID_LISTING = FaultAt("reader0", 5, "halt", 20)

BUGS = {
    "publishes before its decision": Bug(of_commits.publishes_before_its_decision, ("P2", "P5")),
    "deletes before it publishes": Bug(of_commits.deletes_before_it_publishes, ("P9",)),
    "leaves the old files": Bug(of_commits.leaves_the_old_files, ("P9",)),
    "publishes no marker": Bug(of_commits.publishes_no_marker, ("P1",), first=1),
    "leaves out the last file": Bug(of_commits.leaves_out_the_last_file, ("P1", "P9"), first=138),
    "sees no other claim": Bug(of_decisions.sees_no_other_claim, ("P1", "P9", "P11"), first=5),
    "looks before it claims": Bug(
        of_decisions.looks_before_it_claims, ("P1", "P9", "P11"), first=309
    ),
    "takes a decided job for over": Bug(
        of_decisions.takes_a_decided_job_for_over, ("P1", "P9", "P11"), first=30
    ),
    "fences with nothing": Bug(of_decisions.fences_with_nothing, ("P8", "P9", "P11"), first=81),
    "overwrites the decision": Bug(of_decisions.overwrites_the_decision, ("P7",), first=26),
    "believes its decision in a void area": Bug(
        of_decisions.believes_its_decision_in_a_void_area, ("P5", "P7"), family="gcs", first=102
    ),
    "believes a void abort": Bug(
        of_decisions.believes_a_void_abort, ("P5", "P7"), family="gcs", first=752
    ),
    "aborts without a decision": Bug(
        of_decisions.aborts_without_a_decision, ("P1", "P5", "P7", "P8"), first=67
    ),
    "cleans without a fence": Bug(
        of_effects.cleans_without_a_fence,
        ("P5", "P7", "P8"),
        first=102,
    ),
    "cleans areas that just begin": Bug(
        of_effects.cleans_areas_that_just_begin, ("P5", "P7", "P8"), plan=BESIDE_THE_START
    ),
    "removes the decision first": Bug(of_effects.removes_the_decision_first, ("P7",), family="s3"),
    "removes areas file by file": Bug(
        of_effects.removes_areas_file_by_file, ("P7",), family="disk"
    ),
    "repeats the start": Bug(of_effects.repeats_the_start, ("P5", "P6", "P7"), first=761),
    "deletes on an old permit": Bug(
        of_effects.deletes_on_an_old_permit,
        ("P6", "P9"),
        plan=superseded("s3", "read_range", 3, "halt_after", until_s=8_000),
    ),
    "deletes whatever has the name": Bug(
        of_effects.deletes_whatever_has_the_name,
        ("P6", "P9"),
        plan=superseded("gcs", "delete", 1, "halt", until_s=10),
    ),
    "appends over names": Bug(of_commits.appends_over_names, ("P9", "P11"), first=13),
    "writes beside data": Bug(of_commits.writes_beside_data, ("P11",), first=13),
    "forgets its key": Bug(of_commits.forgets_its_key, ("P7",), first=88),
    "says not committed of an unknown decision": Bug(
        of_commits.says_not_committed_of_an_unknown_decision, ("P7",), first=345
    ),
    "says not committed of a part": Bug(
        of_commits.says_not_committed_of_a_part,
        ("P7",),
        first=30,
    ),
    "says committed of an abort": Bug(of_commits.says_committed_of_an_abort, ("P7",), first=9),
    "takes no answer for done": Bug(of_effects.takes_no_answer_for_done, ("P1", "P9"), first=138),
    "leaves uploads": Bug(of_effects.leaves_uploads, ("P5",), family="s3", first=1),
    "leaves its area": Bug(of_effects.leaves_its_area, ("P5",)),
    "writes outside": Bug(of_commits.writes_outside, ("P10",)),
    "waits for ever": Bug(of_decisions.waits_for_ever, ("P8",), first=5),
    "publishes another attempt": Bug(of_commits.publishes_another_attempt, ("P3",), first=8),
    "deletes what it lists later": Bug(of_effects.deletes_what_it_lists_later, ("P9",)),
    "looks once": Bug(of_reading.looks_once, ("P1", "P2"), plan=read("disk", 1)),
    "reads no epoch": Bug(
        of_reading.reads_no_epoch, ("P1", "P2"), plan=read("gcs", 0, IN_MID_LISTING)
    ),
    "leaves no epoch": Bug(
        of_reading.leaves_no_epoch, ("P1", "P2"), plan=read("s3-versioned", 0, IN_MID_LISTING)
    ),
    "leaves its epoch last": Bug(
        of_reading.leaves_its_epoch_last,
        ("P1", "P2"),
        plan=read("disk", 0, IN_MID_LISTING, FaultAt("a.driver", 7, "halt", 60, verb="create")),
    ),
    "takes a job that just ended for quiet": Bug(
        of_reading.takes_a_job_that_just_ended_for_quiet, ("P1", "P2"), plan=read("disk", 1)
    ),
    "shows new files too early": Bug(
        of_reading.shows_the_new_files_of_decided_jobs, ("P1", "P2"), plan=read("gcs", 2)
    ),
    "shows old files too long": Bug(
        of_reading.shows_the_old_files_of_published_jobs, ("P1", "P2"), plan=read("disk", 4)
    ),
    "commits in two threads": Bug(
        of_decisions.commits_in_two_threads, ("P7",), plan=TWO_THREADS_AND_AN_OUTAGE
    ),
    "takes hidden names for unique": Bug(
        of_scenes.takes_hidden_names_for_unique, ("P11",), plan=of_scenes.ONE_HIDDEN_NAME
    ),
    "uploads hidden names by path": Bug(
        of_scenes.uploads_hidden_names_by_path, ("P8",), plan=of_scenes.TWO_UPLOADS_OF_ONE_PATH
    ),
    "mixes two spellings": Bug(
        of_scenes.mixes_two_spellings, ("P11",), plan=of_scenes.TWO_SPELLINGS
    ),
    "adopts without a record": Bug(
        of_scenes.adopts_without_a_record, ("P5",), plan=of_scenes.ADOPTED_BUT_NOT_CHOSEN
    ),
    "lets a failing callback decide": Bug(
        of_scenes.lets_a_callback_decide, ("P8",), plan=of_scenes.FAILING_CALLBACK
    ),
    "lets an exiting callback decide": Bug(
        of_scenes.lets_a_callback_decide, ("P8",), plan=of_scenes.EXITING_CALLBACK
    ),
    "leaves its heart beating": Bug(
        of_scenes.leaves_its_heart_beating, ("P8",), plan=of_scenes.INTERRUPTED
    ),
    "says published before it resumes": Bug(
        of_scenes.says_published_before_it_resumes, ("P1",), plan=of_scenes.RESUMED_TWICE
    ),
    "keeps what the trash took": Bug(
        of_scenes.keeps_what_the_trash_took, ("P9",), plan=of_scenes.MEDDLER
    ),
    "shares a work area": Bug(of_scenes.shares_a_work_area, ("P10",), plan=of_scenes.NEIGHBOURS),
    "leaves probes": Bug(of_scenes.leaves_probes, ("P5",), plan=of_scenes.left_over("probe")),
    "removes what it cannot read": Bug(
        of_scenes.removes_what_it_cannot_read, ("P8",), plan=of_scenes.left_over("newer")
    ),
    "removes published first": Bug(
        of_scenes.removes_published_first, ("P8",), plan=of_scenes.DECISION_TOO_LATE
    ),
}
