"""How near a pace comes to what a store does, and how often it is turned away, in virtual time.

The scenarios are those of `tests/unit/effects/test_pacing_scenarios.py`, each once with a window
that is found and once with 64 calls in flight at most; both are set against one bound, of N/R, or
N·L/512 where that is longer. Nothing is sent, so the figures are the same on every machine.

    python -m tests.benchmarks.bench_pacing [--quick]
"""

from __future__ import annotations

from tests.benchmarks.interleaved import Report, Sample, arguments
from tests.unit.effects.paced_stores import Scenario, measured
from tests.unit.effects.test_pacing_scenarios import CHOSEN_BY, OTHERS

SIDES = {"as found": {}, "64 at most": {"in_flight_max": 64}}
THROTTLED_GOAL = 0.01


def describe(report: Report, name: str, scenario: Scenario) -> None:
    """One scenario, paced in both ways."""
    for side, how in SIDES.items():
        result = measured(scenario, **how)
        title = f"{name}: {side}"
        report.add(title, Sample((result.over_bound,)), unit="times the bound")
        away = Sample((result.throttled,))
        report.add(f"{title}: turned away", away, unit="of all", at_most=THROTTLED_GOAL)
        if len(scenario.starts_s) > 1:
            report.add(f"{title}: most for least", Sample((result.unfairness,)), unit="calls")


def main() -> None:
    options = arguments(__doc__).parse_args()
    report = Report("pacing", options.quick)
    scenarios = {**CHOSEN_BY, **OTHERS}
    for name in list(scenarios)[: 2 if options.quick else None]:
        describe(report, name, scenarios[name])
    report.finish()


if __name__ == "__main__":
    main()
