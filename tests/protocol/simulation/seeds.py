"""The seeds of plans that are drawn: the first ones by day, and others each night."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

OF_ONE_NIGHT = 1_000_000
"""How far the seeds of two nights are apart."""


def parts(count: int) -> Iterator[object]:
    """The parameters of a fixture: what runs by day, and so many parts of what runs by night."""
    yield pytest.param(None, id="some")
    for number in range(count):
        yield pytest.param(number, id=f"many{number}", marks=pytest.mark.slow)


def seeds_of(request: pytest.FixtureRequest, *, by_day: int, by_night: int) -> range:
    """The seeds of one part; *by_night* are those of each part."""
    if request.param is None:
        return range(by_day)
    night = int(request.config.getoption("sweep_seed", 0) or 0)
    first = night * OF_ONE_NIGHT + request.param * by_night
    return range(first, first + by_night)
