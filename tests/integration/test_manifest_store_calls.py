"""What a manifest job asks of a store: counted, since each of it is a paid request."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.layout import StorePath
from tests.flat.bucket import RENAMING, Bucket, make_bucket, remove_bucket
from tests.flat.store import FLAT
from tests.scenes.costs import ONE_FILE, SHAPES_OF_CALLS, calls_of, directories_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PER_JOB = 20
PER_COMMIT = 16
run = partial(calls_of, chosen="manifest")
every_shape = pytest.mark.parametrize("tasks", SHAPES_OF_CALLS.values(), ids=SHAPES_OF_CALLS)


@pytest.fixture(params=RENAMING)
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(RENAMING[request.param])
    yield bucket
    remove_bucket(bucket)


@pytest.fixture
def gen2() -> Iterator[Bucket]:
    bucket = make_bucket(RENAMING["gen2"])
    yield bucket
    remove_bucket(bucket)


@every_shape
@pytest.mark.parametrize("others", [0, 2], ids=["first", "after others"])
def test_a_file_costs_one_request_of_the_job_and_a_directory_another(
    bucket: Bucket, tasks: list[list[str]], others: int
) -> None:
    """N + D + 2T + 16: D where directories are made, those that hold files, each once."""
    url = f"{FLAT}://{bucket.name}/out"
    for _ in range(others):
        run(url, ONE_FILE)
    bucket.moves.clear()
    writing, committing = run(url, tasks)
    files = sum(map(len, tasks))
    counts = Counter(call.verb for call in committing)
    directories = directories_of(tasks) if bucket.directories else 0
    assert counts["rename"] == files + 1  # the marker
    assert counts["make_directory"] == directories
    assert len(committing) <= files + directories + 2 * len(tasks) + PER_COMMIT, shown(committing)
    total = writing + committing
    assert len(total) <= 3 * files + directories + 4 * len(tasks) + PER_JOB, shown(total)
    # And as many reach the server: none is tried in vain.
    assert bucket.moves == Counter(
        {"rename": files + 1} | ({"make_directory": directories} if directories else {})
    )


def test_directories_come_before_files_and_those_above_with_them(gen2: Bucket) -> None:
    names = ["a.txt", "b/c/d/1.txt", "b/2.txt", "b/c/e/3.txt", "f/4.txt"]
    root = StorePath(f"{gen2.name}/out")
    _, committing = run(f"{FLAT}://{root}", [names, names])
    moves = [call for call in committing if call.verb in {"make_directory", "rename"}]
    made = [call.path for call in moves if call.verb == "make_directory"]
    assert sorted(made) == [f"{root}/{name}" for name in ("b/c/d", "b/c/e", "f")]
    assert [call.verb for call in moves[: len(made)]] == ["make_directory"] * len(made)


def test_only_the_directories_of_the_chosen_attempts_are_made(gen2: Bucket) -> None:
    root = f"{gen2.name}/out"
    job = fc.Job(f"{FLAT}://{root}", mode="append").start()
    messages = []
    for name in ("lost/1.txt", "chosen/1.txt"):
        task = fc.Task.from_spec(job.spec, 0)
        with task, task.open(name) as file:
            file.write(b"1")
        assert task.message is not None
        messages.append(task.message)
    job.commit([messages[1]])
    found = {name.removeprefix(root) for name in gen2.directories if name.startswith(f"{root}/")}
    assert {name for name in found if not name.startswith("/_commit")} == {"/chosen"}


def test_an_append_of_unique_names_lists_no_files(bucket: Bucket) -> None:
    names = [f"day={day}/part.txt" for day in range(20)]
    url = f"{FLAT}://{bucket.name}/out"
    run(url, [names])
    calls = [call for part in run(url, [names, names]) for call in part]
    listed = {call.path for call in calls if call.verb in {"list_tree", "list_children"}}
    assert listed == {f"{bucket.name}/out/_commit"}


@pytest.mark.parametrize("place", ["file", "memory"])
def test_where_it_is_asked_for_it_costs_as_much(place: str, tmp_path: Path) -> None:
    tasks = [[f"day={day}/part.txt" for day in range(20)] for _ in range(5)]
    url = str(tmp_path / "out") if place == "file" else f"memory://{tmp_path.name}/out"
    _, committing = run(url, tasks, committer="manifest")
    assert len(committing) <= 100 + 2 * 5 + PER_COMMIT, shown(committing)
