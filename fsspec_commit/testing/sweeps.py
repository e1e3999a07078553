"""Sweeps: a case for each store call, of which a test runs all, or a sample chosen by a seed."""

import random
from collections.abc import Iterable, Iterator
from typing import TypeVar

import pytest

T = TypeVar("T")


class Sweep:
    """Chooses the cases that a test runs, and counts them.

    Attributes:
        every: With 1 all cases are run, with N every Nth.
        ran: How many cases were chosen.
        seen: How many cases there were.
    """

    def __init__(self, every: int, *, seed: str) -> None:
        self.every = every
        self.ran = 0
        self.seen = 0
        self._chance = random.Random(seed)

    @property
    def is_whole(self) -> bool:
        """Whether all cases are run."""
        return self.every == 1

    def __call__(self, cases: Iterable[T]) -> Iterator[T]:
        """Choose those of *cases* that are to be run; they may be infinite.

        Yields:
            Every Nth case, beginning with one of the first N; of fewer than N cases, one, since a
            test without cases cannot fail.
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
    """The body of a fixture: a test's sample depends on its name and ``--sweep-seed`` alone.

    With ``--sweep-whole`` all cases are run.

    Yields:
        The sweep. At the end of the run the plugin reports how many cases were run.
    """
    if request.config.getoption("sweep_whole", None):
        every = 1
    seed = request.config.getoption("sweep_seed", 0)
    sweep = Sweep(every, seed=f"{seed} {request.node.nodeid}")
    yield sweep
    request.node.user_properties.append(("sweep", (every, sweep.ran, sweep.seen)))
