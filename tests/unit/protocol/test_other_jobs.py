"""Other jobs that are listed together: only what a page shows whole is known of an area."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.protocol import other_jobs
from fsspec_commit.protocol.job_state import JobState
from fsspec_commit.protocol.other_jobs import Met, look_at_areas, those_in_the_way
from fsspec_commit.records.outline import Outline
from fsspec_commit.store import Entry, Token
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from fsspec_commit.effects.confirmed.store import ConfirmedStore
    from fsspec_commit.layout import JobLayout

DESTINATION = DestinationLayout(StorePath("bucket/out"))
JOBS = [DESTINATION.job(f"20261120T140355-{number:016x}") for number in range(12)]
OURS = Outline.of(("day=1",), only_adds=False, reusable_names=False, key_digest=None)


class Pages:
    """Listings by pages in the order of names, and reads that find nothing, as behind a proxy."""

    lists_in_order = True
    in_flight_max = records_at_once_max = 4

    def __init__(self, names: list[str], page_entries: int) -> None:
        self._names = sorted(names)
        self._page_entries = page_entries

    async def list_in_order(
        self, path: StorePath, first: StorePath, last: StorePath
    ) -> tuple[list[StorePath], bool]:
        assert path == DESTINATION.areas
        names = [StorePath(name) for name in self._names if f"{first}/" <= name < f"{last}0"]
        return names[: self._page_entries], len(names) <= self._page_entries

    async def list_at_once(self, path: StorePath) -> list[Entry] | None:
        assert path in {job.area for job in JOBS}
        return None

    async def is_not_found(self, path: StorePath, *, limit_bytes: int) -> bool:
        return bool(path and limit_bytes)


@pytest.mark.guarantees("P11")
@pytest.mark.parametrize("odd", ["-x", "-x/a", "!/job.json", ".tmp/a"])
def test_an_area_that_a_page_has_not_reached_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    """Somebody's own name, which comes before the area that it begins like, ends the page.

    So nothing of the area has been listed: that ``job.json`` is not found says nothing then.
    """

    async def read_state(_: object, other: JobLayout, **__: object) -> JobState:
        return JobState(other, "decided")

    monkeypatch.setattr(other_jobs, "read_state", read_state)
    decided = JOBS[9]
    names = [str(job.spec) for job in JOBS] + [decided.claim("0" * 32), decided.decision]
    before = sum(name < decided.area for name in names)
    store = Pages([*names, f"{decided.area}{odd}"], page_entries=before + 1)

    async def main() -> Met:
        looked_at = cast("ConfirmedStore", store)
        shown = await look_at_areas(looked_at, JOBS, OURS)
        return await those_in_the_way(looked_at, JOBS, OURS, lambda _: True, shown)

    found, _ = run(main())
    assert found.in_the_way == [decided]


class Listed(Pages):
    """Areas that are listed one by one, each with many names."""

    lists_in_order = False

    async def list_at_once(self, path: StorePath) -> list[Entry]:
        job = next(job for job in JOBS if job.area == path)
        names = [job.spec, *(StorePath(f"{path}/{number}") for number in range(100))]
        return [Entry(path=name, size_bytes=1, token=Token("t")) for name in names]


def test_names_of_jobs_that_are_passed_are_forgotten() -> None:
    """Whoever may write there may leave any number of them."""
    store = cast("ConfirmedStore", Listed([], page_entries=0))
    shown, _ = run(look_at_areas(store, JOBS, OURS))
    assert shown.passed == {*JOBS}
    assert not shown.children
