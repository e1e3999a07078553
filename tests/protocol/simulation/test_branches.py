"""P1 to P11 hold where even a tree of two files is listed by its branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.protocol import branches
from fsspec_commit.testing.simulation import FAMILIES, search
from tests.protocol.simulation.seeds import parts, seeds_of

if TYPE_CHECKING:
    from fsspec_commit.layout import StorePath

PAGED = [name for name, family in FAMILIES.items() if family.page_entries is not None]


@pytest.fixture(params=parts(2))
def seeds(request: pytest.FixtureRequest) -> range:
    return seeds_of(request, by_day=40, by_night=1_000)


@pytest.mark.parametrize("varied", [False, True], ids=["plain", "varied"])
@pytest.mark.parametrize("family", PAGED)
def test_p1_to_p11_hold_where_trees_are_listed_by_their_branches(
    family: str, seeds: range, monkeypatch: pytest.MonkeyPatch, *, varied: bool
) -> None:
    opened: list[StorePath] = []
    children = branches.Branches._children

    async def counted(self: branches.Branches, path: StorePath) -> branches._Opened | None:
        found = await children(self, path)
        opened.extend(found.directories if found is not None else ())
        return found

    monkeypatch.setattr(branches, "LONG", 2)
    monkeypatch.setattr(branches, "BRANCH_FILES_MIN", 1)
    monkeypatch.setattr(branches.Branches, "_children", counted)
    failed = search(seeds, family=family, varied=varied)
    assert failed is None, failed
    assert opened
