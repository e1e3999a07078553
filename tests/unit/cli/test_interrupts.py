"""Presses of Ctrl-C that come too fast, or while the command says what stands, are not heard."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.cli import interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.unit.cli.conftest import Ran

pytestmark = pytest.mark.usefixtures("ctrl_c")


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Give the process its own Ctrl-C for the test, and back whatever it had."""
    begun_with = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler),
        signal.SIGTERM: signal.signal(signal.SIGTERM, signal.SIG_DFL),
        signal.SIGHUP: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    }
    yield
    for number, handler in begun_with.items():
        signal.signal(number, handler)


def is_raised(by: int = signal.SIGINT) -> bool:
    try:
        signal.raise_signal(by)
    except KeyboardInterrupt:
        return True
    return False


def test_the_second_stops_and_has_time_to_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    at_s = iter((100.0, 100.1, 100.3, 100.4, 102.2, 102.4))
    monkeypatch.setattr(time, "monotonic", lambda: next(at_s))
    interrupts.catch_interrupts()
    assert [is_raised() for _ in range(6)] == [
        True,
        False,  # the same press
        True,
        False,  # it is stopping
        False,
        True,  # it does not stop
    ]


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGHUP])
def test_what_ends_a_process_is_taken_for_ctrl_c(by: int) -> None:
    interrupts.catch_interrupts()
    assert is_raised(by)
    assert not is_raised(signal.SIGINT)


def test_nohup_keeps_a_command_at_work() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interrupts.catch_interrupts()
    assert not is_raised(signal.SIGHUP)
    assert is_raised()


def test_what_is_ignored_or_handled_stays_so() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    told = []
    signal.signal(signal.SIGTERM, lambda number, _: told.append(number))
    interrupts.catch_interrupts()
    assert not is_raised(signal.SIGINT)
    assert not is_raised(signal.SIGTERM)
    assert told == [signal.SIGTERM]


def test_a_handler_need_not_be_hashable(command: Callable[..., Ran], tmp_path: Path) -> None:
    """The command ended with 1, and without having done anything."""

    @dataclass
    class Handler:
        times: int = 0

        def __call__(self, _number: int, _frame: object) -> None:
            self.times += 1

    handler = Handler()
    signal.signal(signal.SIGTERM, handler)
    assert command("jobs", tmp_path).status == 0
    signal.raise_signal(signal.SIGTERM)
    assert handler.times == 1


def test_a_handler_that_python_has_not_set_stays_where_it_is(
    command: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in R's process: it cannot be given back, and TypeError took the status's place."""
    monkeypatch.setattr(signal, "getsignal", lambda _number: None)
    assert command("jobs", tmp_path).status == 0
    monkeypatch.undo()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_nothing_interrupts_after_a_run_that_has_ended() -> None:
    interrupts.catch_interrupts()
    interrupts.ignore_interrupts()
    assert not is_raised(signal.SIGINT)
    assert not is_raised(signal.SIGTERM)
    assert not is_raised(signal.SIGHUP)


def test_a_command_that_is_run_in_a_thread_has_its_status(
    command: Callable[..., Ran], tmp_path: Path
) -> None:
    """It raised ValueError when all was done: only the main thread may give Ctrl-C back."""
    with ThreadPoolExecutor() as threads:
        assert threads.submit(command, "jobs", tmp_path).result().status == 0


def test_a_process_that_runs_a_command_has_its_signals_back(
    command: Callable[..., Ran], tmp_path: Path
) -> None:
    before = [signal.getsignal(number) for number in interrupts.SIGNALS]
    assert command("jobs", tmp_path).status == 0
    assert [signal.getsignal(number) for number in interrupts.SIGNALS] == before
