"""Planted bugs of names that some disks take for one, each with the run that shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsspec_commit.protocol import claim, in_the_way, old_partitions, replaced
from fsspec_commit.testing.simulation import AttemptPlan, JobPlan, Plan

if TYPE_CHECKING:
    import pytest


def writes_into_a_partition_of_another_name(patch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> None:
        """Take each name for one of its own."""

    patch.setattr(old_partitions._Walk, "_refuse_folded", refuse)


SPELLED_OTHERWISE = Plan(
    family="disk-folding",
    old=("day=x/old.txt",),
    jobs=(JobPlan(name="a", mode="overwrite_partitions", files=(("DAY=X/a.txt",),)),),
)


def takes_two_spellings_for_two_names(patch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> None:
        """Believe that they differ."""

    patch.setattr(replaced, "refuse_two_spellings", refuse)


TWO_FILES_OF_ONE_NAME = Plan(
    family="disk-folding",
    jobs=(
        JobPlan(
            name="a",
            mode="overwrite",
            names="exact",
            files=(("a.txt",), ("A.txt",)),
            attempts=(AttemptPlan(task=0), AttemptPlan(task=1)),
        ),
    ),
)


def claims_names_as_they_are_spelled(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(claim, "partition_key", lambda name: tuple(name.split("/")))


TOGETHER = Plan(
    family="disk-folding",
    schedule=4,
    jobs=tuple(
        JobPlan(name=name, mode="overwrite_partitions", files=((f"{partition}/{name}.txt",),))
        for name, partition in (("a", "day=x"), ("b", "DAY=X"))
    ),
)


def finds_only_the_very_name_in_the_way(patch: pytest.MonkeyPatch) -> None:
    """Of a file whose name the disk takes for that of a new one."""
    patch.setattr(in_the_way, "folded", lambda name: name)


STANDS_IN_CAPITALS = Plan(
    family="disk-folding",
    old=("A.txt", "old.txt"),
    jobs=(
        JobPlan(
            name="a",
            mode="append",
            names="exact",
            files=(("a.txt", "b.txt", "c.txt", "d.txt", "e.txt", "f.txt"),),
        ),
    ),
)


def mixes_spellings_below_declared_ones(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(old_partitions._Walk, "_note_spelled_otherwise_below", lambda _: None)


DECLARED_WITH_OTHER_ROWS = Plan(
    family="gcs",
    old=("day=1/hour=2/old.txt", "day=%31/hour=1/old.txt"),
    jobs=(
        JobPlan(
            name="a",
            mode="overwrite_partitions",
            files=(("day=1/hour=1/a.txt",),),
            partitions=("day=1",),
        ),
    ),
)
"""The partition has rows, and those of the hour that is written stay under another name."""
