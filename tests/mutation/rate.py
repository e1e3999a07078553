"""Of how many mutants that were tried how many are killed, and what that says of all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from tests.mutation.survivors import NO_DIFFERENCE, SURVIVORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.mutation.trials import Result

KILLED = {"killed", "hung"}
_Z = 1.96
"""Of a normal distribution: 95 % are within so many standard deviations."""


class Rate(NamedTuple):
    """What has become of mutants that were drawn from all.

    Attributes:
        killed: How many were killed.
        tried: How many were tried, without those that make no difference.
        undecided: Of how many not every test was run that reaches them, for want of time.
    """

    killed: int
    tried: int
    undecided: int = 0

    @property
    def alive(self) -> int:
        """How many every test has let pass, or none reaches."""
        return self.tried - self.killed - self.undecided

    @property
    def most(self) -> float:
        """The greatest part that can be killed of all, where so many of a sample were."""
        return self._bound(self.killed + self.undecided, 1)

    @property
    def least(self) -> float:
        """The smallest part."""
        return self._bound(self.killed, -1)

    def _bound(self, killed: int, sign: int) -> float:
        """Of the interval of 95 % after Wilson."""
        if not self.tried:
            return float(sign > 0)
        part, of = killed / self.tried, self.tried
        middle = part + _Z * _Z / (2 * of)
        width = _Z * math.sqrt(part * (1 - part) / of + _Z * _Z / (4 * of * of))
        return (middle + sign * width) / (1 + _Z * _Z / of)


def counted(results: Mapping[str, Result]) -> dict[str, Result]:
    """What counts of what was drawn: not what makes no difference, nor what is no function."""
    return {
        name: result
        for name, result in results.items()
        if name not in NO_DIFFERENCE and result.verdict != "no function"
    }


def is_undecided(result: Result) -> bool:
    """Whether it survives, and not every test was run that reaches it."""
    return result.verdict == "survived" and result.run < result.of


def rate_of(results: Mapping[str, Result]) -> Rate:
    """The rate over what was drawn and counts."""
    left = counted(results).values()
    killed = sum(result.verdict in KILLED for result in left)
    return Rate(killed, len(left), sum(map(is_undecided, left)))


def known_and_killed(results: Mapping[str, Result]) -> dict[str, Result]:
    """What is said to survive, and does not; with the test that has failed, or did not end."""
    known = NO_DIFFERENCE.keys() | SURVIVORS.keys()
    return {
        name: result
        for name, result in results.items()
        if name in known and result.verdict in KILLED
    }
