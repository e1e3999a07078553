"""What a killed job of Hadoop's has left on a disk: what is told of it, and that it stays."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.integration.cli.command import command, files_of
from tests.interoperability.peer import MANIFEST, V1, Peer
from tests.protocol.invariants import snapshot_of
from tests.servers.plugin import available_or_skip

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = pytest.mark.server

V1_JOB = "_temporary/0"
MANIFEST_JOB = "_temporary/job_20260101000000_0001"
FILE_BYTES = len("of task 0")
DIRECTORIES = ("day=1", "day=2 %20#")
# Settings, and where the job stops.
SCENES: dict[str, tuple[Mapping[str, str], dict[str, object]]] = {
    "v1 before commit": (V1, {}),
    "v1 no task": (V1, {"committed": 0}),
    "v1 in commit": (V1, {"stop_at": "publish", "after": 1}),
    "manifest before commit": (MANIFEST, {}),
    "manifest saving": (MANIFEST, {"stop_at": "save", "after": 1}),
    "manifest no file published": (MANIFEST, {"stop_at": "publish"}),
    "manifest in commit": (MANIFEST, {"stop_at": "publish", "after": 3}),
}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every scene, by a JVM that was killed then."""
    scenes = {}
    with available_or_skip(Peer) as peer:
        for name, (settings, where) in SCENES.items():
            scenes[name] = tmp_path_factory.mktemp(name.replace(" ", "-"))
            peer.leave(scenes[name].as_uri(), settings, **where)  # type: ignore[arg-type]
    return scenes


def task(number: int) -> str:
    return f"task_20260101000000_0001_m_{number:06}"


def attempt(number: int) -> str:
    return f"attempt_20260101000000_0001_m_{number:06}_0"


def told(path: Path) -> dict[str, tuple[bool, int | None, int | None, int | None]]:
    """Of each task: committed? how many files? how many pending, how many published?"""
    [job] = fc.hadoop_jobs(path)
    assert job.job_id == "job_20260101000000_0001"
    assert job.tasks_committed == sum(task.committed for task in job.tasks)
    return {
        one.name: (one.committed, one.file_count, one.pending, one.published) for one in job.tasks
    }


class TestV1:
    def test_before_the_job_commits(self, killed: dict[str, Path]) -> None:
        path = killed["v1 before commit"]
        assert told(path) == {
            task(0): (True, 2, 2, None),
            task(1): (True, 2, 2, None),
            attempt(2): (False, 2, 2, None),
        }
        [job] = fc.hadoop_jobs(path)
        assert (job.committer, job.directory) == ("v1", V1_JOB)
        assert {one.bytes for one in job.tasks} == {2 * FILE_BYTES}

    def test_before_any_task_commits(self, killed: dict[str, Path]) -> None:
        assert told(killed["v1 no task"]) == {attempt(0): (False, 2, 2, None)}

    def test_while_the_job_commits(self, killed: dict[str, Path]) -> None:
        """One directory of one task has been renamed: no list says what it held."""
        path = killed["v1 in commit"]
        assert len(files_of(path)) == 1
        found = told(path)
        assert sorted([found[task(0)], found[task(1)]]) == [(True, 1, 1, None), (True, 2, 2, None)]
        assert found[attempt(2)] == (False, 2, 2, None)


class TestManifest:
    def test_before_the_job_commits(self, killed: dict[str, Path]) -> None:
        path = killed["manifest before commit"]
        assert told(path) == {
            task(0): (True, 2, 2, 0),
            task(1): (True, 2, 2, 0),
            attempt(2): (False, 2, 2, None),
        }
        [job] = fc.hadoop_jobs(path)
        assert (job.committer, job.directory) == ("manifest", MANIFEST_JOB)
        assert {one.bytes for one in job.tasks} == {2 * FILE_BYTES}

    def test_a_manifest_without_its_name_commits_nothing(self, killed: dict[str, Path]) -> None:
        path = killed["manifest saving"]
        assert len(list(path.rglob("*-manifest.json.tmp"))) == 1
        assert told(path) == {task(0): (True, 2, 2, 0), attempt(1): (False, 2, 2, None)}

    def test_directories_without_files_publish_nothing(self, killed: dict[str, Path]) -> None:
        path = killed["manifest no file published"]
        assert (path / "day=1").is_dir()
        assert told(path)[task(0)] == (True, 2, 2, 0)

    def test_while_the_job_commits(self, killed: dict[str, Path]) -> None:
        path = killed["manifest in commit"]
        assert len(files_of(path)) == 3
        found = told(path)
        of_two = [found[task(0)], found[task(1)]]
        assert sorted(of_two) == [(True, 2, 0, 2), (True, 2, 1, 1)]

    def test_what_was_published_and_has_gone_is_lost(self, hadoop: Peer, tmp_path: Path) -> None:
        hadoop.leave(tmp_path.as_uri(), MANIFEST, stop_at="publish", after=3)
        for name in files_of(tmp_path):
            (tmp_path / name).unlink()
        assert sorted(list(told(tmp_path).values())[:2]) == [(True, 2, 0, 0), (True, 2, 1, 0)]
        said = [row[1] for row in command("show", tmp_path).rows if row[0].startswith("task_")]
        assert sorted(said) == [
            "committed: 2 files, 18 B; 0 pending, 0 published, 2 lost",
            "committed: 2 files, 18 B; 1 pending, 0 published, 1 lost",
        ]


class TestCommand:
    def test_jobs_lists_it(self, killed: dict[str, Path]) -> None:
        path = killed["manifest in commit"]
        assert command("jobs", path).rows == [
            ["job_20260101000000_0001", "hadoop", "-", "-", "-", "2"]
        ]
        document = command("jobs", path, "--json").document
        assert document["jobs"] == []
        assert document["hadoop_jobs"] == [
            {
                "job_id": "job_20260101000000_0001",
                "committer": "manifest",
                "directory": MANIFEST_JOB,
                "tasks_committed": 2,
                "damage": None,
            }
        ]

    def test_show_says_what_is_committed_and_what_is_not(self, killed: dict[str, Path]) -> None:
        shown = dict(command("show", killed["manifest before commit"]).rows)
        committed = "committed: 2 files, 18 B; 2 pending, 0 published"
        assert shown["committer"] == "Hadoop's manifest"
        assert shown["tasks committed"] == "2"
        assert [shown[task(0)], shown[task(1)]] == [committed, committed]
        assert shown[attempt(2)] == "not committed: 2 files, 18 B; never published"
        assert (
            shown["settle with"] == "nothing: fsspec-commit changes and deletes nothing of Hadoop's"
        )

    def test_show_finds_it_by_a_part_of_its_id(self, killed: dict[str, Path]) -> None:
        document = command("show", killed["v1 before commit"], "0001", "--json").document
        assert (document["committer"], document["settle_with"]) == ("v1", None)
        assert [one["committed"] for one in document["tasks"]] == [True, True, False]

    def test_clean_says_that_it_is_left_alone(self, killed: dict[str, Path]) -> None:
        path = killed["v1 before commit"]
        before = snapshot_of(path)
        ran = command("clean", path, "--older-than", "0s", "--delete")
        said = "_temporary/0: of a job of Hadoop's v1 committer, never touched"
        assert ran.rows == [["left alone", said]]
        assert snapshot_of(path) == before


@pytest.mark.parametrize("mode", ["error", "append", "overwrite"])
@pytest.mark.parametrize(("settings", "area"), [(V1, V1_JOB), (MANIFEST, MANIFEST_JOB)])
def test_our_job_writes_beside_it(
    settings: dict[str, str], area: str, mode: fc.Mode, hadoop: Peer, tmp_path: Path
) -> None:
    """What is not published is no data: nothing of it is in the way, and nothing of it goes."""
    hadoop.leave(tmp_path.as_uri(), settings)
    before = snapshot_of(tmp_path)
    assert before
    assert all(name.startswith(area) for name in before)
    for _ in range(2 if mode == "overwrite" else 1):
        with fc.Job(tmp_path, mode=mode) as job, job.task() as one, one.open("a.txt", "w") as file:
            file.write("ours")
    report = fc.clean(tmp_path, older_than=timedelta(0), dry_run=False)
    whose = "v1" if area == V1_JOB else "manifest"
    assert report.shown == (f"{area}: of a job of Hadoop's {whose} committer, never touched",)
    after = snapshot_of(tmp_path)
    assert {name: after.get(name) for name in before} == before
    assert len(files_of(tmp_path)) == 1


class TestNextJob:
    """What `show` says that Hadoop's next job does with it."""

    def test_v1_publishes_what_had_committed(self, hadoop: Peer, tmp_path: Path) -> None:
        hadoop.leave(tmp_path.as_uri(), V1, committed=3)
        hadoop.run(tmp_path.as_uri(), V1, number=2)
        names = [
            f"{directory}/part-0000{number}" for directory in DIRECTORIES for number in (0, 1, 2)
        ]
        assert files_of(tmp_path) == names
        assert not (tmp_path / "_temporary").exists()

    @pytest.mark.parametrize("settings", [V1, MANIFEST])
    def test_manifest_is_removed(
        self, settings: dict[str, str], hadoop: Peer, tmp_path: Path
    ) -> None:
        hadoop.leave(tmp_path.as_uri(), MANIFEST, committed=3)
        hadoop.run(tmp_path.as_uri(), settings, number=2)
        names = [f"{directory}/part-0000{number}" for directory in DIRECTORIES for number in (0, 1)]
        assert files_of(tmp_path) == names
        assert not (tmp_path / "_temporary").exists()


@pytest.mark.parametrize("settings", [V1, MANIFEST], ids=["v1", "manifest"])
def test_hadoops_job_leaves_ours_alone(
    settings: dict[str, str], hadoop: Peer, tmp_path: Path
) -> None:
    with fc.Job(tmp_path, mode="append") as job:
        with job.task() as one, one.open("a.txt", "w") as file:
            file.write("ours")
        hadoop.run(tmp_path.as_uri(), settings, number=1)
    assert len(files_of(tmp_path)) == 5


def test_a_finished_job_of_hadoops_leaves_nothing(hadoop: Peer, tmp_path: Path) -> None:
    hadoop.run(tmp_path.as_uri(), MANIFEST, number=1)
    assert fc.hadoop_jobs(tmp_path) == []
    assert json.loads((tmp_path / "_SUCCESS").read_bytes())["success"] is True
