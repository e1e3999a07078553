"""What the page of the protocol says of a driver that died: what is seen, what can be done."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault
from fsspec_commit.testing.faults import FaultPlan, FaultyStore
from fsspec_commit.testing.recording import recorded_calls
from tests.protocol.faults import attempt, run
from tests.protocol.invariants import visible
from tests.scenes.memory_place import MemoryPlace
from tests.scenes.scene import HIDDEN, SCENES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.checkout

PAGE = Path(__file__).resolve().parents[2] / "docs" / "protocol.md"
SCENE = SCENES["overwrite"]
AFTER = {
    "`job.json`": ("create", r"/job\.json", 1),
    "some task commits": ("create", r"/manifests/0/", 1),
    "`chosen-…`": ("create", r"/chosen-", 1),
    "`claim-…`": ("create", r"/claim-", 1),
    "`replaced-…`": ("create", r"/replaced-", 1),
    "`decision` (committed)": ("create", r"/decision", 1),
    "some files published": ("rename", r"/out/.*\.txt$", 2),
    "all files published": ("rename", r"/out/.*\.txt$", 4),
    "`published`": ("create", r"/published", 1),
    "some old files deleted": ("delete", r"/out/(?!_).*\.txt$", 2),
    "`_SUCCESS`": ("rename", r"/out/_SUCCESS$", 1),
    "the epoch changed": ("create", r"/epoch-", 1),
    "the area was renamed away": ("rename_directory", r"/_commit/(gone|void)-", 1),
    "`decision` (aborted)": ("create", r"/decision", 1),
}
"""The call after which the driver dies, for each row: its verb, its path, and which of those."""


def rows() -> list[list[str]]:
    table = PAGE.read_text("utf-8").partition("| died after | who lists sees |")[2]
    lines = table.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryPlace]:
    # So few messages are kept in the decision otherwise.
    monkeypatch.setattr("fsspec_commit.protocol.chosen.INLINE_BYTES_MAX", 0)
    place = MemoryPlace()
    place.put({**SCENE.old, **HIDDEN, "_SUCCESS": b""})
    yield place
    place.remove()


def test_each_row_has_its_moment() -> None:
    assert [row[0] for row in rows()] == [*AFTER]


@pytest.mark.parametrize("settled_by", ["resume", "abort"])
@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_row(row: list[str], settled_by: str, place: MemoryPlace) -> None:
    died_after, listed, committed, resume, abort = row
    job_id = die(died_after, place)
    snapshot = place.snapshot()
    assert is_shown(listed, visible(snapshot)), visible(snapshot)
    found = fc.committed_files(place.url)
    answer = visible({name: snapshot[name] for name in found.names})
    assert answer == {"old": SCENE.old, "new": SCENE.after}[committed]
    is_refused = {"resume": resume, "abort": abort}[settled_by].startswith("refused")
    settle: Callable[[str, str], object] = fc.resume if settled_by == "resume" else fc.abort
    if is_refused:
        with pytest.raises((fc.RequestError, fc.JobNotActiveError)):
            settle(place.url, job_id)
        return
    settle(place.url, job_id)
    assert visible(place.snapshot()) == (SCENE.after if settled_by == "resume" else SCENE.old)


def test_the_tests_that_a_page_names_are_there() -> None:
    """Beside other committers, in the page on guarantees."""
    root = PAGE.parents[1]
    page = (root / "docs" / "guarantees.md").read_text("utf-8")
    named = set(re.findall(r"`(test_\w+)`", page))
    sources = [*(root / "tests").rglob("*.py"), *(root / "fsspec_commit" / "testing").rglob("*.py")]
    text = "\n".join(path.read_text("utf-8") for path in sources)
    assert len(named) >= 7
    assert {name for name in named if f"def {name}(" not in text} == set()


def is_shown(listed: str, shown: dict[str, bytes]) -> bool:
    """Whether who lists sees what the page says; no file has both an old name and a new one."""
    old, new = SCENE.old.items() & shown.items(), SCENE.new.items() & shown.items()
    has = (len(old) / len(SCENE.old), len(new) / len(SCENE.new))
    some = [part if part in {0, 1} else 0.5 for part in has]
    says = {
        "old": [1, 0],
        "old, some new": [1, 0.5],
        "old and new": [1, 1],
        "some old, new": [0.5, 1],
        "new": [0, 1],
    }
    return some == says[listed] and len(old) + len(new) == len(shown)


def die(died_after: str, place: MemoryPlace) -> str:
    """Run a job to that moment; its id."""
    if died_after == "`decision` (aborted)":
        job = fc.Job(place.url, mode="overwrite").start()
        job._begun_here = False  # who dies is not warned of what it leaves
        plan = FaultPlan([Fault("create", nth=1, kind="crash_after")])
        with wrapping(partial(FaultyStore, faults=plan)), pytest.raises(Crash):
            fc.abort(place.url, job.job_id)
        return job.job_id
    verb, pattern, which = AFTER[died_after]
    elsewhere = MemoryPlace()
    elsewhere.put({**SCENE.old, **HIDDEN, "_SUCCESS": b""})
    with recorded_calls() as calls:
        run(SCENE, elsewhere)
    elsewhere.remove()
    of_verb = [call.path for call in calls if call.verb == verb]
    matching = [nth for nth, path in enumerate(of_verb, 1) if re.search(pattern, path)]
    plan = FaultPlan([Fault(verb, matching[which - 1], "crash_after")])
    with recorded_calls() as made:
        assert attempt(SCENE, place, partial(FaultyStore, faults=plan)) == "nothing"
    ids = (re.search(r"/_commit/(\d{8}T\d{6}-[0-9a-f]{16})/", call.path) for call in made)
    return next(match[1] for match in ids if match)
