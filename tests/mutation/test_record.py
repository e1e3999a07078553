"""What is recorded of a measurement: when, of how many, and who is alive, each with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation import record
from tests.mutation.rate import Rate
from tests.mutation.record import Measurement, measured, measurement_of, write
from tests.mutation.survivors import KILLED_SINCE, NO_DIFFERENCE, SURVIVORS
from tests.mutation.trials import Result

PAGE = Path(__file__).parents[2] / "docs/how-it-is-tested.md"
ONLY_COUNTED = "2026-11-24"
"""When it was measured before names were recorded."""
SAID = f"those of {ONLY_COUNTED} are not known by name"
KNOWN = next(iter(SURVIVORS))
RESULTS = {
    "a.py:f: x -> y": Result("killed", "test_f", 1, 2),
    "a.py:f: y -> x": Result("hung", "test_f", 1, 2),
    "a.py:g: late": Result("survived", None, 1, 2),
    "a.py:g: … -> nothing": Result("survived", None, 2, 2),
    "a.py:h: unreached": Result("unreached"),
    "a.py:i: none": Result("no function"),
    KNOWN: Result("survived", None, 3, 3),
    next(iter(NO_DIFFERENCE)): Result("survived", None, 3, 3),
}
ALIVE = sorted(["a.py:g: … -> nothing", "a.py:h: unreached", KNOWN])


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    measurement = measurement_of(RESULTS, 1_000)
    write(measurement, tmp_path / "measured.json")
    assert measured(tmp_path / "measured.json") == measurement
    assert (measurement.mutants, measurement.drawn) == (1_000, 7)
    assert measurement.rate == Rate(killed=2, tried=6, undecided=1)
    assert measurement.names_undecided == ["a.py:g: late"]
    assert measurement.names_alive == ALIVE
    assert len(ALIVE) == measurement.rate.alive


def test_who_is_alive_without_a_reason_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    measurement = measurement_of(RESULTS, 1_000)
    assert measurement.unexplained() == [name for name in ALIVE if name != KNOWN]
    monkeypatch.setattr(record, "KILLED_SINCE", dict.fromkeys(ALIVE, "test_g"))
    assert not measurement.unexplained()


def test_each_that_was_alive_is_explained() -> None:
    """Since names are recorded: of the measurement before that there are none."""
    last = measured()
    assert (last.names_alive is None) == (last.names_undecided is None) == is_only_counted(last)
    assert not last.unexplained(), "say in survivors.py why, or which test kills it since"
    alive, undecided = last.names_alive, last.names_undecided
    assert alive is None or len(alive) == last.rate.alive
    assert undecided is None or len(undecided) == last.undecided


def test_what_is_said_to_be_killed_since_was_alive() -> None:
    assert not KILLED_SINCE.keys() - set(measured().names_alive or ())
    assert not KILLED_SINCE.keys() & (NO_DIFFERENCE.keys() | SURVIVORS.keys())


@pytest.mark.checkout
def test_the_page_says_whose_names_are_not_known() -> None:
    words = " ".join(PAGE.read_text("utf-8").split())
    assert (SAID in words) == is_only_counted(measured())


def is_only_counted(measurement: Measurement) -> bool:
    """Whether the living of a measurement are not known by name."""
    return measurement.date == ONLY_COUNTED
