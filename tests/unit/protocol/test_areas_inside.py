"""Whether there is another destination inside one, where its work areas are listed by pages."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit.protocol.listing import is_used
from fsspec_commit.store import Directory

if TYPE_CHECKING:
    from fsspec_commit.store import Entry

AREAS = StorePath("b/out/inner/_commit")
AREA, EPOCH = (Directory(StorePath(f"{AREAS}/{name}")) for name in ("area", "epoch-1"))


class Ending:
    """The store of a job that ends between two pages of a listing in no order.

    Attributes:
        shown: What each listing shows, one after the other; ``None`` if one page is not all.
    """

    def __init__(self, *shown: list[Directory] | None) -> None:
        self.shown = list(shown)

    async def list_at_once(self, path: StorePath) -> list[Directory] | None:
        assert path == AREAS
        return self.shown.pop(0)

    async def list_area(self, path: StorePath) -> list[Entry | Directory]:
        listed = await self.list_at_once(path)
        assert listed is not None
        return [*listed]


@pytest.mark.parametrize(
    ("walks", "shown", "expected"),
    [
        (True, [[]], False),
        (True, [[AREA]], True),
        (False, [[]], False),
        (False, [[AREA]], True),
        (False, [None, [AREA]], True),
        (False, [None, [], [EPOCH]], True),
        (False, [None, [], []], False),
    ],
)
def test_an_area_is_seen_or_its_epoch(
    *, walks: bool, shown: list[list[Directory] | None], expected: bool
) -> None:
    """Pages may show neither: the epoch comes after its page, and the area goes before its own."""
    store = Ending(*shown)
    job: Any = SimpleNamespace(walks=walks, store=store)
    assert asyncio.run(is_used(job, AREAS)) is expected
    assert not store.shown, "no listing more is made than that takes"
