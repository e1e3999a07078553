"""Symbolic links above, in and swapped into the destination: nothing outside changes (P10)."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.protocol.invariants import (
    check_settled,
    directories_of,
    job_ids,
    snapshot_of,
    state_of,
    visible,
)
from tests.scenes.hooks import at_call, before
from tests.scenes.scene import SCENES, Scene

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OUTSIDE = {"day=1/old.txt": b"not ours", "old.txt": b"not ours", "_SUCCESS": b"not ours"}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsspec_commit.effects.pacing.BACKOFF_S", 0.0001)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    return outside_of(tmp_path)


def outside_of(top: Path) -> Path:
    directory = top / "outside"
    for name, data in OUTSIDE.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return directory


def write(scene: Scene, destination: Path) -> fc.CommitResult:
    job = fc.Job(destination, **scene.options)  # type: ignore[arg-type]  # options of a table
    job._begun_here = False  # What cannot be aborted is left on purpose.
    with job:
        for files in scene.tasks:
            with job.task() as task:
                for name, text in files.items():
                    with task.open(name, "w") as file:
                        file.write(text)
        return job.commit()


def test_a_link_above_the_destination_is_followed(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    scene = SCENES["overwrite"]
    scene.lay_out(real / "out")
    write(scene, tmp_path / "link" / "out")
    check_settled(snapshot_of(real / "out"), directories_of(real / "out"), expected=scene.after)


def test_a_destination_that_is_a_link_is_followed(tmp_path: Path) -> None:
    real = tmp_path / "real"
    scene = SCENES["overwrite"]
    scene.lay_out(real)
    (tmp_path / "link").symlink_to(real)
    write(scene, tmp_path / "link")
    check_settled(snapshot_of(real), directories_of(real), expected=scene.after)
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("name", ["overwrite", "overwrite_partitions", "overwrite, in place"])
@pytest.mark.parametrize("link", ["day=1/link.txt", "day=1/link"], ids=["file", "directory"])
def test_a_link_in_what_is_replaced_is_refused(
    tmp_path: Path, outside: Path, name: str, link: str
) -> None:
    destination = tmp_path / "out"
    scene = SCENES[name]
    scene.lay_out(destination)
    to = outside / "old.txt" if link.endswith(".txt") else outside
    (destination / link).symlink_to(to)
    with pytest.raises(fc.CommitError, match="symbolic link") as raised:
        write(scene, destination)
    assert raised.value.outcome == "not_committed"
    assert snapshot_of(outside) == OUTSIDE
    (destination / link).unlink()
    check_settled(snapshot_of(destination), directories_of(destination), expected=scene.old)


def swapped(place: Path, outside: Path) -> Callable[[], None]:
    """Put a link to the outside where *place* is, as far as it is there."""

    def swap() -> None:
        with suppress(FileNotFoundError):
            place.rename(place.with_name(f"{place.name}.away"))
            place.symlink_to(outside)

    return swap


def put_back(place: Path) -> None:
    away = place.with_name(f"{place.name}.away")
    if away.exists():
        place.unlink()
        # What was made while it was away has gone nowhere but here.
        away.rename(place)


@pytest.mark.parametrize("name", ["append", "overwrite, in place"])
@pytest.mark.parametrize("what", ["", "day=1", "day=9", "_commit"])
def test_a_link_swapped_in_at_any_call(fast: Path, name: str, what: str) -> None:
    scene = SCENES[name]
    outside = outside_of(fast)
    nth = 0
    verbs = [""]
    while nth <= len(verbs):
        nth += 1
        destination = fast / str(nth) / "out"
        scene.lay_out(destination)
        place = destination / what if what else destination
        told = "done"
        with before(at_call(nth), swapped(place, outside)) as verbs:
            try:
                write(scene, destination)
            except fc.CommitError as error:
                told = error.outcome
        assert snapshot_of(outside) == OUTSIDE, f"call {nth}: something outside has changed"
        put_back(place)
        check_recovery(scene, destination, told, f"call {nth} of {len(verbs)}, told {told}")


def check_recovery(scene: Scene, destination: Path, told: str, when: str) -> None:
    snapshot = snapshot_of(destination)
    for job_id in job_ids(snapshot):
        state = state_of(snapshot, job_id)
        decided = state in {"decided", "published"}
        assert told != "not_committed" or not decided, when
        (fc.resume if decided else fc.abort)(destination, job_id)
    shown = visible(snapshot_of(destination))
    assert shown in (scene.old, scene.after), when
    if told == "done":
        assert shown == scene.after, when
    if told == "not_committed":
        assert shown == scene.old, when
