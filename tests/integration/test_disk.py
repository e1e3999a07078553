"""Disks that are full or read-only, before and after the decision."""

from __future__ import annotations

import errno
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.protocol.invariants import (
    check_settled,
    check_under_way,
    directories_of,
    job_ids,
    snapshot_of,
)
from tests.scenes.hooks import at, before
from tests.scenes.scene import SCENES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCENE = SCENES["overwrite"]
BEFORE = {
    "seal": at("rename_directory", "/committed/"),
    "manifest": at("create", "/manifests/"),
    "claim": at("create", "/claim-"),
    "replaced list": at("create", "/replaced-"),
    "marker": at("create", "/_SUCCESS"),
    "decision": at("create", "/decision"),
}
AFTER = {
    "publishing": at("rename", "/out/day=9"),
    "published": at("create", "/published"),
    "removing": at("rename", "/trash/"),
    "epoch": at("create", "/epoch-"),
}


def mounted(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True, text=True)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsspec_commit.effects.pacing.BACKOFF_S", 0.0001)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of one's own."""
    place = tmp_path / "disk"
    place.mkdir()
    try:
        mounted("-t", "tmpfs", "-o", "size=512k", "tmpfs", str(place))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"this system lets nobody mount a small disk: {error}")
    try:
        yield place
    finally:
        # Lazily: a store keeps handles on the directories it knows.
        subprocess.run(["umount", "-l", str(place)], check=True)


class Filler:
    """Takes all the space that is left."""

    def __init__(self, disk: Path) -> None:
        self._path = disk / "filler"

    def fill(self) -> None:
        with self._path.open("ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(1024))

    def free(self) -> None:
        self._path.unlink()


def write(destination: Path) -> fc.CommitResult:
    job = fc.Job(destination, **SCENE.options)  # type: ignore[arg-type]  # options of a table
    job._begun_here = False  # What cannot be aborted is left on purpose.
    with job:
        for files in SCENE.tasks:
            with job.task() as task:
                for name, text in files.items():
                    with task.open(name, "w") as file:
                        file.write(text)
        return job.commit()


def recover(destination: Path, *, happened: bool) -> None:
    """Settle what was left, if something was, and check what has come of it."""
    state = check_under_way(snapshot_of(destination), old=SCENE.old, new=SCENE.new, mode=SCENE.mode)
    if happened:
        assert state in {"decided", "published"}
    else:
        assert state in {"undecided", "aborted", "over"}
    for job_id in job_ids(snapshot_of(destination)):
        (fc.resume if happened else fc.abort)(destination, job_id)
    check_settled(
        snapshot_of(destination),
        directories_of(destination),
        expected=SCENE.after if happened else SCENE.old,
        marker=True,
    )


def test_a_disk_that_is_full_while_a_file_is_written(disk: Path) -> None:
    destination = disk / "out"
    SCENE.lay_out(destination)
    with (
        pytest.raises(OSError, match="No space left") as raised,
        fc.Job(destination, mode="append") as job,
        job.task() as task,
        task.open("large.bin") as file,
    ):
        file.write(bytes(600 * 1024))
    assert raised.value.errno == errno.ENOSPC
    assert "large" in str(raised.value)
    recover(destination, happened=False)
    assert write(destination).file_count == 4
    check_settled(snapshot_of(destination), expected=SCENE.after)


@pytest.mark.parametrize("when", BEFORE)
def test_a_disk_that_is_full_before_the_decision(disk: Path, when: str) -> None:
    destination = disk / "out"
    SCENE.lay_out(destination)
    filler = Filler(disk)
    with before(BEFORE[when], filler.fill), pytest.raises(fc.CommitError) as raised:
        write(destination)
    assert raised.value.outcome == "not_committed"
    assert "No space left" in str(raised.value)
    filler.free()
    recover(destination, happened=False)


@pytest.mark.parametrize("when", AFTER)
def test_a_disk_that_is_full_after_the_decision(disk: Path, when: str) -> None:
    destination = disk / "out"
    SCENE.lay_out(destination)
    filler = Filler(disk)
    errors: list[fc.PartialCommitError] = []
    with before(AFTER[when], filler.fill):
        try:
            write(destination)
        except fc.PartialCommitError as error:
            errors.append(error)
    filler.free()
    # To take a name away needs no space, and neither does an empty file, here.
    assert len(errors) == (when != "epoch")
    for failure in errors:
        assert failure.outcome == "partial"
        assert "No space left" in str(failure)
        assert any("fsspec-commit resume" in note for note in failure.__notes__)
        recover(destination, happened=True)
    check_settled(
        snapshot_of(destination), directories_of(destination), expected=SCENE.after, marker=True
    )


def remount(disk: Path, how: str) -> None:
    mounted("-o", f"remount,{how}", str(disk))


def test_a_read_only_destination(disk: Path) -> None:
    destination = disk / "out"
    SCENE.lay_out(destination)
    before_it = snapshot_of(destination)
    remount(disk, "ro")
    with pytest.raises(fc.CommitError, match="Read-only file system") as raised:
        write(destination)
    assert raised.value.outcome == "not_committed"
    assert snapshot_of(destination) == before_it
    assert fc.jobs(destination) == []


@pytest.mark.parametrize("when", BEFORE)
def test_a_disk_that_becomes_read_only_before_the_decision(disk: Path, when: str) -> None:
    destination = disk / "out"
    SCENE.lay_out(destination)
    with (
        before(BEFORE[when], lambda: remount(disk, "ro")),
        pytest.raises(fc.CommitError) as raised,
    ):
        write(destination)
    assert raised.value.outcome == "not_committed"
    assert any("could not be aborted" in note for note in raised.value.__notes__)
    remount(disk, "rw")
    recover(destination, happened=False)


@pytest.mark.parametrize("when", AFTER)
def test_a_disk_that_becomes_read_only_after_the_decision(disk: Path, when: str) -> None:
    destination = disk / "out"
    SCENE.lay_out(destination)
    with (
        before(AFTER[when], lambda: remount(disk, "ro")),
        pytest.raises(fc.PartialCommitError) as raised,
    ):
        write(destination)
    assert raised.value.outcome == "partial"
    assert any("fsspec-commit resume" in note for note in raised.value.__notes__)
    (job_id,) = job_ids(snapshot_of(destination))
    with pytest.raises(fc.PartialCommitError):
        fc.resume(destination, job_id)
    remount(disk, "rw")
    recover(destination, happened=True)
