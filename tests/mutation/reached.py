"""What the tests do when nothing is changed: which lines each of them reaches, in which time."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import coverage

from tests.mutation.mutants import PACKAGES, ROOT, Mutant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pytest

TEST_MAX_S = 2.0
"""Tests that take more of a processor kill nothing, however busy the machine is by others."""
WAITS_MAX_S = 10.0
"""Nor do those that take longer than this by the clock."""
BEGUN, REACHED = "begun", "reached"
"""The files in which it is written which tests were begun, and what they reach."""
CASES_MAX = 12
"""Of the cases of a test so many are run, spread over all of them."""
ALL_CASES = (
    "tests/mutation/",
    "tests/unit/effects/",
    "tests/unit/protocol/",
    "tests/integration/test_mistakes.py",
)
"""Each of them is quick, and a row of a table of its own."""


@dataclass
class Reached:
    """What tests do.

    Attributes:
        tests: By file and line the tests that reach it.
        seconds: How long each test takes that passed in time.
        asked: The tests that were run.
    """

    tests: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)

    def add(self, other: Reached) -> None:
        """What other tests reach."""
        self.seconds |= other.seconds
        self.asked |= other.asked
        for path, lines in other.tests.items():
            known = self.tests.setdefault(path, {})
            for line, tests in lines.items():
                known.setdefault(line, set()).update(tests)

    def note(self, test: str, seconds: float, seen: coverage.CoverageData) -> None:
        """What a test that has passed reaches, by what was *seen* of all of them."""
        self.seconds[test] = seconds
        seen.set_query_context(test)
        for path in seen.measured_files():
            known = self.tests.setdefault(path, {})
            for line in seen.lines(path) or ():
                known.setdefault(line, set()).add(test)

    def by(self, mutant: Mutant) -> list[str]:
        """The tests that reach a mutant."""
        lines = self.tests.get(str(mutant.path), {})
        found = set[str]().union(*(lines.get(line, ()) for line in mutant.lines))
        return sorted(test for test in found if test in self.seconds)


def some(items: Sequence[pytest.Item]) -> dict[str, pytest.Item]:
    """Of the cases of each test a few, by name."""
    cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    return {
        item.nodeid: item
        for test, of_one in cases.items()
        for item in of_one[:: 1 if test.startswith(ALL_CASES) else -(-len(of_one) // CASES_MAX)]
    }


def watch(tests: Sequence[str], fails: Callable[[str], bool], room: Path) -> int:
    """Run tests in this process, and write what they reach to a file in *room*.

    The first that is too slow ends it: who is torn out of a test may hang for ever after that. One
    that waits in a library, not in Python, is not heard of any more: somebody else must end it. The
    name of each is written to another file when it begins.
    """
    watching = coverage.Coverage(
        data_file=None,
        config_file=False,
        include=[f"{ROOT}/{package}/*" for package in PACKAGES],
    )
    watching.set_option("run:disable_warnings", ["no-data-collected"])
    reached = Reached()

    def write(*_: object) -> None:
        # Of what is watched nothing is asked here: the test that is broken off may hold its lock.
        try:
            (room / REACHED).write_bytes(pickle.dumps(reached))
        finally:
            os._exit(0)  # Whatever test this is in the midst of.

    signal.signal(signal.SIGALRM, write)
    signal.signal(signal.SIGPROF, write)
    begun = (room / BEGUN).open("w", buffering=1)
    watching.start()
    for test in tests:
        if sys.gettrace() is None:
            break  # The test before has traced something itself.
        watching.switch_context(test)
        reached.asked.add(test)
        begun.write(f"{test}\n")
        begin = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, WAITS_MAX_S)
        signal.setitimer(signal.ITIMER_PROF, TEST_MAX_S)
        failed = fails(test)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        took = time.monotonic() - begin
        if not failed:
            reached.note(test, took, watching.get_data())
    write()
    return 0
