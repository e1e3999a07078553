"""Mutants are tried in one process that has collected the tests: each in a fork, till one fails.

First the tests are run as they are, in forks as well, to learn which lines each of them reaches and
how long it takes. What is not quick, or fails there, is left out.
"""

from __future__ import annotations

import os
import pickle
import re
import signal
import time
from collections import Counter, defaultdict
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import pytest
from hypothesis import Phase, settings

from fsspec_commit.testing.simulation import shrink
from tests.mutation.forks import Fork, end_after
from tests.mutation.mutants import Mutant, code_of, live_function
from tests.mutation.reached import BEGUN, REACHED, Reached, some, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

Verdict: TypeAlias = Literal["killed", "hung", "survived", "unreached", "no function"]
HUNG_MIN_S = 10.0
HUNG_TIMES = 30
"""How much longer than alone a test takes before it is called hung."""
WAITS_TIMES = 5
"""How much longer than it may work a mutant may take by the clock."""
SILENT_MAX_S = 60.0
"""For so long a test may be learnt from: one that hears its own limit has long been ended."""
PARTS = 15
"""Into how many forks they are divided for each worker, each with some of all of them."""
_ANYWHERE = ""
_SURVIVED, _KILLED, _NO_FUNCTION = 0, 1, 3


class Result(NamedTuple):
    """What became of a mutant.

    Attributes:
        verdict: Whether a test has failed, or did not end.
        by: That test.
        run: How many tests were run.
        of: How many tests reach what was changed, or may: of some that is not known.
    """

    verdict: Verdict
    by: str | None = None
    run: int = 0
    of: int = 0


class _Failures:
    """Counts the tests that fail."""

    count = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.count += report.failed


class Trials:
    """A plugin that runs mutants instead of tests.

    Args:
        mutants: What is tried, in this order.
        done: Told of each.
        workers: How many forks there are at once.
        within_s: No mutant is begun after this time, once it is known what the tests reach.
        learns_s: After this time no more tests are begun to learn what they reach; others are left
            out, and what survives counts as undecided.
        mutant_max_s: No test of a mutant is begun after so much time of a processor.
        learnt: A file that keeps what the tests reach, as long as no source changes.
    """

    def __init__(
        self,
        mutants: Sequence[Mutant],
        done: Callable[[Mutant, Result], None],
        *,
        workers: int,
        within_s: float,
        learns_s: float,
        mutant_max_s: float,
        learnt: Path | None = None,
    ) -> None:
        self._mutants, self._done, self._workers = mutants, done, workers
        self._within_s, self._learns_s, self._mutant_max_s = within_s, learns_s, mutant_max_s
        self._learnt = learnt
        self._items: dict[str, pytest.Item] = {}
        self._reached = Reached()
        self._unknown = 0  # Tests for which there was no time.
        self._kills: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._trying: dict[int, tuple[Fork, Mutant, list[str]]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        begin = time.monotonic()
        if session.testsfailed:
            raise session.Interrupted("not all tests can be collected: see which by pytest itself")
        self._items = some(session.items)
        _make_nothing_of_failures()
        self._learn()
        known = f"{len(self._items.keys() & self._reached.seconds)} of {len(self._items)} tests"
        print(f"{known}, {time.monotonic() - begin:.0f} s", flush=True)
        begin = time.monotonic()
        for mutant in self._mutants:
            if time.monotonic() - begin > self._within_s:
                break
            tests = self._in_order(mutant)
            if not tests:
                verdict: Verdict = "survived" if self._unknown else "unreached"
                self._done(mutant, Result(verdict, None, 0, self._unknown))
                continue
            if len(self._trying) == self._workers:
                self._wait()
            fork = Fork(partial(self._try, mutant, tests))
            self._trying[fork.pid] = (fork, mutant, tests)
        while self._trying:
            self._wait()
        return True

    def _learn(self) -> None:
        """What each test reaches."""
        begin = time.monotonic()
        if self._learnt is not None and self._learnt.exists():
            self._reached = pickle.loads(self._learnt.read_bytes())
        new = [test for test in self._items if test not in self._reached.asked]
        parts = [new[number :: PARTS * self._workers] for number in range(PARTS * self._workers)]
        forks: dict[int, tuple[Fork, list[str]]] = {}
        while parts or forks:
            if parts and time.monotonic() - begin > self._learns_s:
                self._unknown += sum(map(len, parts))
                parts.clear()
                continue
            if parts and len(forks) < self._workers:
                part = parts.pop()
                fork = Fork(partial(watch, part, self._fails))
                forks[fork.pid] = fork, part
                continue
            fork, part = forks.pop(_first_that_ends([one for one, _ in forks.values()]))
            parts += self._learnt_from(fork, part)
            if self._learnt is not None:
                self._learnt.write_bytes(pickle.dumps(self._reached))

    def _learnt_from(self, fork: Fork, part: Sequence[str]) -> list[list[str]]:
        """Note what the tests reach that a fork has run; returns those that are to be run yet.

        Of one that has ended the process, or was stuck, nothing is known; what was known of those
        before it is lost.
        """
        reached, begun = fork.room / REACHED, fork.room / BEGUN
        if reached.exists():
            self._reached.add(pickle.loads(reached.read_bytes()))
        else:
            last = begun.read_text().splitlines()[-1:] if begun.exists() else []
            self._reached.asked.update(last or part)
        fork.end()
        left = [test for test in part if test not in self._reached.asked]
        return [left] if left else []

    def _in_order(self, mutant: Mutant) -> list[str]:
        """The tests that reach it: first what is quick, and is named so or has killed near it."""
        near = self._kills[f"{mutant.module}:{mutant.function}"], self._kills[mutant.module]
        names = {word for word in _words(f"{mutant.path.stem} {mutant.function}") if len(word) > 3}

        def cost(test: str) -> float:
            killed = 5 * near[0][test] + near[1][test] + self._kills[_ANYWHERE][test]
            killed += 5 * len(names & _words(test))
            return (self._reached.seconds[test] + 0.01) / (1 + killed)

        return sorted((test for test in self._reached.by(mutant) if test in self._items), key=cost)

    def _try(self, mutant: Mutant, tests: Sequence[str], room: Path) -> int:
        """Run the tests over a mutant till one fails."""
        begin, worked_s = time.monotonic(), time.process_time()
        try:
            live_function(mutant).__code__ = code_of(mutant)
        except (ValueError, SyntaxError):
            return _NO_FUNCTION
        with (room / "run").open("w", buffering=1) as run:
            for test in tests:
                waited_s = (time.monotonic() - begin) / WAITS_TIMES
                if max(time.process_time() - worked_s, waited_s) > self._mutant_max_s:
                    break
                run.write(f"{test}\n")
                end_after(max(HUNG_MIN_S, HUNG_TIMES * self._reached.seconds[test]))
                try:
                    # On a busy machine a test may fail for want of time: once, and of any mutant.
                    if self._fails(test) and self._fails(test):
                        return _KILLED
                except MemoryError:  # Pytest had none left, either.
                    return _KILLED
        return _SURVIVED

    def _fails(self, test: str) -> bool:
        """Run a test; whether it failed."""
        item, failures = self._items[test], _Failures()
        item.config.pluginmanager.register(failures)
        item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
        item.config.pluginmanager.unregister(failures)
        return failures.count > 0

    def _wait(self) -> None:
        """For one of those that are tried."""
        pid, status = os.wait()
        fork, mutant, tests = self._trying.pop(pid)
        known = fork.room / "run"
        run = known.read_text().splitlines() if known.exists() else []
        fork.end()
        code = os.waitstatus_to_exitcode(status)
        if code == _NO_FUNCTION:
            self._done(mutant, Result("no function"))
        elif code == _SURVIVED:
            self._done(mutant, Result("survived", None, len(run), len(tests) + self._unknown))
        else:
            for place in (_ANYWHERE, mutant.module, f"{mutant.module}:{mutant.function}"):
                self._kills[place][run[-1]] += 1
            verdict: Verdict = "hung" if code == -signal.SIGALRM else "killed"
            self._done(mutant, Result(verdict, run[-1], len(run), len(tests)))


def _first_that_ends(forks: Sequence[Fork]) -> int:
    """The process id of one of *forks* that has ended; what runs a test for too long is ended."""
    while True:
        for fork in forks:
            if os.waitpid(fork.pid, os.WNOHANG) != (0, 0):
                return fork.pid
            with suppress(FileNotFoundError):  # It has begun no test yet.
                if time.time() - (fork.room / BEGUN).stat().st_mtime > SILENT_MAX_S:
                    os.kill(fork.pid, signal.SIGKILL)
        time.sleep(0.05)


@cache
def _words(name: str) -> frozenset[str]:
    """The words of names of tests and functions, without what makes one of them plural."""
    words = re.findall(r"[a-z]+", re.sub("([A-Z])", r" \1", name).lower())
    return frozenset(word.removesuffix("s") for word in words)


def _make_nothing_of_failures() -> None:
    """Nobody reads which is the smallest example, or plan, that fails: it need not be found."""
    name, phases = "mutants", (Phase.explicit, Phase.generate)
    settings.register_profile(name, settings.get_profile("ci"), max_examples=30, phases=phases)
    settings.load_profile(name)
    shrink.__code__ = (lambda failed, *_, **__: failed).__code__
