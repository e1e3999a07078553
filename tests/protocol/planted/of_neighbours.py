"""Planted bugs: what looks alike, or stands beside, above or below, is taken for one's own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fsspec_commit import names
from fsspec_commit.effects.leftover_uploads import Elsewhere, LeftoverUploads
from fsspec_commit.names import partition_key
from fsspec_commit.protocol import looks, old_partitions, partition_spots, replaced
from fsspec_commit.protocol.listing import SeenApart
from fsspec_commit.protocol.partition_spots import Spot
from fsspec_commit.records.job import FileIdentity
from fsspec_commit.store import Directory
from fsspec_commit.testing.simulation import (
    AttemptPlan,
    CleanerPlan,
    FaultAt,
    ForeignPlan,
    JobPlan,
    Plan,
)
from tests.protocol.planted.bug import Bug

if TYPE_CHECKING:
    import pytest


def aborts_the_uploads_of_jobs_below(patch: pytest.MonkeyPatch) -> None:
    """`clean` of a directory above: what has no area here is taken for a job's that is over."""

    async def elsewhere(*_: Any) -> Elsewhere:
        return Elsewhere(frozenset(), frozenset())

    patch.setattr(LeftoverUploads, "elsewhere", elsewhere)


CLEANED_FROM_ABOVE = Plan(
    family="s3",
    jobs=(
        JobPlan(
            name="n",
            mode="append",
            at="out/inner",
            attempts=(AttemptPlan(task=0, pause_s=20.0),),
        ),
    ),
    cleaners=(CleanerPlan(at_s=10.0),),
)


def replaces_what_looks_alike(patch: pytest.MonkeyPatch) -> None:
    """Of `code=a` it deletes `code=A`, though the disk keeps both."""

    def takes(self: Any, spot: Any, _: str) -> bool:
        self._found.add(spot.wanted)
        return True

    patch.setattr(partition_spots, "decoded", partition_key)
    patch.setattr(old_partitions, "decoded", partition_key)
    patch.setattr(old_partitions._Walk, "_takes", takes)


TWO_CASES = Plan(
    family="disk",
    old=("day=X/old.txt",),
    jobs=(JobPlan(name="a", mode="overwrite_partitions", files=(("day=x/a.txt",),)),),
)


def replaces_a_partition_around_a_destination(patch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: Any) -> None:
        """Look only at the files."""

    patch.setattr(old_partitions._Walk, "_refuse_nested", refuse)
    patch.setattr(replaced, "refuse_nested", refuse)


IN_A_PARTITION = Plan(
    family="disk",
    jobs=(
        JobPlan(name="n", mode="append", at="out/day=1"),
        JobPlan(
            name="a",
            mode="overwrite_partitions",
            files=(("day=1/a.txt",),),
            at_s=20.0,
            then="abort",
        ),
    ),
)


def takes_pages_for_one_moment(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SeenApart, "note", lambda *_: None)


BETWEEN_PAGES = Plan(
    family="gcs",
    old=tuple(f"inner/day=1/{name}.txt" for name in "abc"),
    jobs=(
        JobPlan(name="a", mode="overwrite", files=(("inner/day=1/a.txt",),), then="abort"),
        JobPlan(name="n", mode="append", files=(("day=1/z.txt",),), at_s=2.0, at="out/inner"),
    ),
    faults=(FaultAt("a.driver", 3, "halt", 20.0, "list_tree"),),
)


def looks_only_into_partitions(patch: pytest.MonkeyPatch) -> None:
    """And into none of the directories above them, which were listed before."""
    patch.setattr(Spot, "above", "")


BETWEEN_LEVELS = replace(
    BETWEEN_PAGES,
    old=("inner/day=1/a.txt",),
    jobs=(replace(BETWEEN_PAGES.jobs[0], mode="overwrite_partitions"), BETWEEN_PAGES.jobs[1]),
    faults=(FaultAt("a.driver", 6, "halt", 20.0, "list_children"),),
)


def decides_though_its_marker_has_no_place(patch: pytest.MonkeyPatch) -> None:
    """Where a directory has its name, which nothing can be renamed over."""

    async def seen(job: Any) -> FileIdentity | None:
        entry = await job.store.stat(job.layout.destination.success)
        if entry is None or isinstance(entry, Directory):
            return None
        return FileIdentity(size=entry.size_bytes, token=entry.token)

    patch.setattr(looks, "seen_success", seen)


A_DIRECTORY_OF_ITS_NAME = Plan(
    family="disk",
    jobs=(JobPlan(name="a", mode="append", at_s=10.0),),
    foreign=(ForeignPlan(name="_SUCCESS/others.txt", at_s=0.0),),
)


def keeps_its_markers_name_for_files_alone(patch: pytest.MonkeyPatch) -> None:
    """A file below a directory of that name is taken, and nothing can be renamed over that."""
    patch.setattr(names, "_RESERVED", {names.AREA: names.AREA})


BELOW_ITS_NAME = Plan(
    family="disk",
    jobs=(JobPlan(name="a", mode="append", files=(("_SUCCESS/a.txt",),)),),
)

BUGS = {
    "aborts the uploads of jobs below": Bug(
        aborts_the_uploads_of_jobs_below, ("P8",), plan=CLEANED_FROM_ABOVE
    ),
    "replaces what looks alike": Bug(replaces_what_looks_alike, ("P9", "P11"), plan=TWO_CASES),
    "replaces a partition around a destination": Bug(
        replaces_a_partition_around_a_destination, ("P9",), plan=IN_A_PARTITION
    ),
    "takes pages for one moment": Bug(takes_pages_for_one_moment, ("P9",), plan=BETWEEN_PAGES),
    "looks only into partitions": Bug(looks_only_into_partitions, ("P9",), plan=BETWEEN_LEVELS),
    "decides though its marker has no place": Bug(
        decides_though_its_marker_has_no_place, ("P8",), plan=A_DIRECTORY_OF_ITS_NAME
    ),
    "keeps its marker's name for files alone": Bug(
        keeps_its_markers_name_for_files_alone, ("P8",), plan=BELOW_ITS_NAME
    ),
}
