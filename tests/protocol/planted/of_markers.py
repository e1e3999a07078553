"""Planted bugs: the marker that is prepared beside the claim and the look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsspec_commit.protocol import marker_under_way
from fsspec_commit.protocol.success import seen_success
from fsspec_commit.testing.simulation import FaultAt, JobPlan, Plan
from tests.protocol.planted.bug import Bug

if TYPE_CHECKING:
    import pytest


def withdraws_the_marker_that_it_decides_on(patch: pytest.MonkeyPatch) -> None:
    """As if it had been refused, though its decision names the marker."""
    real = marker_under_way.MarkerUnderWay.prepared

    async def prepared(self: Any, *args: Any) -> Any:
        marker = await real(self, *args)
        if marker is not None:
            await self._job.committer.withdraw_success(self._job.layout, marker)
        return marker

    patch.setattr(marker_under_way.MarkerUnderWay, "prepared", prepared)


def decides_on_the_marker_of_its_first_claim(patch: pytest.MonkeyPatch) -> None:
    """Which was withdrawn with that claim."""
    real = marker_under_way.MarkerUnderWay.begin
    begun: dict[Any, Any] = {}

    def begin(self: Any, claim: Any) -> None:
        real(self, begun.setdefault(self, claim))

    patch.setattr(marker_under_way.MarkerUnderWay, "begin", begin)


def leaves_the_markers_of_its_claims(patch: pytest.MonkeyPatch) -> None:
    """It withdraws none: neither with its claim, nor when it is refused."""

    async def withdraw(self: Any) -> None:
        self._preparing = None

    patch.setattr(marker_under_way.MarkerUnderWay, "withdraw", withdraw)


def decides_before_its_marker_is_prepared(patch: pytest.MonkeyPatch) -> None:
    """Whoever resumes the job finds no marker that it could publish."""
    real = marker_under_way.MarkerUnderWay.prepared

    async def prepared(self: Any, claim: Any, stale: Any) -> Any:
        if self._preparing is not None and not self._preparing.done():
            return None
        return await real(self, claim, stale)

    patch.setattr(marker_under_way.MarkerUnderWay, "prepared", prepared)


def looks_for_the_marker_before_it_lists(patch: pytest.MonkeyPatch) -> None:
    """One that comes while old files are listed stands for half of the job."""

    def look(self: Any) -> None:
        self._looking = marker_under_way._begun(seen_success(self._job))

    patch.setattr(marker_under_way.MarkerUnderWay, "look", look)


def looks_for_the_marker_before_it_claims(patch: pytest.MonkeyPatch) -> None:
    real = marker_under_way.MarkerUnderWay.begin

    def begin(self: Any, claim: Any) -> None:
        self._looking = marker_under_way._begun(seen_success(self._job))
        real(self, claim)

    patch.setattr(marker_under_way.MarkerUnderWay, "begin", begin)
    patch.setattr(marker_under_way.MarkerUnderWay, "look", lambda _: None)


def keeps_what_it_saw_for_its_next_claim(patch: pytest.MonkeyPatch) -> None:
    """The job that it has waited for has left a marker since."""
    real = marker_under_way.MarkerUnderWay.look

    async def look_later(_: Any) -> None:
        pass

    def look(self: Any) -> None:
        if self._looking is None:
            real(self)

    patch.setattr(marker_under_way.MarkerUnderWay, "look", look)
    patch.setattr(marker_under_way.MarkerUnderWay, "look_later", look_later)


CLAIMED_LATE = Plan(
    family="gcs",
    jobs=(
        JobPlan(name="a", mode="append", files=(("a.txt", "b.txt"),)),
        JobPlan(name="b", mode="append", at_s=1),
    ),
    faults=(FaultAt("a.driver", 2, "hang", verb="create"),),
)
"""The claim of an append is lost and sent again; another job ends meanwhile."""

WAITED_FOR_AN_OVERWRITE = Plan(
    family="gcs",
    old=("old.txt",),
    jobs=(
        JobPlan(name="b", mode="overwrite"),
        JobPlan(name="a", mode="append", files=(("a.txt", "b.txt"),), at_s=1),
    ),
    faults=(FaultAt("b.driver", 3, "halt", 20.0, "create"),),
)
"""An append withdraws its claim while an older job commits, and claims again."""

CLAIMED_TWICE = Plan(
    family="gcs",
    old=("old.txt",),
    jobs=(
        JobPlan(name="b", mode="overwrite"),
        JobPlan(name="a", mode="overwrite", at_s=1),
    ),
    faults=(FaultAt("b.driver", 3, "halt", 20.0, "create"),),
)
"""A job withdraws its claim while an older one commits, and claims again."""

BUGS = {
    "looks for the marker before it lists": Bug(looks_for_the_marker_before_it_lists, ("P1",)),
    "looks for the marker before it claims": Bug(
        looks_for_the_marker_before_it_claims, ("P1",), plan=CLAIMED_LATE
    ),
    "keeps what it saw for its next claim": Bug(
        keeps_what_it_saw_for_its_next_claim, ("P1",), plan=WAITED_FOR_AN_OVERWRITE
    ),
    "withdraws the marker that it decides on": Bug(
        withdraws_the_marker_that_it_decides_on, ("P8",), family="s3"
    ),
    "decides on the marker of its first claim": Bug(
        decides_on_the_marker_of_its_first_claim, ("P1", "P8"), plan=CLAIMED_TWICE
    ),
    "leaves the markers of its claims": Bug(leaves_the_markers_of_its_claims, ("P5",), family="s3"),
    "decides before its marker is prepared": Bug(
        decides_before_its_marker_is_prepared, ("P1",), family="s3"
    ),
}
