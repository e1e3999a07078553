"""Planted bugs: what was seen beside the listing of the areas counts though it proves nothing."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from fsspec_commit.effects.confirmed.reads import StoreReads
from fsspec_commit.protocol import claim, early_look
from fsspec_commit.protocol.early_look import EarlyLook
from fsspec_commit.protocol.marks import epochs_among
from fsspec_commit.protocol.other_jobs import Met, Shown, look_at_areas, those_in_the_way
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
    real = EarlyLook.renew

    async def those(*asked: Any) -> Met:
        met = await those_in_the_way(*asked)
        return Met(met.in_the_way, frozenset(met.in_the_way))

    async def renew(self: Any, own: Any, *, anyway: bool) -> None:  # the bug
        await real(self, own, anyway=False)

    patch.setattr(claim, "those_in_the_way", those)
    patch.setattr(EarlyLook, "renew", renew)


def counts_a_look_after_a_wait(patch: pytest.MonkeyPatch) -> None:
    real = EarlyLook.settle

    async def settle(self: Any, *, met_none: bool) -> None:  # the bug
        await real(self, met_none=True)

    patch.setattr(EarlyLook, "settle", settle)


def counts_a_renewed_look_beside_one_that_ended(patch: pytest.MonkeyPatch) -> None:
    """A job that only the second listing shows may end while the look goes on again."""
    real = claim._meet

    async def meet(job: Any, own: Any, others: Any, shown: Any) -> Met:
        met = await real(job, own, others, shown)
        return Met(met.in_the_way, met.doubted - shown.without_spec)

    patch.setattr(claim, "_meet", meet)


def takes_a_listing_for_the_end_of_a_job(patch: pytest.MonkeyPatch) -> None:
    """Somebody else may have answered it, and the job may end when the look has been begun."""

    async def over_among(_: Any, others: Any) -> frozenset[Any]:
        return frozenset(others)

    patch.setattr(claim, "over_among", over_among)


def looks_at_areas_beside_its_claim(patch: pytest.MonkeyPatch) -> None:
    """Who shows no claim then may claim and list before ours stands: neither sees the other."""
    shown_before: ContextVar[Shown] = ContextVar("shown_before")
    real = claim._stand

    async def stand(job: Any, own: Any) -> Any:
        listed = await job.store.list_at_once(job.layout.destination.areas) or []
        others = claim._others(job, listed)
        shown_before.set(await look_at_areas(job.store, others, own.outline))
        return await real(job, own)

    async def look(store: Any, others: Any, mine: Any) -> Shown:
        before = shown_before.get()
        more = await look_at_areas(
            store, [one for one in others if one not in before.passed | before.without_spec], mine
        )
        return Shown(
            before.passed | more.passed,
            before.without_spec | more.without_spec,
            before.children | more.children,
        )

    patch.setattr(claim, "_stand", stand)
    patch.setattr(claim, "look_at_areas", look)


def looks_at_no_area_that_was_not_listed_first(patch: pytest.MonkeyPatch) -> None:
    """A job that has begun since may stand in the way."""
    listed_first: ContextVar[set[Any]] = ContextVar("listed_first")
    real_all, real = claim._meet_all, claim._meet

    async def meet_all(job: Any, own: Any, early: Any) -> Any:
        listed_first.set({*claim._others(job, early.listed_first)})
        return await real_all(job, own, early)

    async def meet(job: Any, own: Any, others: Any, shown: Any) -> Met:
        return await real(job, own, [one for one in others if one in listed_first.get()], shown)

    patch.setattr(claim, "_meet_all", meet_all)
    patch.setattr(claim, "_meet", meet)


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


def its_key_counts_late(*faults: FaultAt) -> Plan:
    """Two jobs with one key; the first leaves its epoch long before its key counts."""
    return Plan(
        family="gcs",
        jobs=tuple(
            JobPlan(name=name, mode="append", key="k", success="none", at_s=at_s)
            for name, at_s in (("a", 0.0), ("b", 10.0))
        ),
        faults=(FaultAt("a.driver", 5, "hang", verb="create"), *faults),
    )


ENDS_BEFORE_ITS_AREA_IS_LISTED = its_key_counts_late(
    FaultAt("b.driver", 2, "hang", verb="list_children")
)
ENDS_BEFORE_THE_SECOND_LISTING = its_key_counts_late(
    FaultAt("b.driver", 3, "hang", verb="list_children")
)
ENDS_BESIDE_A_RENEWED_LOOK = Plan(
    family="gcs",
    jobs=tuple(
        JobPlan(name=name, mode="append", key=key, success="none", at_s=at_s)
        for name, key, at_s in (("b", "k", 0.0), ("c", None, 2.0), ("a", "k", 15.0))
    ),
    faults=(
        FaultAt("b.driver", 2, "hang", verb="create"),
        FaultAt("b.driver", 3, "hang", verb="list_children"),
        FaultAt("a.driver", 1, "halt", 40.0, verb="rename"),
    ),
)
"""One job ends between the two listings, so another looks again; the third ends beside that."""
CLAIMS_BEFORE_THE_OTHER_CLAIM_STANDS = Plan(
    family="gcs",
    old=("old.txt",),
    jobs=(
        JobPlan(name="a", mode="overwrite"),
        JobPlan(name="b", mode="overwrite", success="none", at_s=1.0),
    ),
    faults=(
        FaultAt("a.attempt0", 1, "halt", 10.0, verb="finish"),
        FaultAt("a.driver", 1, "halt", 40.0, verb="rename"),
        FaultAt("b.driver", 2, "hang", verb="create"),
    ),
)
"""It had no claim yet when the other looked at its area; then it sees none, and decides."""

BUGS = {
    "asks all at once": Bug(asks_all_at_once, ("P9", "P11"), plan=claims_late()),
    "takes the list that it wrote ahead": Bug(takes_the_list_that_it_wrote_ahead),
    "counts a look whatever epochs have come": Bug(
        counts_a_look_whatever_epochs_have_come, ("P9", "P11"), plan=BEGUN_AND_OVER
    ),
    "counts a look whatever areas are gone": Bug(
        counts_a_look_whatever_areas_are_gone, ("P7",), plan=ENDS_BEFORE_THE_SECOND_LISTING
    ),
    "counts a look beside one that was over": Bug(
        counts_a_look_beside_one_that_was_over, ("P7",), plan=ENDS_BEFORE_ITS_AREA_IS_LISTED
    ),
    "counts a look after a wait": Bug(
        counts_a_look_after_a_wait, ("P7",), plan=its_key_counts_late()
    ),
    "counts a renewed look beside one that ended": Bug(
        counts_a_renewed_look_beside_one_that_ended, ("P7",), plan=ENDS_BESIDE_A_RENEWED_LOOK
    ),
    "takes a listing for the end of a job": Bug(takes_a_listing_for_the_end_of_a_job),
    "looks at areas beside its claim": Bug(
        looks_at_areas_beside_its_claim, ("P9", "P11"), plan=CLAIMS_BEFORE_THE_OTHER_CLAIM_STANDS
    ),
    "looks at no area that was not listed first": Bug(
        looks_at_no_area_that_was_not_listed_first,
        ("P9", "P11"),
        plan=claims_late(FaultAt("a.driver", 1, "halt", 40.0, verb="rename")),
    ),
    "lists first beside the look": Bug(lists_first_beside_the_look),
    "counts a look beside listings by pages": Bug(counts_a_look_beside_listings_by_pages),
    "passes jobs by listings by pages": Bug(passes_jobs_by_listings_by_pages),
}
