"""Looks for a planted bug in simulated runs, until one of them catches it or the time is over."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, NamedTuple

from fsspec_commit.testing.simulation import run
from tests.protocol.planted.measure import broken

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsspec_commit.testing.simulation import Plan
    from tests.protocol.planted.bug import Bug

WITHIN_S = 60.0
"""How long the simulator may take to catch a planted bug, in seconds of processor time.

What this process has worked is what a search costs. By the clock it would also be charged for
whatever else the machine does meanwhile, and on a busy one bugs would be missed for that alone.
"""


class Search(NamedTuple):
    """What came of a search for one bug.

    Attributes:
        is_caught: Whether a run has broken a promise that the bug is to break, in time.
        tried: How many plans were run.
        why_not: Why the bug is not caught; empty if it is.
    """

    is_caught: bool
    tried: int
    why_not: str = ""


def search_for(bug: Bug, plans: Iterable[Plan], *, within_s: float = math.inf) -> Search:
    """Run *plans* until one catches the bug, which somebody has planted.

    Args:
        bug: What is looked for.
        plans: What is run, in this order.
        within_s: After so many seconds of processor time no further plan is run, and a run that
            ends later has not caught the bug.
    """
    tried, begin = 0, time.process_time()
    for plan in plans:
        found = broken(bug, run(plan).violations)
        tried += 1
        if time.process_time() - begin > within_s:
            why_not = f"not caught within {within_s:g} s of processor time; runs tried: {tried}"
            return Search(is_caught=False, tried=tried, why_not=why_not)
        if found:
            return Search(is_caught=True, tried=tried)
    return Search(is_caught=False, tried=tried, why_not=f"not caught by any of {tried} runs")
