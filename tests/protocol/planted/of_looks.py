"""Planted bugs: what was seen beside the listing of the areas counts though it proves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsspec_commit.effects.confirmed.reads import StoreReads
from fsspec_commit.protocol import claim, early_look
from fsspec_commit.protocol.early_look import EarlyLook
from fsspec_commit.protocol.marks import epochs_among
from fsspec_commit.protocol.other_jobs import Met, those_in_the_way
from fsspec_commit.protocol.streamed_list import ListWriter
from fsspec_commit.testing.simulation import FaultAt, JobPlan, Plan
from tests.protocol.planted.bug import Bug

if TYPE_CHECKING:
    import pytest

    from fsspec_commit.store import Directory, Entry, Unusable


def counts_a_look_whatever_epochs_have_come(patch: pytest.MonkeyPatch) -> None:
    """A job that began after the first listing may be over before the second one."""
    patch.setattr(early_look, "epochs_among", lambda *_: ())


def counts_a_look_whatever_areas_are_gone(patch: pytest.MonkeyPatch) -> None:
    """A job whose epoch stood at the first listing may leave its marker, and end, after that."""
    real = early_look.is_steady

    def is_steady(before: Any, after: Any, layout: Any) -> bool:
        epochs: list[Entry | Directory | Unusable] = [*epochs_among(before, layout)]
        return real(epochs, after, layout)

    patch.setattr(early_look, "is_steady", is_steady)


def counts_a_look_beside_one_that_was_over(patch: pytest.MonkeyPatch) -> None:
    async def those(*asked: Any) -> Met:
        met = await those_in_the_way(*asked)
        return Met(met.in_the_way, all_are_passed=not met.in_the_way)

    patch.setattr(claim, "those_in_the_way", those)


def counts_a_look_after_a_wait(patch: pytest.MonkeyPatch) -> None:
    real = EarlyLook.settle

    async def settle(self: Any, *, met_none: bool) -> None:  # the bug
        await real(self, met_none=True)

    patch.setattr(EarlyLook, "settle", settle)


def lists_first_beside_the_look(patch: pytest.MonkeyPatch) -> None:
    """A job may end between the look and that listing, and neither listing shows anything of it."""
    real_list, real_begin = EarlyLook.list_first, EarlyLook.begin

    async def begin(self: Any, claim: Any) -> None:
        for look in self._looks:
            look.begin(claim)
        real_list(self, claim)
        taken, self._looks = self._looks, []
        await real_begin(self, claim)
        self._looks = taken

    patch.setattr(EarlyLook, "list_first", lambda *_: None)
    patch.setattr(EarlyLook, "begin", begin)


def asks_all_at_once(patch: pytest.MonkeyPatch) -> None:
    """Claim, listing and look in one wave: another job may decide before the claim stands."""
    real_list, real_begin = EarlyLook.list_first, EarlyLook.begin

    def list_first(self: Any, claim: Any) -> None:
        real_list(self, claim)
        for look in self._looks:
            look.begin(claim)

    async def begin(self: Any, claim: Any) -> None:
        taken, self._looks = self._looks, []
        await real_begin(self, claim)
        self._looks = taken

    async def list_again(self: Any) -> Any:
        self._after = self._before
        return self._before or []

    patch.setattr(EarlyLook, "list_first", list_first)
    patch.setattr(EarlyLook, "begin", begin)
    patch.setattr(EarlyLook, "list_again", list_again)


def counts_a_look_beside_listings_by_pages(patch: pytest.MonkeyPatch) -> None:
    """Others act between the pages of a listing, however short it is."""

    async def listed(self: Any) -> Any:
        return await self._job.store.list_area(self._job.layout.destination.areas)

    patch.setattr(EarlyLook, "_list_at_once", listed)


def passes_jobs_by_listings_by_pages(patch: pytest.MonkeyPatch) -> None:
    """A page of an area may show ``job.json``, and the next one nothing, for the job is over."""
    real = StoreReads.list_at_once

    async def listed(self: Any, path: Any) -> Any:
        found = await real(self, path)
        return await self.list_area(path) if found is None else found

    patch.setattr(StoreReads, "list_at_once", listed)


def takes_the_list_that_it_wrote_ahead(patch: pytest.MonkeyPatch) -> None:
    """Whatever the look has found: the list is of a moment when others could still change that."""

    def adopt(self: Any, data: bytes) -> bool:
        self._held[:] = data
        self._count = data.count(b"\n")
        self.short.data = data
        return True

    patch.setattr(ListWriter, "adopt", adopt)


def claims_late(*faults: FaultAt) -> Plan:
    """A claim stands half a minute after its job has first listed the areas; another job decides.

    That one publishes when the first has looked at the destination.
    """
    return Plan(
        family="gcs",
        old=("old.txt",),
        jobs=(
            JobPlan(name="b", mode="overwrite", success="none"),
            JobPlan(name="a", mode="overwrite", at_s=5.0),
        ),
        faults=(FaultAt("b.driver", 2, "hang", verb="create"), *faults),
    )


BEGUN_AND_OVER = claims_late(
    FaultAt("b.driver", 2, "hang", verb="list_children"),
    FaultAt("a.driver", 1, "halt", 40.0, verb="rename"),
)
"""The other job is over before the areas are listed again: only its epoch tells of it."""
ITS_KEY_COUNTS_LATE = Plan(
    family="gcs",
    jobs=tuple(
        JobPlan(name=name, mode="append", key="k", success="none", at_s=at_s)
        for name, at_s in (("a", 0.0), ("b", 10.0))
    ),
    faults=(
        FaultAt("a.driver", 5, "hang", verb="create"),
        FaultAt("b.driver", 2, "hang", verb="list_children"),
    ),
)
"""A job whose epoch both listings show lets its key count, and ends, between the two."""

BUGS = {
    "asks all at once": Bug(asks_all_at_once, ("P9", "P11"), plan=claims_late()),
    "takes the list that it wrote ahead": Bug(takes_the_list_that_it_wrote_ahead),
    "counts a look whatever epochs have come": Bug(
        counts_a_look_whatever_epochs_have_come, ("P9", "P11"), plan=BEGUN_AND_OVER
    ),
    "counts a look whatever areas are gone": Bug(
        counts_a_look_whatever_areas_are_gone, ("P7",), plan=ITS_KEY_COUNTS_LATE
    ),
    "counts a look beside one that was over": Bug(counts_a_look_beside_one_that_was_over),
    "counts a look after a wait": Bug(counts_a_look_after_a_wait),
    "lists first beside the look": Bug(lists_first_beside_the_look),
    "counts a look beside listings by pages": Bug(counts_a_look_beside_listings_by_pages),
    "passes jobs by listings by pages": Bug(passes_jobs_by_listings_by_pages),
}
