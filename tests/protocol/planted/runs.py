"""Runs that catch what random ones seldom do: who stands still where, while who goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsspec_commit.testing.simulation import (
    AttemptPlan,
    CleanerPlan,
    FaultAt,
    ForeignPlan,
    HelperPlan,
    JobPlan,
    Plan,
    ReaderPlan,
)

if TYPE_CHECKING:
    from fsspec_commit.testing.simulation.process import FaultKind


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


LOOKED_ONCE = superseded("s3", "create", 6, "halt_after", until_s=8_000)
"""It stands still when it is recorded that all files are in place."""

NO_RENAME_FOR_LONG = Plan(
    family="gcs",
    jobs=(JobPlan(name="a", mode="append"),),
    faults=(FaultAt("a.driver", 1, "outage", 130.0, "rename"),),
)
"""No file can be published, for longer than a driver tries."""
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

BESIDE_A_SLOW_CLEAN = Plan(
    family="disk",
    jobs=(JobPlan(name="a", mode="append", names="exact", files=(("a.txt", "z.txt"),), at_s=0.05),),
    cleaners=(CleanerPlan(at_s=0.6),),
    readers=(ReaderPlan(at_s=0.6),),
    faults=(
        FaultAt("a.driver", 1, "halt", 1.0, verb="create"),
        FaultAt("cleaner0", 1, "halt", 3.0, verb="remove_empty_directory"),
        FaultAt("cleaner0", 1, "halt", 3.0, verb="rename_directory"),
        FaultAt("a.driver", 2, "halt", 10.0, verb="rename"),
        FaultAt("cleaner0", 2, "halt", 4.0, verb="rename_directory"),
        FaultAt("reader0", 1, "halt", 4.0, verb="list_tree"),
    ),
)
"""A cleaner looks as above, and goes on when half of the files are published and listed."""

LATE_DELETE = Plan(
    family="s3",
    same=True,
    old=("a.txt",),
    jobs=(
        JobPlan(name="a", mode="overwrite", files=(("day=1/b.txt",),)),
        JobPlan(name="b", mode="append", names="exact", at_s=100),
    ),
    faults=(FaultAt("a.driver", 1, "applied_late", 300.0, "delete"),),
)
"""A request to delete an old file comes when another job has written one of its name and bytes."""

ONE_KEY = Plan(
    family="gcs",
    schedule=1,
    jobs=tuple(JobPlan(name=name, mode="append", key="k") for name in "ab"),
)

LOOKED_TOO_EARLY = Plan(
    family="gcs",
    schedule=1,
    old=("old.txt",),
    jobs=tuple(JobPlan(name=name, mode="overwrite") for name in "ab"),
    faults=(
        FaultAt("a.driver", 3, "halt", 5.0, "create"),
        FaultAt("b.driver", 5, "halt_after", 20.0, "create"),
    ),
)
"""One looks, stands still, and claims when the other has decided."""

NO_DELETION_IS_ANSWERED = Plan(
    family="gcs",
    old=("old.txt",),
    jobs=(JobPlan(name="a", mode="overwrite"),),
    faults=tuple(FaultAt("a.driver", call, "error", verb="delete") for call in range(1, 20)),
)

RETIRED_HALFWAY = Plan(
    family="gcs",
    jobs=(JobPlan(name="a", mode="append"),),
    faults=(FaultAt("a.driver", 1, "crash_after", verb="delete"),),
)
"""A driver dies when `job.json` is gone, and its decision is not."""

STARTED_TWICE = Plan(
    family="gcs",
    jobs=(JobPlan(name="a", mode="append"),),
    faults=(FaultAt("a.driver", 1, "applied_late", 300.0, "create"),),
)
"""The request that begins a job comes when the job is over."""

PART_CAME_AGAIN = Plan(
    family="s3-versioned",
    jobs=(JobPlan(name="a", mode="append"),),
    faults=(FaultAt("a.attempt0", 1, "applied_late", 30.3, "put_part"),),
)
"""A request to store a part was given up, sent again, and is carried out when its task is over."""

LATE = ForeignPlan(name="foreign.txt", at_s=6_000)
"""Somebody who comes when all else has: until then nobody settles what is left."""

DECIDED_LATE = Plan(
    family="gcs",
    jobs=(JobPlan(name="a", mode="append"),),
    foreign=(LATE,),
    faults=(
        FaultAt("a.driver", 4, "applied_late", 5_000.0, "create"),
        *(FaultAt("a.driver", call, "error", verb="create") for call in range(5, 200)),
    ),
)
"""The request that decides is not answered, and is carried out when its driver has given up."""

NOT_ANSWERED = Plan(
    family="gcs",
    jobs=(JobPlan(name="a", mode="append", files=(("a.txt", "b.txt"),)),),
    faults=(FaultAt("a.driver", 1, "hang", verb="rename"),),
)

TWO_THREADS_AND_AN_OUTAGE = Plan(
    family="s3-versioned",
    old=("old.txt",),
    jobs=(JobPlan(name="a", mode="overwrite", threads=2, then="abort"),),
    faults=(FaultAt("a.driver", 25, "outage", delay_s=4_000),),
)
"""One call of the driver decides, and the other one, without an answer, does not know of it."""

ONE_NAME = Plan(
    family="gcs",
    schedule=1,
    jobs=tuple(JobPlan(name=name, mode="append", names="exact") for name in "ab"),
)

TWO_DEAD_MARKERS = Plan(
    family="gcs",
    jobs=(
        JobPlan(name="a", mode="append"),
        JobPlan(name="b", mode="append", attempts=(AttemptPlan(task=0, pause_s=20),)),
    ),
    faults=(
        FaultAt("a.driver", 2, "crash_after", verb="rename"),
        FaultAt("b.driver", 2, "crash_before", verb="rename"),
    ),
)
"""One dies when its marker stands, the other when it has removed that."""

DECIDED_IN_DOUBT = Plan(
    family="gcs",
    jobs=(JobPlan(name="a", mode="append"),),
    faults=(FaultAt("a.driver", 4, "outage", 200.0, "create"),),
)
"""The store is out when a driver decides; some of its requests are carried out."""

PASSED_OVER = Plan(
    family="gcs",
    old=("old.txt",),
    jobs=(
        JobPlan(name="a", mode="overwrite", attempts=(AttemptPlan(task=0, pause_s=5),)),
        JobPlan(name="b", mode="overwrite", at_s=1.2),
    ),
    faults=(FaultAt("b.driver", 5, "halt", 40.0, "create"),),
)
"""A newer job stands still before it decides, for so long that it seems dead."""


TAKEN_FOR_A_STALE_ONE = Plan(
    family="disk",
    jobs=(
        JobPlan(name="a", mode="append"),
        JobPlan(
            name="b",
            mode="append",
            at_s=20,
            then="leave",
            helpers=(
                HelperPlan(kind="resumer", at_s=20),
                HelperPlan(kind="resumer", at_s=60),
            ),
        ),
        JobPlan(name="c", mode="append", at_s=30),
    ),
    faults=(
        FaultAt("b.driver", 2, "halt", 80.0, "rename"),
        FaultAt("b.driver", 3, "crash_before", verb="rename"),
        FaultAt("b.resumer0", 1, "crash_after", verb="create"),
        FaultAt("b.resumer1", 1, "halt", 60.0, "rename_directory"),
    ),
)
"""A driver that saw the marker of one job takes that of another, and dies; its job goes on.

It stands still before it takes it, and is resumed by two: one finds the first marker gone, says
that the files are in place, and dies; the other finds the second one, has looked into the trash,
and stands still before it renames the area away.
"""

TAKEN_TWICE = Plan(
    family="disk",
    old=("old.txt",),
    jobs=(JobPlan(name="a", mode="overwrite", helpers=(HelperPlan(kind="resumer", at_s=5),)),),
    foreign=(ForeignPlan(name="old.txt", at_s=20),),
    faults=(
        FaultAt("a.driver", 2, "halt", 40.0, "rename"),
        FaultAt("a.driver", 3, "crash_before", verb="rename"),
        FaultAt("a.resumer0", 1, "halt", 100.0, "rename_directory"),
    ),
)
"""A resumer takes the old file; then its driver takes what has come in its place, and dies."""

WITHDRAWN_LATE = Plan(
    family="gcs",
    old=("old.txt",),
    jobs=(
        JobPlan(name="b", mode="overwrite"),
        JobPlan(name="a", mode="overwrite", at_s=1),
        JobPlan(name="c", mode="overwrite", at_s=150),
    ),
    faults=(
        FaultAt("b.driver", 4, "halt", 20.0, "create"),
        FaultAt("a.driver", 1, "applied_late", 100.0, "delete"),
        FaultAt("a.driver", 6, "halt", 400.0, "create"),
    ),
)
"""A claim is withdrawn, the job claims again, and then the request to withdraw it arrives."""

CHOSEN_WITHOUT_AN_ANSWER = Plan(
    family="gcs",
    jobs=(JobPlan(name="a", mode="append", patience_s=3.0, collect=True),),
    faults=(
        FaultAt("a.attempt0", 2, "error_but_applied", 1.0, "create"),
        FaultAt("a.attempt0", 1, "outage", 100.0, "read"),
        FaultAt("a.driver", 4, "halt", 500.0),
    ),
)
"""An attempt is not told that it is chosen, and gives up before its driver decides."""

UNCLAIMED = Plan(
    family="gcs",
    old=("old.txt",),
    jobs=(JobPlan(name="a", mode="append"), JobPlan(name="b", mode="overwrite", at_s=2)),
    faults=(
        FaultAt("a.driver", 3, "halt", 10.0, "create"),
        FaultAt("b.driver", 5, "halt", 40.0, "create"),
    ),
)
"""An append stands still before it decides, and an overwrite lists the old files meanwhile."""

ABOVE = Plan(
    family="gcs",
    old=("day=3/old.txt",),
    jobs=(
        JobPlan(
            name="a",
            mode="append",
            files=(("day=3/hour=1/a.txt", "day=3/hour=1/b.txt"),),
        ),
        JobPlan(
            name="b",
            mode="overwrite_partitions",
            files=(("day=1/b.txt",),),
            partitions=("day=3",),
            at_s=1,
        ),
    ),
    faults=(
        FaultAt("a.attempt0", 1, "halt", 2.5, "create"),
        FaultAt("b.driver", 2, "halt", 6.0, "list_tree"),
        FaultAt("a.driver", 2, "halt", 20.0, "rename"),
    ),
)
"""A job clears a directory, and lists it, under its claim, while another one adds files below."""
