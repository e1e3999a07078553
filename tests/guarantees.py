"""What each store keeps on each server: the table of `docs/kept-guarantees.md`, from test results.

A pytest plugin, loaded by `tests/conftest.py`. Tests carry the ids of the promises they are for, in
the mark `guarantees`; what they found goes to the store and the server that they ran on.

* `--guarantees=write` writes the page anew: `make test TEST_OPTIONS=--guarantees=write`;
* `--guarantees=check` fails a run that found something else than the page says; where `CI` is set
  `make test` does.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PAGE = Path(__file__).resolve().parents[1] / "docs/kept-guarantees.md"
MARK = "guarantees"
IDS = tuple(f"P{number}" for number in range(1, 12))
HEAD = "<!-- Written by the tests: see `tests/guarantees.py`. -->\n"


class Row(NamedTuple):
    """One line of the table."""

    store: str
    server: str


# The fixtures whose parameter is the name of a server, and what that is called in the table.
OF_SERVERS = frozenset({"s3_server", "gcs_server", "azure_server", "hdfs_directory", "remote"})
ON_SERVERS = {
    "ministack": Row("S3", "ministack"),
    "seaweedfs": Row("S3", "SeaweedFS"),
    "versitygw": Row("S3", "versitygw"),
    "strict-gcs": Row("GCS", "ours, strict"),
    "gen2": Row("Azure, Gen2", "ours, strict"),
    "azurite": Row("Azure, flat", "Azurite"),
    "hdfs": Row("HDFS, `hdfs://`", "Hadoop 3.5"),
    "webhdfs": Row("HDFS, `webhdfs://`", "Hadoop 3.5"),
}
# By the file of the test, where nothing is served.
IN_FILES = {
    "tests/contract/test_local.py": Row("local disk", "Linux"),
    "tests/integration/test_kills.py": Row("local disk", "Linux"),
    "tests/integration/test_races.py": Row("local disk", "Linux"),
    "tests/integration/test_serial.py": Row("local disk", "Linux"),
    "tests/contract/test_memory.py": Row("memory", "fsspec"),
}
ROWS = tuple(dict.fromkeys([*IN_FILES.values(), *ON_SERVERS.values()]))


class Kept:
    """What the tests of one run found: the reasons of what is not kept, by row and id."""

    def __init__(self) -> None:
        self.found: dict[Row, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))

    def note(self, row: Row, ids: Iterable[str], gap: str | None) -> None:
        for one in ids:
            self.found[row][one].update([] if gap is None else [gap])

    def page(self) -> str:
        """The table, and below it each gap in a line of its own."""
        gaps: dict[str, int] = {}
        lines = [f"| store | server | {' | '.join(IDS)} |", f"|{'---|' * (len(IDS) + 2)}"]
        for row in ROWS:
            if row in self.found:
                cells = (_cell(self.found[row], one, gaps) for one in IDS)
                lines.append(f"| {row.store} | {row.server} | {' | '.join(cells)} |")
        notes = "".join(f"\n{number}. {reason}" for reason, number in gaps.items())
        return HEAD + "\n".join(lines) + "\n" + (f"{notes}\n" if notes else "")


def _cell(found: Mapping[str, set[str]], one: str, gaps: dict[str, int]) -> str:
    if one not in found:
        return "-"
    numbers = sorted(gaps.setdefault(reason, len(gaps) + 1) for reason in sorted(found[one]))
    return f"but {', '.join(map(str, numbers))}" if numbers else "✔"


def row_of(item: pytest.Item) -> Row | None:
    """The line of the table that a test belongs to."""
    callspec = getattr(item, "callspec", None)
    for name, value in () if callspec is None else callspec.params.items():
        if name in OF_SERVERS and value in ON_SERVERS:
            return ON_SERVERS[value]
    return IN_FILES.get(item.nodeid.partition("::")[0])


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--guarantees",
        choices=("check", "write"),
        help="compare what the tests found with docs/kept-guarantees.md, or write it",
    )


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    if config.getoption("--guarantees") and not is_worker:
        config.pluginmanager.register(_Collector(config.getoption("--guarantees")))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Send with each result what it is a result of: it may come from another process."""
    row = row_of(item)
    ids = sorted({one for mark in item.iter_markers(MARK) for one in mark.args})
    if row is not None and ids:
        item.user_properties.append((MARK, [*row, *ids]))


class _Collector:
    """Where the results of all processes come together."""

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted
        self._kept = Kept()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == MARK and report.when == "call":
                store, server, *ids = value if isinstance(value, list) else []
                expected = report.skipped and hasattr(report, "wasxfail")
                if expected or report.passed:
                    reason = re.sub(r"\s+", " ", report.wasxfail) if expected else None
                    self._kept.note(Row(store, server), ids, reason)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        page = self._kept.page()
        if self._wanted == "write":
            PAGE.write_text(page, "utf-8")
        elif session.exitstatus == pytest.ExitCode.OK and PAGE.read_text("utf-8") != page:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._wanted == "check" and PAGE.read_text("utf-8") != self._kept.page():
            terminalreporter.section("docs/kept-guarantees.md says something else than the tests")
            terminalreporter.write_line(self._kept.page())
