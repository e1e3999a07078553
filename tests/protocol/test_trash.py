"""An old file goes only as it was listed, whatever comes to its name meanwhile (P9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.integration.hooks import at_call, before

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def destination(tmp_path: Path) -> Path:
    destination = tmp_path / "out"
    destination.mkdir()
    (destination / "old.txt").write_bytes(b"old")
    (destination / "_SUCCESS").write_bytes(b"")
    return destination


def write(destination: Path) -> fc.CommitResult:
    job = fc.Job(destination, mode="overwrite")
    job._begun_here = False
    with job, job.task() as task, task.open("new.txt") as file:
        file.write(b"new")
    assert job.result is not None
    return job.result


def calls_of(destination: Path) -> list[str]:
    """The calls it takes; before each of them something may happen."""
    with before(lambda *_: False, lambda: None) as verbs:
        write(destination)
    return verbs


def replace(path: Path, data: bytes) -> None:
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(data)
    new.rename(path)


@pytest.mark.parametrize("data", [b"", b"another job's marker"], ids=["empty", "json"])
def test_a_marker_that_others_replace_at_any_call(destination: Path, data: bytes) -> None:
    """Jobs that only append run beside each other, and each publishes the marker."""
    marker = destination / "_SUCCESS"
    count = len(calls_of(destination))
    for nth in range(1, count + 1):
        replace(marker, b"an earlier one")
        with before(at_call(nth), lambda: replace(marker, data)):
            assert write(destination).warnings == ()
        assert marker.exists()


def test_a_marker_that_others_remove_at_any_call(destination: Path) -> None:
    marker = destination / "_SUCCESS"
    count = len(calls_of(destination))
    for nth in range(1, count):
        marker.touch()
        with before(at_call(nth), lambda: marker.unlink(missing_ok=True)):
            assert write(destination).warnings == ()


def test_a_marker_that_goes_and_comes_while_it_is_removed(
    destination: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by ten processes: missing when it was to be renamed, another's when it was looked for.

    That was taken for a failure of our own, and the job for a half-finished one.
    """
    from fsspec_commit_stores.local.renaming import LocalRenames

    marker = destination / "_SUCCESS"
    rename = LocalRenames.rename

    async def late(self: LocalRenames, source: str, target: str, **options: object) -> None:
        if "/trash/_SUCCESS" not in target:
            return await rename(self, source, target, **options)  # type: ignore[arg-type]
        marker.unlink()
        try:
            return await rename(self, source, target, **options)  # type: ignore[arg-type]
        finally:
            replace(marker, b"another job's")

    monkeypatch.setattr(LocalRenames, "rename", late)
    assert write(destination).warnings == ()
    assert marker.read_bytes() == b"another job's"


def test_a_file_that_others_replace_at_any_call(destination: Path) -> None:
    """A foreign writer's newer file is never deleted for the old one that was listed."""
    old = destination / "old.txt"
    verbs = calls_of(destination)
    listed = verbs.index("list_tree") + 1
    came: list[bool] = []

    def replace_old() -> None:
        came.append(old.exists())
        if came[-1]:
            replace(old, b"newer")

    for nth in range(1, len(verbs)):
        replace(old, b"old")
        with before(at_call(nth), replace_old):
            write(destination)
        stays = came[-1] and nth > listed
        assert old.exists() == stays, f"call {nth} of {len(verbs)}"
        assert not stays or old.read_bytes() == b"newer"
    assert any(came[listed:])
