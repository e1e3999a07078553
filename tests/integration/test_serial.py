"""Ten processes write to one local directory: see `serial.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.serial import Line, run_storm, search
from tests.scenes.places import LocalPlace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.integration.processes import Processes

pytestmark = pytest.mark.guarantees("P11")


def test_ten_processes_for_some_seconds(
    processes: Processes, fast: Path, say_what_ran: Callable[[str], None]
) -> None:
    say_what_ran(run_storm(processes, LocalPlace(fast / "out"), fast, 5))


@pytest.mark.slow
def test_ten_processes_for_a_minute(
    processes: Processes, fast: Path, say_what_ran: Callable[[str], None]
) -> None:
    say_what_ran(run_storm(processes, LocalPlace(fast / "out"), fast, 60))


def test_the_checker_sees_a_lost_update() -> None:
    """What is checked above is no tautology."""

    def line(label: str, at: int, files: list[str], **more: object) -> Line:
        return {
            "label": label,
            "state": "committed",
            "files": files,
            "written": dict.fromkeys(files, ""),
            "replaced_count": 0,
            "in_place": [],
            "begun_ns": at,
            "ended_ns": at + 5,
            "decided_ns": at + 1,
            **more,
        }

    first = line("1", 0, ["a/x"], mode="append")
    second = line("2", 2, ["a/y"], mode="overwrite_partitions", replaced_count=1)
    assert search([first, second], (("a/y", "2"),))
    assert search([second, first], (("a/y", "2"),))
    assert not search([first, second], (("a/x", "1"), ("a/y", "2")))
    assert not search([first, {**second, "replaced_count": 0}], (("a/y", "2"),))
    # After each other in time, so only in that order.
    late = {**second, "begun_ns": 10, "ended_ns": 20}
    assert not search([first, {**late, "replaced_count": 0}], (("a/x", "1"), ("a/y", "2")))
    # Of one that nobody was told of what it has replaced is known from what was there.
    untold = {name: late[name] for name in late.keys() - {"replaced_count", "in_place"}}
    assert search([first, untold], (("a/y", "2"),))
    assert not search([first, untold], (("a/x", "1"), ("a/y", "2")))
