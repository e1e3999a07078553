"""Simulation: real drivers, resumers, aborters and late tasks over a simulated store.

A :class:`Plan` says everything that a run depends on: the kind of store, the jobs, who else settles
them, what goes wrong and when, and a schedule. :func:`draw` draws one from an integer, :func:`run`
runs it, in virtual time and the same way each time, and checks the promises P1 to P11 at every
change of the store, whenever somebody is told something, and in the end::

    for seed in range(10_000):
        result = run(draw(seed))
        assert not result.violations, shrink(result)

A run that fails is printed with its plan, which runs again as it is, and with a trace; one that a
search has found also with a command that repeats it as it was drawn.
"""

from fsspec_commit.testing.simulation.bucket import Habits
from fsspec_commit.testing.simulation.drawing import draw
from fsspec_commit.testing.simulation.families import FAMILIES, Family
from fsspec_commit.testing.simulation.plan import (
    AttemptPlan,
    CleanerPlan,
    EarlierPlan,
    ForeignPlan,
    HelperPlan,
    JobPlan,
    Plan,
    ReaderPlan,
    SpreadPlan,
)
from fsspec_commit.testing.simulation.process import FaultAt
from fsspec_commit.testing.simulation.running import Run, run
from fsspec_commit.testing.simulation.shrinking import search, shrink
from fsspec_commit.testing.simulation.trace import Trace

__all__ = [
    "FAMILIES",
    "AttemptPlan",
    "CleanerPlan",
    "EarlierPlan",
    "Family",
    "FaultAt",
    "ForeignPlan",
    "Habits",
    "HelperPlan",
    "JobPlan",
    "Plan",
    "ReaderPlan",
    "Run",
    "SpreadPlan",
    "Trace",
    "draw",
    "run",
    "search",
    "shrink",
]
