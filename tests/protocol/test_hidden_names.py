"""Two appends of one hidden name, the second between any two calls of the first (P8, P11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.protocol.invariants import job_ids
from tests.protocol.test_flat_races import Race, write_files
from tests.scenes.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.scenes.flat_place import FlatPlace

SCENE = Scene({"mode": "append"}, [{"part.txt": "first", "_notes": "of the first"}])
BESIDE = [
    {"part.txt": "second", "_notes": "of the second"},
    {"_notes/part.txt": "second, in a directory", "day=1/part.txt": "second"},
]


@pytest.mark.parametrize("habits", ["versioned", "gcs", "gen2"])
@pytest.mark.parametrize("files", BESIDE, ids=["file", "directory"])
def test_both_commit_or_one_is_told_before_it_decides(
    habits: str, files: dict[str, str], make_place: Callable[[str, Scene], FlatPlace]
) -> None:
    def beside(race: Race) -> None:
        with fc.Job(race.place.url, mode="append", wait_s=0.02) as job, job.task() as task:
            write_files(task, files)

    told, count = Race(SCENE, make_place(habits, SCENE)).commit(0, lambda: None)
    assert told == "committed"
    outcomes = set[tuple[str, ...]]()
    for nth in range(1, count + 1):
        race = Race(SCENE, make_place(habits, SCENE))
        told, _ = race.commit(nth, lambda race=race: race._told(lambda: beside(race)))  # type: ignore[misc]
        snapshot = race.place.snapshot()
        try:
            assert {told, *race.others} <= {"committed", "done", "not_committed"}
            assert not [one for one in job_ids(snapshot) if f"_commit/{one}/decision" in snapshot]
            assert len([name for name in snapshot if name.partition("/")[0] == "_notes"]) == 1
        except AssertionError as error:
            error.add_note(f"before call {nth} of {count}: told {told!r}, {race.others}")
            raise
        outcomes.add((told, *race.others))
    assert ("committed", "not_committed") in outcomes
    assert ("not_committed", "done") in outcomes
