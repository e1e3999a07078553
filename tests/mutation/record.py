"""What was measured of the mutants last: kept in ``measured.json``, and shown on a page."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tests.mutation.rate import KILLED, Rate, counted, is_undecided, rate_of
from tests.mutation.survivors import KILLED_SINCE, NO_DIFFERENCE, SURVIVORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.mutation.trials import Result

MEASURED = Path(__file__).with_name("measured.json")


@dataclass(frozen=True)
class Measurement:
    """What has become of mutants that were drawn from all that there were.

    Attributes:
        date: The day on which it was written down, in UTC: ``"2026-11-24"``.
        mutants: How many they were drawn from.
        drawn: How many were drawn, but for changes that are no function.
        tried: How many of those were tried that are not known to make no difference.
        killed: How many were killed.
        undecided: Of how many not every test was run that reaches them, for want of time.
        names_alive: The names of those that every test has let pass, or none reaches; ``None``
            where only their number is known.
        names_undecided: The names of the undecided, likewise.
    """

    date: str
    mutants: int
    drawn: int
    tried: int
    killed: int
    undecided: int
    names_alive: list[str] | None
    names_undecided: list[str] | None

    @property
    def rate(self) -> Rate:
        """How many of them are killed."""
        return Rate(self.killed, self.tried, self.undecided)

    def unexplained(self) -> list[str]:
        """Those that were alive, of which nothing says why, nor that they are no more."""
        explained = NO_DIFFERENCE.keys() | SURVIVORS.keys() | KILLED_SINCE.keys()
        return [name for name in self.names_alive or () if name not in explained]


def measurement_of(results: Mapping[str, Result], mutants: int) -> Measurement:
    """What to record today of these results, by name, of those drawn from so many mutants."""
    rate, left = rate_of(results), counted(results)
    passed = {name: result for name, result in left.items() if result.verdict not in KILLED}
    undecided = {name for name, result in passed.items() if is_undecided(result)}
    return Measurement(
        date=datetime.now(UTC).date().isoformat(),
        mutants=mutants,
        drawn=sum(result.verdict != "no function" for result in results.values()),
        tried=rate.tried,
        killed=rate.killed,
        undecided=rate.undecided,
        names_alive=sorted(passed.keys() - undecided),
        names_undecided=sorted(undecided),
    )


def measured(in_file: Path = MEASURED) -> Measurement:
    """What was measured last."""
    return Measurement(**json.loads(in_file.read_text("utf-8")))


def write(measurement: Measurement, to: Path) -> None:
    """Write down what was measured, in place of what was measured before."""
    text = json.dumps(asdict(measurement), indent=2, ensure_ascii=False)
    to.write_text(f"{text}\n", "utf-8")
