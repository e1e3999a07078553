"""Every lie about puts, deletions, listings and writers is found out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.store.liars import (
    CheckingFirst,
    DeletingAnything,
    DeletingNothing,
    IgnoringTokens,
    KeepingDeleted,
    KeepingTombs,
    ListingNoTokens,
    OldTokens,
    Overwriting,
    RefusingTokens,
    StaleChildren,
    StaleTree,
    Stumbling,
    WritingInPlace,
)
from tests.unit.store.probing import found, root

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Store


@pytest.mark.parametrize(
    ("kind", "lies"),
    [
        (Overwriting, {"exclusive_create"}),
        (CheckingFirst, {"exclusive_create"}),
        (Stumbling, {"exclusive_create"}),
        (KeepingTombs, {"exclusive_create"}),
        (IgnoringTokens, {"replace_if_match"}),
        (RefusingTokens, {"replace_if_match"}),
        (DeletingAnything, {"delete_if_match"}),
        (DeletingNothing, {"delete_if_match"}),
        (StaleChildren, {"consistent_listing"}),
        (StaleTree, {"consistent_listing"}),
        (ListingNoTokens, {"consistent_listing"}),
        (KeepingDeleted, {"consistent_listing"}),
        (OldTokens, {"consistent_listing"}),
        (WritingInPlace, {"whole_object_publish"}),
    ],
)
def test_a_lying_store_is_found_out(kind: Callable[[StorePath], Store], lies: set[str]) -> None:
    assert found(kind(root())) == lies
