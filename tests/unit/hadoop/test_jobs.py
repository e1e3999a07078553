"""What Hadoop has left, where no Hadoop is needed: older layouts, damage, and other stores."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from fsspec_commit.cli import hadoop as told
from fsspec_commit.hadoop import records
from tests.unit.hadoop.test_records import ATTEMPT, MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Put = Callable[[str, bytes], None]

AREA = "_temporary/manifest_job_1"
IN_AREA = json.dumps(MANIFEST).replace("_temporary/job_1", AREA).encode()
TASK = "task_20260101000000_0001_m_000000"


@pytest.fixture
def put(tmp_path: Path) -> Put:
    def put(name: str, data: bytes) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    return put


def only(path: Path) -> fc.HadoopJob:
    [job] = fc.hadoop_jobs(path)
    return job


def test_nothing_is_found_where_nothing_is(tmp_path: Path) -> None:
    assert fc.hadoop_jobs(tmp_path / "missing") == []
    assert fc.hadoop_jobs("memory://nobody-wrote-here/out") == []


def test_a_file_of_such_a_name_is_no_job(put: Put, tmp_path: Path) -> None:
    put("_temporary", b"")
    assert fc.hadoop_jobs(tmp_path) == []


def test_a_job_that_has_only_begun(tmp_path: Path) -> None:
    (tmp_path / "_temporary" / "0").mkdir(parents=True)
    job = only(tmp_path)
    assert (job.job_id, job.committer, job.directory) == (None, "v1", "_temporary/0")
    assert (job.tasks, job.tasks_committed) == ((), 0)


def test_two_jobs_in_one_area_have_no_one_id(put: Put, tmp_path: Path) -> None:
    for number in (1, 2):
        put(f"_temporary/0/task_20260101000000_000{number}_m_000000/part", b"x")
    job = only(tmp_path)
    assert (job.job_id, job.tasks_committed) == (None, 2)


def test_the_names_of_earlier_releases(put: Put, tmp_path: Path) -> None:
    put(f"{AREA}/00/manifests/{TASK}-manifest.json", IN_AREA)
    put(f"{AREA}/00/tasks/{ATTEMPT}/day=1 %23/part", b"abc")
    job = only(tmp_path)
    assert (job.job_id, job.committer, job.directory) == ("job_1", "manifest", AREA)
    [task] = job.tasks
    assert (task.name, task.committed, task.bytes) == (TASK, True, 3)
    assert (task.pending, task.published) == (1, 0)


@pytest.mark.parametrize(
    ("size", "published"), [(3, 1), (4, 0)], ids=["as long as it was", "another"]
)
def test_what_is_published_is_looked_at(
    size: int, published: int, put: Put, tmp_path: Path
) -> None:
    put(f"{AREA}/00/manifests/{TASK}-manifest.json", IN_AREA)
    put("day=1 %23/part", b"x" * size)
    [task] = only(tmp_path).tasks
    assert (task.pending, task.published) == (0, published)


@pytest.mark.parametrize(
    "damaged",
    [
        b"{}",
        b'{"type": ',
        IN_AREA.replace(b"file:/data/a%20b/day=1%20%2523/part", b"file:/etc/passwd"),
        IN_AREA.replace(b"file:/data/a%20b/day", b"file:/data/a%20b/../../etc"),
        IN_AREA.replace(b"file:/data/a%20b/day", b"file:/data/a%20b/_commit/x"),
    ],
    ids=["empty", "torn", "elsewhere", "above", "ours"],
)
def test_what_cannot_be_read_is_damage(damaged: bytes, put: Put, tmp_path: Path) -> None:
    put(f"{AREA}/00/manifests/{TASK}-manifest.json", damaged)
    put(f"{AREA}/00/manifests/task_3-manifest.json", IN_AREA)
    put(f"{AREA}/00/tasks/{ATTEMPT}/day=1 %23/part", b"abc")
    bad, good = only(tmp_path).tasks
    assert (bad.file_count, bad.bytes, bad.pending, bad.published) == (None,) * 4
    assert bad.damage is not None
    assert bad.damage.startswith(f"{TASK}-manifest.json: ")
    assert (good.pending, good.damage) == (1, None)


def test_a_manifest_that_is_too_long_is_not_read(
    monkeypatch: pytest.MonkeyPatch, put: Put, tmp_path: Path
) -> None:
    monkeypatch.setattr("fsspec_commit.hadoop.tasks.RECORD_BYTES_MAX", 10)
    put(f"{AREA}/00/manifests/{TASK}-manifest.json", IN_AREA)
    [task] = only(tmp_path).tasks
    assert task.damage is not None
    assert "bytes are too many to be read" in task.damage


@pytest.mark.parametrize("odd", ["_temporary", "_temporary/0", "_temporary/0/task_1_1_m_0"])
def test_what_cannot_be_looked_at_hides_nothing_else(odd: str, tmp_path: Path) -> None:
    """A link, or what another user keeps to himself, ended `jobs`, `show` and `clean`."""
    path = tmp_path / "out" / odd
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path)
    found = only(tmp_path / "out")
    assert found.damage is not None
    assert "is a symbolic link" in found.damage
    assert odd.startswith(found.directory)
    assert told.hadoop_row(found)[:2] == [found.directory, "hadoop"]
    assert told.hadoop_row(found)[-1] is None
    assert "is a symbolic link" in str(dict(told.hadoop_rows(found))["damage"])
    report = fc.clean(tmp_path / "out", older_than=timedelta(0), dry_run=False)
    [shown] = report.shown
    assert shown.startswith(f"{found.directory}: ")
    assert path.is_symlink()


def job_of(count: int, **changed: Any) -> fc.HadoopJob:
    of_task: dict[str, Any] = {
        "committed": True,
        "file_count": 1,
        "bytes": 5,
        "pending": 1,
        "published": 0,
        **changed,
    }
    tasks = tuple(fc.HadoopTask(name=f"task_{number}", **of_task) for number in range(count))
    return fc.HadoopJob(job_id="job_1", committer="magic", directory="__magic_job-1", tasks=tasks)


def test_people_are_shown_so_many_tasks_and_programs_all() -> None:
    job = job_of(told.TASKS_MAX + 3)
    rows = dict(told.hadoop_rows(job))
    assert rows["and"] == "3 more; --json names all"
    assert len([name for name in rows if name.startswith("task_")]) == told.TASKS_MAX
    document = told.hadoop_document(job)
    assert isinstance(document["tasks"], list)
    assert len(document["tasks"]) == len(job.tasks)


def test_damage_is_told() -> None:
    job = job_of(1, file_count=None, damage="torn")
    said = dict(told.hadoop_rows(job))["task_0"]
    assert said == "committed; what it holds cannot be read: torn"


@pytest.mark.parametrize(
    ("text", "called"),
    [
        *(("job_1", True), ("job", True), ("_1", True), ("__magic_job-1", True)),
        *(("", False), ("ob", False), ("__magic", False)),
    ],
)
def test_it_is_called_by_its_id_or_its_place(text: str, called: bool) -> None:
    assert told.is_called(job_of(1), text) is called


def test_the_suffixes_are_hadoops() -> None:
    assert (records.MANIFEST_SUFFIX, records.PENDING_SET_SUFFIX) == (
        "-manifest.json",
        ".pendingset",
    )
