"""Simulated runs that mutants must survive, beside the tests: each short, and for something else.

Not collected with the tests, which have these runs already: one by one they say which function
each is for.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.testing.simulation import Plan, draw, run
from tests.protocol.planted.bugs import BUGS
from tests.protocol.planted.measure import measured, plan_of
from tests.protocol.simulation.scenes import plans

if TYPE_CHECKING:
    from collections.abc import Iterator

SEEDS = 20


def directed() -> Iterator[Plan]:
    """What catches a planted bug, what has found a bug, scenes on each kind of store, and more."""
    first = {name: one["first"] for name, one in measured().items()}
    for name, bug in BUGS.items():
        if bug.plan is not None:
            yield bug.plan
        elif first.get(name) is not None:
            yield plan_of(bug, first[name])
    for parameters in islice(plans(), 0, None, 3):
        plan = parameters.values[0]
        assert isinstance(plan, Plan)
        yield plan
    yield from (draw(seed, varied=seed % 2 == 1) for seed in range(SEEDS))


PLANS = [*dict.fromkeys(directed())]
NAMES = [f"{number}-{plan.family}" for number, plan in enumerate(PLANS)]


@pytest.mark.parametrize("plan", PLANS, ids=NAMES)
def test_nothing_is_violated(plan: Plan) -> None:
    assert not run(plan).violations
