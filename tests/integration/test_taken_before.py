"""Somebody else who writes to the same disk has taken a place before a job comes to it.

Who may write to a destination may change its files anyway. So what is shown here is that nothing of
a job leaves the destination (P10), that nothing is written into what others have put there, and
that nothing of theirs is published. No place but ``_commit`` can be known before: all other names
hold 64 random bits of the operating system, or more. These tests know them all the same, as they
choose where the bits come from.
"""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

import pytest

import fsspec_commit as fc
from fsspec_commit.ids import SYSTEM_IDS, IdSource

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write: TypeAlias = Callable[..., fc.CommitResult]

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
THEIRS = "theirs"
DIRECTORIES = {"areas": 0, "area": 1, "tasks": 3, "task": 4, "attempt": 5}
FILES = {"record": 2, "data": 6}
PLACES = DIRECTORIES | FILES
"""What a job makes until its first file is open, by the order of its paths."""
NOBODY = 65534


@pytest.fixture
def write(monkeypatch: pytest.MonkeyPatch) -> Write:
    """Runs a job: each of a test draws the same ids."""

    def write(destination: Path, during: Callable[[], None] = lambda: None) -> fc.CommitResult:
        ids = IdSource(random.Random(7), lambda: NOON)
        for module in ("job", "task", "opening"):
            monkeypatch.setattr(f"fsspec_commit.sync.{module}.SYSTEM_IDS", ids)
        with (
            fc.Job(destination, mode="append") as job,
            job.task() as task,
            task.open("a.txt", "w") as file,
        ):
            file.write("ours")
            during()
        assert job.result is not None
        return job.result

    return write


@pytest.fixture
def places(write: Write, tmp_path: Path) -> list[str]:
    """Where such a job comes to, in its destination."""
    known, found = tmp_path / "known", list[str]()
    write(known, lambda: found.extend(below(known)))
    assert len(found) == len(PLACES)
    return found


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    directory = tmp_path / "outside"
    directory.mkdir()
    (directory / "a").write_text(THEIRS)
    return directory


def below(directory: Path) -> list[str]:
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*"))


def published(destination: Path) -> list[str]:
    """What of files stands there in the end, but what belongs to jobs."""
    return [path.read_text() for path in destination.iterdir() if path.name.startswith("a-")]


def taken(destination: Path, place: str) -> Path:
    path = destination / place
    path.parent.mkdir(parents=True)
    return path


@pytest.mark.parametrize("to", ["a", "nothing", ""], ids=["file", "dangling", "directory"])
@pytest.mark.parametrize("place", PLACES)
def test_p10_nobody_goes_through_a_link(
    write: Write, places: list[str], outside: Path, place: str, to: str
) -> None:
    destination = outside.with_name("out")
    taken(destination, places[PLACES[place]]).symlink_to(outside / to)
    with pytest.raises(fc.CommitError, match="is a symbolic link") as raised:
        write(destination)
    assert raised.value.outcome == "not_committed"
    assert below(outside) == ["a"]
    assert (outside / "a").read_text() == THEIRS
    assert published(destination) == []


def test_p10_nothing_is_written_into_a_file_of_another_name(
    write: Write, places: list[str], outside: Path, tmp_path: Path
) -> None:
    """Whoever had it open, or a second name for it, would have changed what is published."""
    destination = tmp_path / "out"
    os.link(outside / "a", taken(destination, places[PLACES["data"]]))
    write(destination)
    assert (outside / "a").read_text() == THEIRS
    assert published(destination) == ["ours"]


def test_the_record_of_a_job_is_nobody_elses(
    write: Write, places: list[str], tmp_path: Path
) -> None:
    """It is created exclusively: a job whose id is taken draws another one."""
    destination = tmp_path / "out"
    record = taken(destination, places[PLACES["record"]])
    record.write_text(THEIRS)
    result = write(destination)
    assert result.job_id not in places[PLACES["record"]]
    assert record.read_text() == THEIRS
    assert published(destination) == ["ours"]


@pytest.mark.parametrize("place", DIRECTORIES)
def test_a_file_in_a_directorys_place_is_refused(
    write: Write, places: list[str], tmp_path: Path, place: str
) -> None:
    destination = tmp_path / "out"
    path = taken(destination, places[PLACES[place]])
    path.write_text(THEIRS)
    with pytest.raises(fc.CommitError, match="is in the way") as raised:
        write(destination)
    assert raised.value.outcome == "not_committed"
    assert published(destination) == []


@pytest.mark.parametrize("place", DIRECTORIES)
def test_nothing_is_published_that_somebody_put_there_before(
    write: Write, places: list[str], tmp_path: Path, place: str
) -> None:
    """A directory is used as it stands, whoever made it: what counts is what a task has written.

    Its owner may take away what is in it: then a job fails, as where he takes away its area.
    """
    destination = tmp_path / "out"
    directory = taken(destination, places[PLACES[place]])
    directory.mkdir()
    data = destination / places[PLACES["data"]]
    data.parent.mkdir(parents=True, exist_ok=True)
    for name in ("b.txt", f"b-{data.name.removeprefix('a-')}", ".a.tmp"):
        (data.parent / name).write_text(THEIRS)
    if os.geteuid() == 0:
        os.chown(directory, NOBODY, NOBODY)
    result = write(destination)
    assert result.file_count == 1
    assert published(destination) == ["ours"]
    found = [path.name for path in destination.iterdir() if path.is_file()]
    assert sorted(found) == sorted([*result.files, "_SUCCESS"])


def test_names_are_random_to_the_last_bit() -> None:
    """By the operating system: no seed of a program repeats them, and no fork."""
    assert isinstance(SYSTEM_IDS.random, random.SystemRandom)
    drawn = list[tuple[str, str, str]]()
    for _ in range(1000):
        random.seed(1)
        drawn.append((SYSTEM_IDS.job_id()[16:], SYSTEM_IDS.attempt_id(), SYSTEM_IDS.nonce()))
    for names, digits in zip(zip(*drawn, strict=True), (16, 16, 32), strict=True):
        assert len(set(names)) == len(names)
        assert [len({name[at] for name in names}) for at in range(digits)] == [16] * digits
