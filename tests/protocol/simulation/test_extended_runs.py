"""Plans with what is drawn beside the rest: attempts, earlier versions' jobs, modes; P1 to P11."""

from __future__ import annotations

import pytest

from fsspec_commit.testing.simulation import FAMILIES, search
from tests.protocol.simulation.seeds import parts, seeds_of

BY_DAY = 6
BY_NIGHT = 1_500


@pytest.fixture(params=parts(4))
def seeds(request: pytest.FixtureRequest) -> range:
    return seeds_of(request, by_day=BY_DAY, by_night=BY_NIGHT)


@pytest.mark.parametrize("varied", [False, True], ids=["plain", "varied"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda name: name.replace("hdfs", "dfs"))
def test_p1_to_p11_hold_with_what_is_drawn_beside(
    family: str, seeds: range, *, varied: bool
) -> None:
    failed = search(seeds, family=family, varied=varied, extended=True)
    assert failed is None, failed
