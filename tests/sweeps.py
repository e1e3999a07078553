"""What a run says of what it left out: where sweeps begin, what had a time to run in."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.testing.sweeps import Sweep, sweep_of
from tests.guarantees import OF_SERVERS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

WHOLE_ON = {"s3": "ministack", "gcs": "strict-gcs", "azure": "gen2", "hdfs": "hdfs"}
"""The server of each protocol on which sweeps run whole: of the fast ones the most faithful.

ministack keeps versions, checks signatures and answers every condition as S3 does, without a gap in
the contract, and nothing of it waits for a disk. strict-gcs and gen2 refuse what GCS and Azure
refuse. hdfs is the client that speaks HDFS's own protocol; the cluster is the same for both.
"""
IN_TIME = "ran in its time"
KILLED = "killed"
"""The property of a test that has processes killed: where, and how many."""


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


def some_tests_by_day(every: int, *, everywhere: bool = False) -> pytest.MarkDecorator:
    """By day every so-many-th of these tests where servers are not those of `WHOLE_ON`.

    For what a second server must be asked as well, but not everything each time. Of the tests for
    one set of guarantees at least one is run on each server. By night all of them are.

    Args:
        every: One in how many.
        everywhere: Choose on the servers of `WHOLE_ON`, too: what is tried there is tried on
            another store as well, whole, or in each run of many days.
    """
    return pytest.mark.some_by_day(every, everywhere=everywhere)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as slow what is not chosen by day; by night, all of what is chosen from by day."""
    groups = defaultdict[tuple[str, ...], list[pytest.Item]](list)
    for item in items:
        if (
            (mark := item.get_closest_marker("some_by_day"))
            and (server := _server_to_choose_on(item, everywhere=mark.kwargs["everywhere"]))
            and not item.get_closest_marker("slow")
        ):
            test_class = item.nodeid.partition("[")[0].rpartition("::")[0]
            ids = sorted({one for mark in item.iter_markers("guarantees") for one in mark.args})
            # What is for a guarantee is on each server, as docs/kept-guarantees.md says.
            groups[test_class, server if ids else "", *ids].append(item)
    is_day = config.option.markexpr == "not slow"
    for key, group in groups.items():
        mark = group[0].get_closest_marker("some_by_day")
        assert mark is not None
        chosen = _chosen(group, mark.args[0], f"{config.option.sweep_seed} {key}") if is_day else ()
        for item in group:
            if item not in chosen:
                item.add_marker(pytest.mark.slow)


def _server_to_choose_on(item: pytest.Item, *, everywhere: bool) -> str:
    callspec = getattr(item, "callspec", None)
    for fixture, server in () if callspec is None else callspec.params.items():
        if fixture in OF_SERVERS and (everywhere or server not in WHOLE_ON.values()):
            return str(server)
    return ""


def _chosen(group: list[pytest.Item], every: int, seed: str) -> list[pytest.Item]:
    sweep = Sweep(every, seed=seed)
    chosen = list(sweep(sorted(group, key=lambda item: item.nodeid)))
    for number, item in enumerate(chosen):
        # The first one counts those that are not run, so that the sum at the end is right.
        seen = 1 if number else len(group) - len(chosen) + 1
        item.user_properties.append(("sweep", (every, 1, seen)))
    return chosen


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
    killed = Counter[str]()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "teardown":
                for name, value in report.user_properties:
                    if name == IN_TIME:
                        terminalreporter.write_line(f"{report.nodeid}: {value}")
                    elif name == KILLED:
                        where, count = value
                        killed[where] += count
    if killed.total():
        counts = ", ".join(f"{where} {count}" for where, count in sorted(killed.items()) if count)
        terminalreporter.write_line(f"killed by SIGKILL, and all of their jobs settled: {counts}")
