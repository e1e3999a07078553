"""What is learnt of tests before mutants are tried: what each reaches, and that a slow one ends."""

from __future__ import annotations

import ctypes
import os
import pickle
import time
from typing import TYPE_CHECKING, Any, cast

import coverage
import pytest

from fsspec_commit.protocol import file_names
from tests.mutation import reached, trials
from tests.mutation.forks import Fork
from tests.mutation.trials import Trials

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tests.mutation.mutants import Mutant

PATIENCE_S = 60


def learn(room: Path, tests: Mapping[str, Callable[[], object]]) -> reached.Reached:
    """Have *tests* watched, each of which passes if it ends."""

    def fails(test: str) -> bool:
        tests[test]()
        return False

    fork = Fork(lambda _: reached.watch([*tests], fails, room))
    try:
        deadline = time.monotonic() + PATIENCE_S
        while os.waitpid(fork.pid, os.WNOHANG) == (0, 0):
            assert time.monotonic() < deadline, "it hangs"
            time.sleep(0.01)
    finally:
        fork.end()
    found: reached.Reached = pickle.loads((room / "reached").read_bytes())
    return found


def reach() -> None:
    assert repr(file_names.FileNames()) == "<FileNames of 0 files>"


def work_on() -> None:
    while True:
        pass


def work_on_with_the_lock_of_the_watch() -> None:
    """As where a signal interrupts it just when it notes a line."""
    watching = coverage.Coverage.current()
    assert watching is not None
    assert watching._collector is not None
    watching._collector.data_lock.acquire()  # type: ignore[union-attr]  # it has one
    work_on()


def test_one_that_is_too_slow_ends_it_and_what_came_before_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its deadline once came in the middle of the watch's own work, and it hung for ever."""
    monkeypatch.setattr(reached, "TEST_MAX_S", 0.2)
    for slow in (work_on, work_on_with_the_lock_of_the_watch):
        learnt = learn(tmp_path, {"quick": reach, "slow": slow, "never asked": reach})
        assert learnt.asked == {"quick", "slow"}
        assert learnt.seconds.keys() == {"quick"}
        assert learnt.tests[file_names.__file__]


def test_one_that_waits_is_not_too_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that is busy by others all tests take long by the clock."""
    monkeypatch.setattr(reached, "TEST_MAX_S", 0.2)
    waiting = {"waits": lambda: time.sleep(0.5), "reaches": reach}
    assert learn(tmp_path, waiting).seconds.keys() == waiting.keys()
    monkeypatch.setattr(reached, "WAITS_MAX_S", 0.2)
    assert learn(tmp_path, waiting).asked == {"waits"}


def wait_in_c() -> None:
    """As for the threads of a library that does not have them in a fork: no signal is heard."""
    lock = ctypes.create_string_buffer(64)
    for _ in range(2):
        ctypes.CDLL(None).pthread_mutex_lock(lock)


@pytest.mark.parametrize("end", [wait_in_c, lambda: os._exit(1)], ids=["hangs", "exits"])
def test_one_that_is_never_heard_of_again_costs_no_other(
    monkeypatch: pytest.MonkeyPatch, end: Callable[[], object]
) -> None:
    """polars hangs in a fork of a process that has used it. It took each night's time to try."""
    tests = {"quick": reach, "ends": end, "reaches": reach}

    def fails(_: Trials, test: str) -> bool:
        tests[test]()
        return False

    # In a fork of a large process, on a slow machine, those that are quick may take seconds, too.
    monkeypatch.setattr(trials, "SILENT_MAX_S", 10)
    monkeypatch.setattr(Trials, "_fails", fails)
    learning = Trials([], lambda *_: None, workers=1, within_s=0, learns_s=60, mutant_max_s=0)
    learning._items = cast("dict[str, Any]", tests)
    learning._learn()
    assert learning._reached.asked == tests.keys()
    assert learning._reached.seconds.keys() == {"quick", "reaches"}


def test_a_mutant_that_takes_all_memory_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of which pytest itself needs some, so that it raises; that ended the whole night's part."""

    def fails(*_: object) -> bool:
        raise MemoryError

    monkeypatch.setattr(trials, "live_function", lambda _: reach)
    monkeypatch.setattr(trials, "code_of", lambda _: reach.__code__)
    monkeypatch.setattr(trials, "end_after", lambda _: None)
    monkeypatch.setattr(Trials, "_fails", fails)
    trying = Trials([], lambda *_: None, workers=1, within_s=0, learns_s=0, mutant_max_s=1)
    trying._reached.seconds["takes all"] = 0
    assert trying._try(cast("Mutant", None), ["takes all"], tmp_path) == trials._KILLED
