"""The rules about a void area hold in every interleaving; each weaker one fails."""

from __future__ import annotations

from typing import get_args

import pytest

from tests.specs.void_area import Creating, Weakened, search


@pytest.mark.parametrize("creating", get_args(Creating))
def test_the_rules_hold(creating: Creating) -> None:
    found = search(creating)
    assert found.problem is None, f"{found.problem}: {' | '.join(found.trace)}"
    assert found.states > 100, "it explored next to nothing"


@pytest.mark.parametrize("weakened", get_args(Weakened))
def test_each_weaker_rule_fails(weakened: Weakened) -> None:
    found = search("by handle", weakened)
    assert found.problem is not None, f"without this rule all is well: {found.states} states"
    assert found.trace
