"""By which interpreters the wheel is tried, and when that is enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.smoke import __main__ as smoke

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.checkout


def interpreter(place: Path, name: str, says: str, status: int = 0) -> Path:
    place.mkdir(exist_ok=True)
    program = place / name
    program.write_text(f"#!/bin/sh\necho {says}\nexit {status}\n", "utf-8")
    program.chmod(0o755)
    return program


def test_the_first_good_interpreter_of_each_version_is_found(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    interpreter(ours, "python3.13", "no module named venv", status=1)
    newer = interpreter(theirs, "python3.13", "3 13 final")
    older = interpreter(ours, "python3.11", "3 11 final")
    interpreter(theirs, "python3.11", "3 11 final")
    interpreter(theirs, "python3.10", "3 10 final")  # not for this package
    interpreter(theirs, "python3.15", "3 15 alpha")
    interpreter(theirs, "python3.12-config", "3 12 final")
    assert smoke.found([tmp_path / "none", ours, theirs]) == {(3, 11): older, (3, 13): newer}


def test_this_interpreter_or_one_of_its_version_is_found() -> None:
    assert set(smoke.found(smoke.places())) <= {(3, minor) for minor in range(11, 30)}


@pytest.mark.parametrize(
    ("tried", "good", "at_a_desk", "in_ci"),
    [
        ({(3, 1), (3, 2)}, {(3, 1), (3, 2)}, 0, 0),
        ({(3, 1)}, {(3, 1)}, 0, 1),  # one that is named was not there
        ({(3, 1), (3, 2)}, {(3, 1)}, 1, 1),
        ({(3, 1), (3, 2), (3, 3)}, {(3, 1), (3, 2), (3, 3)}, 0, 0),  # and may be named now
    ],
)
def test_what_is_named_has_run(
    monkeypatch: pytest.MonkeyPatch,
    tried: set[tuple[int, int]],
    good: set[tuple[int, int]],
    at_a_desk: int,
    in_ci: int,
) -> None:
    monkeypatch.setattr(smoke, "named", lambda: {(3, 1), (3, 2)})
    monkeypatch.delenv("CI", raising=False)
    assert smoke.told(tried, good, every=True) == at_a_desk
    monkeypatch.setenv("CI", "true")
    assert smoke.told(tried, good, every=True) == in_ci
