"""What a run says of what it left out: where sweeps begin, what had a time to run in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.testing.sweeps import Sweep, sweep_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

WHOLE_ON = {"s3": "ministack", "gcs": "strict-gcs", "azure": "gen2", "hdfs": "hdfs"}
"""The server of each protocol on which sweeps run whole: of the fast ones the most faithful.

ministack keeps versions, checks signatures and answers every condition as S3 does, without a gap in
the contract, and nothing of it waits for a disk. strict-gcs and gen2 refuse what GCS and Azure
refuse. hdfs is the client that speaks HDFS's own protocol; the cluster is the same for both.
"""
IN_TIME = "ran in its time"


def every_by_day(every: int) -> list[Any]:
    """What a fixture `every` gives: by day every so-many-th case, by night all of them."""
    return [
        pytest.param(every, id="some"),
        pytest.param(1, id="whole", marks=pytest.mark.slow),
    ]


def some_by_day(every: int) -> pytest.MarkDecorator:
    """The same for one test."""
    return pytest.mark.parametrize("every", every_by_day(every))


def by_day(
    cases: Mapping[str, tuple[Any, ...]], *, whole: Collection[str], every: int
) -> list[Any]:
    """Parameters of the *cases* and of `every`: by day whole ones and some of the others, by name.

    By night the others are run whole, too.
    """
    return [
        pytest.param(
            *case,
            every if is_some else 1,
            id=f"{name}, some" if is_some else name,
            marks=pytest.mark.slow if name not in whole and not is_some else (),
        )
        for name, case in cases.items()
        for is_some in ([False] if name in whole else [True, False])
    ]


@pytest.fixture
def sweep(request: pytest.FixtureRequest, every: int) -> Iterator[Sweep]:
    """Chooses from the cases of a test that has an `every`."""
    yield from sweep_of(request, every)


def pytest_report_header(config: pytest.Config) -> str:
    return f"sweeps that do not run whole: --sweep-seed={config.option.sweep_seed}"


@pytest.fixture
def say_what_ran(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """For a test that does what it can in a time: the run says at its end how much that was."""
    return lambda what: record_property(IN_TIME, what)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "teardown":
                for name, value in report.user_properties:
                    if name == IN_TIME:
                        terminalreporter.write_line(f"{report.nodeid}: {value}")
