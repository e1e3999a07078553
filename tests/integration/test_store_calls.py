"""What a job asks of its store: counted, so that nobody makes it cost more unseen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.scenes.costs import calls_of, shown

if TYPE_CHECKING:
    from pathlib import Path

    from fsspec_commit.testing.recording import Call

PER_JOB = 16
PER_TASK = 3
# What the tasks do is theirs: written directly, so no call, then sealed and listed.
OF_A_TASK = ("/committed/", "/manifests/")


def write(destination: Path, tasks: list[list[str]], **options: Any) -> list[Call]:
    writing, committing = calls_of(destination, tasks, chosen="v1", **options)
    return writing + committing


def by_driver(calls: list[Call]) -> list[Call]:
    """What the driver asked, of all that was asked: the calls of tasks come before any claim."""
    return [
        call
        for call in calls
        if not (
            call.verb in {"rename_directory", "create"}
            and any(part in call.path for part in OF_A_TASK)
        )
    ]


def without_replaced(calls: list[Call]) -> list[Call]:
    """Old files are moved and looked at one by one, and their list is a thousand to a batch."""
    return [call for call in calls if "/trash/" not in call.path and "/replaced-" not in call.path]


@pytest.mark.parametrize("others", [0, 3], ids=["first", "after others"])
def test_an_append_of_one_file(tmp_path: Path, others: int) -> None:
    destination = tmp_path / "out"
    for _ in range(others):
        write(destination, [["part.txt"]], mode="append")
    calls = write(destination, [["part.txt"]], mode="append")
    assert len(calls) + 1 <= 24, shown(calls)  # One more for the file that was written directly.


def test_an_append_of_unique_names_does_not_list_the_destination(tmp_path: Path) -> None:
    destination = tmp_path / "out"
    names = [f"day={day}/part.txt" for day in range(20)]
    write(destination, [names], mode="append")
    calls = write(destination, [names, names], mode="append")
    areas = str(destination / "_commit")
    listed = [call for call in calls if call.verb in {"list_tree", "list_children"}]
    assert {call.path for call in listed} == {areas}, listed
    assert len(listed) == 2  # Beside the claim; then the others' claims, and with them the epochs.


SHAPES: dict[str, tuple[list[list[str]], dict[str, Any]]] = {
    "one file": ([["part.txt"]], {"mode": "append"}),
    "a hundred files of one task": (
        [[f"{number}.txt" for number in range(100)]],
        {"mode": "append"},
    ),
    "ten tasks": ([["part.txt"] for _ in range(10)], {"mode": "append"}),
    "many partitions": (
        [[f"day={day}/part.txt" for day in range(60)] for _ in range(3)],
        {"mode": "append"},
    ),
    "exact names": (
        [[f"{task}-{number}.txt" for number in range(20)] for task in range(3)],
        {"mode": "append", "names": "exact"},
    ),
    "exact names in many partitions": (
        [[f"day={day}/{task}.txt" for day in range(60)] for task in range(3)],
        {"mode": "append", "names": "exact"},
    ),
    "overwrite": (
        [[f"day={day}/part.txt" for day in range(20)] for _ in range(3)],
        {"mode": "overwrite"},
    ),
    "overwrite, exact": (
        [[f"day={day}/{task}.txt" for day in range(20)] for task in range(3)],
        {"mode": "overwrite", "names": "exact"},
    ),
    "a key": ([["part.txt"]], {"mode": "append", "idempotency_key": "k"}),
    "error": ([["part.txt"]], {"mode": "error"}),
}


@pytest.mark.parametrize(("tasks", "options"), SHAPES.values(), ids=SHAPES.keys())
def test_a_job_costs_a_call_a_file_and_a_few(
    tmp_path: Path, tasks: list[list[str]], options: dict[str, Any]
) -> None:
    destination = tmp_path / "out"
    for name, data in {"old.txt": b"old", "day=1/old.txt": b"old"}.items():
        if options["mode"] != "error":
            path = destination / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    calls = by_driver(without_replaced(write(destination, tasks, **options)))
    files = sum(map(len, tasks))
    assert len(calls) <= files + PER_TASK * len(tasks) + PER_JOB, shown(calls)
