"""What runs are about: in some thousand plans that are drawn, everything occurs that must.

Plans alone: what is drawn and never occurs would be searched by nobody. What a run comes to is for
the other tests.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from fsspec_commit.testing.simulation import draw

if TYPE_CHECKING:
    from fsspec_commit.testing.simulation import JobPlan, Plan

SEEDS = range(600)


@cache
def drawn() -> tuple[Plan, ...]:
    """Some of what the random runs draw, in each of their ways."""
    ways: tuple[dict[str, bool], ...] = (
        {},
        {"varied": True},
        {"sliced": True},
        {"varied": True, "sliced": True},
        {"extended": True},
        {"varied": True, "extended": True},
    )
    return tuple(draw(seed, **way) for way in ways for seed in SEEDS)


def jobs() -> list[JobPlan]:
    return [job for plan in drawn() for job in plan.jobs]


def test_tasks_have_one_to_four_attempts() -> None:
    found = Counter(
        count for job in jobs() for count in Counter(one.task for one in job.attempts).values()
    )
    assert found.keys() == {1, 2, 3, 4}
    assert min(found.values()) > 100, found
