"""What a job asks of a bucket: counted, since each of it is a paid request.

Of a disk, where nothing is paid for: `test_store_calls.py`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from fsspec_commit.layout import StorePath
from fsspec_commit.store import AtomicRename
from fsspec_commit.testing.recording import Call
from tests.flat.bucket import ALL_HABITS, RENAMING, Bucket, make_bucket, remove_bucket
from tests.flat.store import FLAT
from tests.scenes.costs import ONE_FILE, SHAPES_OF_CALLS, calls_of, directories_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PER_JOB = 24
PER_COMMIT = 19
UPLOADING = ["unversioned", "versioned", "by path"]


@dataclass(frozen=True)
class Cost:
    """What a committer asks for each file, in the job and of it in the commit, and for each task.

    Attributes:
        committer: Its name.
        once: What is asked as often as there are files, and for the marker.
        per_task: In the whole job.
    """

    committer: str
    once: tuple[str, ...]
    per_task: int


MAGIC = Cost("magic", ("start", "put_part", "complete"), per_task=3)
MANIFEST = Cost("manifest", ("rename",), per_task=4)


@pytest.fixture(params=[*UPLOADING, *RENAMING])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


@pytest.fixture
def cost(bucket: Bucket) -> Cost:
    return MAGIC if bucket.habits.renames is AtomicRename.NONE else MANIFEST


def on(*habits: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("bucket", habits, indirect=True)


def run(
    bucket: Bucket, tasks: list[list[str]], chosen: str, **options: Any
) -> tuple[list[Call], list[Call]]:
    return calls_of(f"{FLAT}://{bucket.name}/out", tasks, chosen=chosen, **options)


@pytest.mark.parametrize("tasks", SHAPES_OF_CALLS.values(), ids=SHAPES_OF_CALLS)
@pytest.mark.parametrize("others", [0, 2], ids=["first", "after others"])
def test_a_job(bucket: Bucket, cost: Cost, tasks: list[list[str]], others: int) -> None:
    """N + D + 2T + 16: D where directories are made, those that hold files, each once."""
    for _ in range(others):
        run(bucket, ONE_FILE, cost.committer)
    bucket.moves.clear()
    writing, committing = run(bucket, tasks, cost.committer)
    total = writing + committing
    files = sum(map(len, tasks))
    directories = directories_of(tasks) if bucket.directories else 0
    most = files + directories + 2 * len(tasks) + PER_COMMIT
    assert _asked(bucket, committing) <= most, shown(committing)
    most = 3 * files + directories + cost.per_task * len(tasks) + PER_JOB
    assert len(total) <= most, shown(total)
    counts = Counter(call.verb for call in total)
    assert {counts[verb] for verb in cost.once} == {files + 1}  # the marker
    in_commit = Counter(call.verb for call in committing)
    assert in_commit["make_directory"] == counts["make_directory"] == directories
    if cost is MANIFEST:
        assert in_commit["rename"] == files + 1
        # And as many reach the server: none is tried in vain.
        made = {"make_directory": directories} if directories else {}
        assert bucket.moves == Counter({"rename": files + 1} | made)


def _asked(bucket: Bucket, committing: list[Call]) -> int:
    """How many calls a commit has made: two delete all in the area, and are recorded by file."""
    if bucket.directories:
        return len(committing)
    deleted = [one.path for one in committing if one.verb == "delete" and "/_commit/2" in one.path]
    return len(committing) - len([one for one in deleted if not one.endswith("/job.json")]) + 2


def test_an_append_of_unique_names_lists_no_files(bucket: Bucket, cost: Cost) -> None:
    """All areas, beside the claim and after it; at its end its own, and uploads that are left."""
    names = [f"day={day}/part.txt" for day in range(20)]
    run(bucket, [names], cost.committer)
    calls = [call for part in run(bucket, [names, names], cost.committer) for call in part]
    root = StorePath(f"{bucket.name}/out")
    listed = [call for call in calls if call.verb in {"list_tree", "list_children", "pending"}]
    areas, again, *of_its_end = listed
    assert areas == again == Call("list_children", StorePath(f"{root}/_commit"))
    own = [] if bucket.directories else ["list_tree"]
    pending = ["pending"] if bucket.habits.uploads else []
    assert [call.verb for call in of_its_end] == [*own, *pending], listed
    assert all(call.path.startswith(f"{areas.path}/2") for call in of_its_end[: len(own)])


@on("gen2")
def test_directories_come_before_files_and_those_above_with_them(bucket: Bucket) -> None:
    names = ["a.txt", "b/c/d/1.txt", "b/2.txt", "b/c/e/3.txt", "f/4.txt"]
    root = StorePath(f"{bucket.name}/out")
    _, committing = run(bucket, [names, names], "manifest")
    moves = [call for call in committing if call.verb in {"make_directory", "rename"}]
    made = [call.path for call in moves if call.verb == "make_directory"]
    assert sorted(made) == [f"{root}/{name}" for name in ("b/c/d", "b/c/e", "f")]
    assert [call.verb for call in moves[: len(made)]] == ["make_directory"] * len(made)


@on("gen2")
def test_only_the_directories_of_the_chosen_attempts_are_made(bucket: Bucket) -> None:
    root = f"{bucket.name}/out"
    job = fc.Job(f"{FLAT}://{root}", mode="append").start()
    messages = []
    for name in ("lost/1.txt", "chosen/1.txt"):
        task = fc.Task.from_spec(job.spec, 0)
        with task, task.open(name) as file:
            file.write(b"1")
        assert task.message is not None
        messages.append(task.message)
    job.commit([messages[1]])
    found = {name.removeprefix(root) for name in bucket.directories if name.startswith(f"{root}/")}
    assert {name for name in found if not name.startswith("/_commit")} == {"/chosen"}


@pytest.mark.parametrize("place", ["file", "memory"])
def test_manifests_elsewhere_cost_as_much(place: str, tmp_path: Path) -> None:
    """Where the committer is asked for."""
    tasks = [[f"day={day}/part.txt" for day in range(20)] for _ in range(5)]
    url = str(tmp_path / "out") if place == "file" else f"memory://{tmp_path.name}/out"
    _, committing = calls_of(url, tasks, chosen="manifest", committer="manifest")
    assert len(committing) <= 100 + 2 * 5 + PER_COMMIT, shown(committing)


def test_manifests_that_are_many_are_read_twice(
    bucket: Bucket, cost: Cost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of a job is held in memory but a few."""
    monkeypatch.setattr("fsspec_commit.protocol.kept_manifests._BYTES_MAX", 1000)
    tasks = [["part.txt"] for _ in range(20)]
    _, committing = run(bucket, tasks, cost.committer)
    reads = [call for call in committing if call.verb == "read" and "/manifests/" in call.path]
    assert 30 <= len(reads) < 40
    most = len(tasks) + 2 * len(tasks) + PER_COMMIT
    assert _asked(bucket, committing) <= most, shown(committing)


@on("minio")
def test_a_record_for_each_file_where_uploads_cannot_be_listed(bucket: Bucket) -> None:
    """And a look whether the job is still there; reading them at the end is for what is left."""
    tasks = [[f"{number}.txt" for number in range(10)] for _ in range(3)]
    writing, committing = run(bucket, tasks, "magic")
    assert len(writing) <= 4 * 30 + 2 * 3 + 1, shown(writing)
    assert _asked(bucket, committing) <= 30 + 2 * 3 + PER_COMMIT, shown(committing)
    assert _of_uploads(writing) == Counter(create=30)
    assert _of_uploads(committing) == Counter(delete=30)


@on(*UPLOADING)
def test_exact_names_are_recorded(bucket: Bucket) -> None:
    write = partial(run, bucket, [["a.txt", "b.txt"]], "magic")
    if bucket.habits.keyed_by == "path":
        with pytest.raises(fc.UnsafeStoreError):
            write(names="exact")
        return
    writing, committing = write(names="exact")
    assert _of_uploads(writing) == Counter(create=2)
    assert _of_uploads(committing) == Counter(delete=2)
    writing, _ = write()
    assert not _of_uploads(writing)


def _of_uploads(calls: list[Call]) -> Counter[str]:
    """What is done with records of uploads."""
    return Counter(call.verb for call in calls if "/uploads/" in call.path)
