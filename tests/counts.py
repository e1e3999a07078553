"""How much of what is tested: the table of `docs/test-counts.md`, counted in the tests themselves.

``python -m tests.counts`` writes it anew. Counts are rounded down, so that a test more does not
make the page wrong; a test fails where one is more than a tenth too low, or too high at all.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from fsspec_commit.testing import CommitterContract, StoreContract
from fsspec_commit.testing.simulation import FAMILIES, Plan, run
from fsspec_commit.testing.simulation.process import FaultKind
from tests import crash_table
from tests.docs.test_examples import PAGES, blocks_of
from tests.integration import test_odd_records
from tests.mutation.mutants import all_mutants
from tests.mutation.record import measured
from tests.protocol.hostile import test_hostile_records
from tests.protocol.planted.bugs import BUGS
from tests.protocol.planted.measure import measured as caught_at_random
from tests.protocol.planted.uncaught import HELD_BY, NO_DIFFERENCE
from tests.protocol.simulation import test_fault_pairs, test_random_runs, test_single_faults
from tests.protocol.simulation.scenes import plans
from tests.servers import gaps as gaps_of_s3
from tests.servers.azure.kinds import AZURE_KINDS
from tests.servers.gcs import gaps as gaps_of_gcs
from tests.servers.gcs.kinds import KINDS as GCS_KINDS
from tests.servers.impostors import IMPOSTORS
from tests.servers.kinds import KINDS as S3_KINDS
from tests.specs import configurations, test_rules

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/test-counts.md"
HEAD = "<!-- Written by `python -m tests.counts`; a test compares it with what it counts. -->\n"
LAST = measured()
"""What was measured of the mutants last."""
OFF = 0.1
"""By how much a count on the page may be too modest."""


@dataclass(frozen=True)
class Count:
    """One row of the table.

    Attributes:
        what: What is counted.
        of: Counts it.
        said: How the page says it: ``at least`` so many, ``at most``, or exactly.
        slow: It takes a while.
    """

    what: str
    of: Callable[[], int]
    said: Literal["at least", "at most", ""] = "at least"
    slow: bool = False


def _sources(*folders: str) -> set[Path]:
    return {path for folder in folders for path in (ROOT / folder).rglob("*.py")}


@cache
def _tests() -> set[Path]:
    return _sources("tests", "fsspec_commit/testing")


def _lines(paths: set[Path]) -> int:
    return sum(path.read_bytes().count(b"\n") for path in paths)


def _lines_of_the_library() -> int:
    return _lines(_sources("fsspec_commit", "stores") - _tests())


def _test_functions() -> int:
    begins = re.compile(rb"^ *(?:async )?def test_", re.MULTILINE)
    return sum(len(begins.findall(path.read_bytes())) for path in _tests())


def _test_cases() -> int:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--ignore=tests/benchmarks"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    found = re.search(r"^(\d+)(?:/\d+)? tests collected", said, re.MULTILINE)
    assert found is not None, said[-2_000:]
    return int(found[1])


def _in(contract: type) -> int:
    return sum(name.startswith("test_") for name in dir(contract))


def _crash_points() -> int:
    commit = crash_table.JOBS["commit"]
    return 2 * sum(
        len(crash_table.calls_of(commit, where)) for where, _ in crash_table.COMMITTERS.values()
    )


@cache
def _single_faults() -> int:
    schedules = test_single_faults.SCHEDULES
    scenes = (one.values[0] for one in plans())
    runs = (run(plan) for plan in scenes if isinstance(plan, Plan))
    return schedules * sum(1 for one in runs for _ in test_single_faults.faults_of(one))


def _single_faults_by_day() -> int:
    return _single_faults() // test_single_faults.EVERY_BY_DAY


def _fault_pairs() -> int:
    """By night each part of each kind of store is a sample, or whole."""
    parts = range(test_fault_pairs.PARTS)
    return sum(
        sum(1 for _ in test_fault_pairs.pairs(test_fault_pairs.reference(family)[1], part)) // every
        for family, every in test_fault_pairs.EVERY.items()
        for part in parts
    )


def _random_runs() -> int:
    plain_and_varied = 2
    of_each = test_random_runs.BY_NIGHT * test_random_runs.PARTS
    return plain_and_varied * of_each * len(FAMILIES)


def _caught() -> set[str]:
    return BUGS.keys() - NO_DIFFERENCE.keys() - HELD_BY.keys()


def _caught_by_a_plan() -> int:
    return len(_caught() - {name for name, one in caught_at_random().items() if one["caught"]})


def _mutants() -> int:
    return len(all_mutants())


def _states() -> int:
    return sum(configurations.STATES.values())


def _servers() -> int:
    hadoop = 1
    return len(S3_KINDS) + len(GCS_KINDS) + len(AZURE_KINDS) + hadoop


def _gaps() -> int:
    return len(gaps_of_s3.GAPS) + len(gaps_of_gcs.GCS_GAPS)


def _mended() -> int:
    changes = (ROOT / "docs/changelog.md").read_text("utf-8")
    sections = re.findall(r"^### Fixed\n(.*?)(?=^##|\Z)", changes, re.MULTILINE | re.DOTALL)
    return sum(len(re.findall(r"^\* |^- ", section, re.MULTILINE)) for section in sections)


def _examples() -> int:
    return sum(block["why"] is None for page in PAGES for block, _ in blocks_of(page))


COUNTS = (
    Count("lines of the library, in Python", _lines_of_the_library),
    Count("lines of its tests", lambda: _lines(_tests())),
    Count("test functions", _test_functions),
    Count("test cases, by day and by night", _test_cases, slow=True),
    Count("promises of a store, a test each", lambda: _in(StoreContract)),
    Count("promises of a committer, a test each", lambda: _in(CommitterContract)),
    Count("servers that are started", _servers, said=""),
    Count("things that these servers are known to do wrong", _gaps),
    Count("crash points of one commit, by three committers", _crash_points),
    Count("ways to answer in place of a store", lambda: len(IMPOSTORS)),
    Count("kinds of stores in the simulator", lambda: len(FAMILIES), said=""),
    Count("kinds of faults at each of its calls", lambda: len(get_args(FaultKind)), said=""),
    Count("simulated runs with one fault, in eight nights", _single_faults, slow=True),
    Count("simulated runs with one fault, by day", _single_faults_by_day, slow=True),
    Count("simulated runs with two, in eight nights", _fault_pairs, slow=True),
    Count("simulated runs that are drawn, in eight nights", _random_runs),
    Count("planted bugs", lambda: len(BUGS)),
    Count("of them caught by the simulator alone", lambda: len(_caught())),
    Count("of these, caught only by a plan of their own", _caught_by_a_plan),
    Count("of them caught by another test", lambda: len(HELD_BY)),
    Count("of them that make no difference", lambda: len(NO_DIFFERENCE)),
    Count("mutants, each with one change in one function", _mutants, slow=True),
    Count(
        f"drawn of the {LAST.mutants:,} mutants that there were on {LAST.date}",
        lambda: LAST.drawn,
        said="",
    ),
    Count("of those drawn known to make no difference", lambda: LAST.drawn - LAST.tried, said=""),
    Count("of those drawn killed by a quick test", lambda: LAST.killed, said=""),
    Count("of those drawn not decided in time", lambda: LAST.undecided, said=""),
    Count("of those drawn alive", lambda: LAST.rate.alive, said=""),
    Count("rules of the specification in TLA+, each needed", lambda: len(configurations.WEAKER)),
    Count("distinct states in which they are checked", _states),
    Count("models in Python, every interleaving", lambda: len(test_rules.RULES), said=""),
    Count("rules of theirs, each needed", lambda: len(test_rules.WEAKENED)),
    Count(
        "changed records that are decoded, by day", lambda: test_hostile_records.DECODED, said=""
    ),
    Count("the same, in eight nights", lambda: test_hostile_records.BY_NIGHT_DECODED, said=""),
    Count("whole calls on changed records, by day", lambda: test_hostile_records.BY_DAY, said=""),
    Count(
        "odd things in the place of a record",
        lambda: len(test_odd_records.PLACES) * len(test_odd_records.KINDS),
    ),
    Count("examples of the documentation that are run", _examples),
    Count("bugs mended since the first release", _mended),
)


def rounded(count: Count) -> str:
    """A count as the page has it: two digits of what is at least so, else all."""
    number = count.of()
    step = 10 ** max(len(str(number)) - 2, 0) if count.said == "at least" else 1
    return f"{count.said} {number // step * step:,}".strip()


def is_true(count: Count, told: str) -> bool:
    """Whether what the page tells is not too much, nor much too little."""
    number, told_number = count.of(), int(told.removeprefix(count.said).replace(",", ""))
    if count.said == "at least":
        return (1 - OFF) * number <= told_number <= number
    if count.said == "at most":
        return number <= told_number <= (1 + OFF) * number + 1
    return told_number == number


def page() -> str:
    """The whole table."""
    rows = [f"| {count.what} | {rounded(count)} |" for count in COUNTS]
    return HEAD + "\n".join(["| what | how many |", "|---|---|", *rows]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
