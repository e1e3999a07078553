"""The rules about the trash hold in every interleaving; each weaker one fails."""

from __future__ import annotations

from typing import get_args

import pytest

from tests.specs.trash import Weakened, search


def test_the_rules_hold() -> None:
    found = search()
    assert found.problem is None, f"{found.problem}: {' | '.join(found.trace)}"
    assert found.states > 1000, "it explored next to nothing"


@pytest.mark.parametrize("weakened", get_args(Weakened))
def test_each_weaker_rule_fails(weakened: Weakened) -> None:
    found = search(weakened)
    assert found.problem is not None, f"without this rule all is well: {found.states} states"
    assert found.trace
