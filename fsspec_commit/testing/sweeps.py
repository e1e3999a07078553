"""Sweeps: a case for each store call, of which a test runs all, or some that a seed chooses."""

import random
from collections.abc import Iterable, Iterator
from typing import TypeVar

import pytest

T = TypeVar("T")


class Sweep:
    """Chooses the cases that a test runs, and counts them.

    Attributes:
        every: All are run where it is 1, else every so-many-th.
        ran: How many were chosen.
        seen: Of how many.
    """

    def __init__(self, every: int, *, seed: str) -> None:
        self.every = every
        self.ran = 0
        self.seen = 0
        self._chance = random.Random(seed)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out."""
        return self.every == 1

    def __call__(self, cases: Iterable[T]) -> Iterator[T]:
        """Those of *cases* that are to be run; they may be without end.

        Yields:
            Every so-many-th, from one of the first on. Of fewer than that, one: a test that tries
            nothing cannot fail.
        """
        first = self._chance.randrange(self.every)
        few: list[T] = []
        for number, case in enumerate(cases):
            self.seen += 1
            if number % self.every == first:
                few.clear()
                self.ran += 1
                yield case
            elif number < first:
                few.append(case)
        if few:
            self.ran += 1
            yield self._chance.choice(few)


def sweep_of(request: pytest.FixtureRequest, every: int) -> Iterator[Sweep]:
    """The body of a fixture: what a test chooses depends on its name and ``--sweep-seed`` alone.

    With ``--sweep-whole`` nothing is left out.

    Yields:
        What to choose with. The plugin says at the end of the run how many cases were run.
    """
    if request.config.getoption("sweep_whole", None):
        every = 1
    seed = request.config.getoption("sweep_seed", 0)
    sweep = Sweep(every, seed=f"{seed} {request.node.nodeid}")
    yield sweep
    request.node.user_properties.append(("sweep", (every, sweep.ran, sweep.seen)))
