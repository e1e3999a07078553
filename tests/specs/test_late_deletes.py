"""The rules about names that come back hold in the model, and each weaker set of them fails."""

from __future__ import annotations

from typing import get_args

import pytest

from tests.specs.late_deletes import Weakness, violation


def test_what_is_written_under_a_deleted_name_stays() -> None:
    assert violation() is None


@pytest.mark.parametrize("weakness", [one for one in get_args(Weakness) if one])
def test_each_weaker_rule_loses_a_file(weakness: Weakness) -> None:
    way = violation(weakness)
    assert way is not None
    assert "the other job publishes" in " ".join(way)
