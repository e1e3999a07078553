"""What a magic job asks of a flat object store: counted, since each of it is a paid request."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.layout import StorePath
from fsspec_commit.testing.recording import Call
from tests.flat.bucket import HABITS, Bucket, make_bucket, remove_bucket
from tests.flat.store import FLAT
from tests.scenes.costs import ONE_FILE, SHAPES_OF_CALLS, calls_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

PER_JOB = 20
PER_COMMIT = 16
every_shape = pytest.mark.parametrize("tasks", SHAPES_OF_CALLS.values(), ids=SHAPES_OF_CALLS)


@pytest.fixture(params=["unversioned", "versioned", "by path"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


@pytest.fixture
def unlisted() -> Iterator[Bucket]:
    bucket = make_bucket(HABITS["minio"])
    yield bucket
    remove_bucket(bucket)


def run(bucket: Bucket, tasks: list[list[str]], **options: str) -> tuple[list[Call], list[Call]]:
    return calls_of(f"{FLAT}://{bucket.name}/out", tasks, chosen="magic", **options)


@every_shape
@pytest.mark.parametrize("others", [0, 2], ids=["first", "after others"])
def test_a_job_costs_three_calls_a_file_and_a_few(
    bucket: Bucket, tasks: list[list[str]], others: int
) -> None:
    for _ in range(others):
        run(bucket, ONE_FILE)
    writing, committing = run(bucket, tasks)
    files = sum(map(len, tasks))
    assert len(committing) <= files + 2 * len(tasks) + PER_COMMIT, shown(committing)
    total = writing + committing
    assert len(total) <= 3 * files + 3 * len(tasks) + PER_JOB, shown(total)
    counts = Counter(call.verb for call in total)
    assert counts["start"] == counts["put_part"] == counts["complete"] == files + 1  # the marker


def test_manifests_that_are_many_are_read_twice(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of a job is held in memory but a few."""
    monkeypatch.setattr("fsspec_commit.protocol.manifests._KEPT_BYTES_MAX", 1000)
    tasks = [["part.txt"] for _ in range(20)]
    _, committing = run(bucket, tasks)
    reads = [call for call in committing if "/manifests/" in call.path]
    assert 30 <= len(reads) < 40
    assert len(committing) <= len(tasks) + 2 * len(tasks) + PER_COMMIT, shown(committing)


def test_an_append_of_unique_names_lists_no_files(bucket: Bucket) -> None:
    names = [f"day={day}/part.txt" for day in range(20)]
    run(bucket, [names])
    calls = [call for part in run(bucket, [names, names]) for call in part]
    root = StorePath(f"{bucket.name}/out")
    listed = [call for call in calls if call.verb in {"list_tree", "list_children", "pending"}]
    # The others' claims, with the epochs; and once the uploads that may be left.
    areas = StorePath(f"{root}/_commit")
    assert listed == [Call("list_children", areas), Call("pending", root)], listed


def test_a_record_for_each_file_where_uploads_cannot_be_listed(unlisted: Bucket) -> None:
    """And a look whether the job is still there; reading them at the end is for what is left."""
    tasks = [[f"{number}.txt" for number in range(10)] for _ in range(3)]
    writing, committing = run(unlisted, tasks)
    assert len(writing) <= 4 * 30 + 2 * 3 + 1, shown(writing)
    assert len(committing) <= 30 + 2 * 3 + PER_COMMIT, shown(committing)
    assert len([call for call in writing if "/uploads/" in call.path]) == 30
    assert not [call for call in committing if "/uploads/" in call.path]


def test_exact_names_are_recorded(bucket: Bucket) -> None:
    if bucket.habits.keyed_by == "path":
        with pytest.raises(fc.UnsafeStoreError):
            run(bucket, [["a.txt"]], names="exact")
        return
    writing, committing = run(bucket, [["a.txt", "b.txt"]], names="exact")
    assert len([call for call in writing if "/uploads/" in call.path]) == 2
    assert not [call for call in committing if "/uploads/" in call.path]
    writing, _ = run(bucket, [["a.txt", "b.txt"]])
    assert not [call for call in writing if "/uploads/" in call.path]
