"""Planted bugs: the marker that is prepared beside the claim and the look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsspec_commit.protocol import commit, marker_under_way
from fsspec_commit.testing.simulation import FaultAt, JobPlan, Plan
from tests.protocol.planted.bug import Bug

if TYPE_CHECKING:
    import pytest


def withdraws_the_marker_that_it_decides_on(patch: pytest.MonkeyPatch) -> None:
    """As if it had been refused, though its decision names the marker."""
    real = marker_under_way.MarkerUnderWay.prepared

    async def is_ready(*_: Any) -> None:
        pass

    async def prepared(self: Any, *args: Any) -> Any:
        marker = await real(self, *args)
        if marker is not None:
            await self._job.committer.withdraw_success(self._job.layout, marker)
        return marker

    patch.setattr(marker_under_way.MarkerUnderWay, "is_ready", is_ready)
    patch.setattr(marker_under_way.MarkerUnderWay, "prepared", prepared)


def decides_on_the_marker_of_its_first_claim(patch: pytest.MonkeyPatch) -> None:
    """Which was withdrawn with that claim."""
    real = marker_under_way.MarkerUnderWay.begin
    begun: dict[Any, Any] = {}

    def begin(self: Any, claim: Any) -> None:
        real(self, begun.setdefault(self, claim))
        self._claim = claim

    patch.setattr(marker_under_way.MarkerUnderWay, "begin", begin)


def leaves_the_markers_of_its_claims(patch: pytest.MonkeyPatch) -> None:
    """It withdraws none: neither with its claim, nor when it is refused."""

    async def withdraw(self: Any) -> None:
        self._preparing = None

    patch.setattr(marker_under_way.MarkerUnderWay, "withdraw", withdraw)


def decides_before_its_marker_is_prepared(patch: pytest.MonkeyPatch) -> None:
    """Whoever resumes the job finds no marker that it could publish."""
    real = marker_under_way.MarkerUnderWay.prepared

    async def is_ready(*_: Any) -> None:
        pass

    async def prepared(self: Any, claim: Any, stale: Any) -> Any:
        if self._preparing is not None and not self._preparing.done():
            return None
        return await real(self, claim, stale)

    patch.setattr(marker_under_way.MarkerUnderWay, "is_ready", is_ready)
    patch.setattr(marker_under_way.MarkerUnderWay, "prepared", prepared)


def looks_for_the_marker_before_it_lists(patch: pytest.MonkeyPatch) -> None:
    """One that comes while old files are listed, for long, stands for half of the job."""

    async def seen_then(_: Any, seen: Any) -> Any:
        return seen.identity

    patch.setattr(commit, "still_stands", seen_then)


CLAIMED_TWICE = Plan(
    family="gcs",
    old=("old.txt",),
    jobs=(
        JobPlan(name="b", mode="overwrite"),
        JobPlan(name="a", mode="overwrite", at_s=1),
    ),
    faults=(FaultAt("b.driver", 4, "halt", 20.0, "create"),),
)
"""A job withdraws its claim while an older one commits, and claims again."""

BUGS = {
    "looks for the marker before it lists": Bug(looks_for_the_marker_before_it_lists, ("P1",)),
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
