"""What `task.filesystem.rm` takes away: what was to go is not published, and nothing else goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fsspec.mapping import FSMap
from pyarrow.fs import FileSelector, FSSpecHandler, PyFileSystem

import fsspec_commit as fc
from fsspec_commit.testing.committer_contract.given import request_refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NAMES = ["a.csv", "b.txt", "tmp/a.csv", "tmp/b.txt", "tmp/deep/c.csv", "tmp/deep/er/d.csv"]


@pytest.fixture
def task(tmp_path: Path) -> Iterator[fc.Task]:
    with fc.Job(tmp_path / "out", mode="append", names="exact", allow_empty=True) as job:
        task = job.task()
        filesystem: Any = task.filesystem
        filesystem.pipe(dict.fromkeys(NAMES, b"data"))
        yield task
        task.commit()


def left(task: fc.Task) -> list[str]:
    found: list[str] = task.filesystem.find("")
    return found


def without(*gone: str) -> list[str]:
    return [name for name in NAMES if name not in gone]


@pytest.mark.parametrize(
    ("pattern", "gone"),
    [
        ("tmp/*.csv", ["tmp/a.csv"]),
        ("./tmp/*.csv", ["tmp/a.csv"]),
        ("?.csv", ["a.csv"]),
        ("[ab].*", ["a.csv", "b.txt"]),
        ("**/*.csv", ["a.csv", "tmp/a.csv", "tmp/deep/c.csv", "tmp/deep/er/d.csv"]),
        ("tmp/**", NAMES[2:]),
    ],
)
def test_a_pattern(task: fc.Task, pattern: str, gone: list[str]) -> None:
    task.filesystem.rm(pattern)
    assert left(task) == without(*gone)


def test_a_pattern_of_directories(task: fc.Task) -> None:
    """They go with `recursive` only; without it nothing goes, not even the files beside them."""
    with pytest.raises(IsADirectoryError, match="tmp/deep"):
        task.filesystem.rm("tmp/*")
    assert left(task) == NAMES
    task.filesystem.rm("tmp/*", recursive=True)
    assert left(task) == NAMES[:2]


def test_a_name_that_looks_like_a_pattern_is_a_name(task: fc.Task) -> None:
    filesystem: Any = task.filesystem
    filesystem.pipe({"*.csv": b"1", "[d]/a": b"1"})
    filesystem.rm("*.csv")
    filesystem.rm("[d]", recursive=True)
    assert left(task) == NAMES
    with pytest.raises(FileNotFoundError):
        filesystem.rm_file("*.csv")
    assert left(task) == NAMES


@pytest.mark.parametrize("root", ["", ".", "./", "/"])
def test_the_root(task: fc.Task, root: str) -> None:
    with pytest.raises(IsADirectoryError):
        task.filesystem.rm(root)
    assert left(task) == NAMES
    task.filesystem.rm(root, recursive=True)
    assert left(task) == []
    task.filesystem.rm(root, recursive=True)


@pytest.mark.parametrize(
    ("path", "maxdepth", "gone"),
    [
        ("tmp", 1, ["tmp/a.csv", "tmp/b.txt"]),
        ("tmp", 2, ["tmp/a.csv", "tmp/b.txt", "tmp/deep/c.csv"]),
        ("", 1, ["a.csv", "b.txt"]),
        ("t*", 2, ["tmp/a.csv", "tmp/b.txt"]),
    ],
)
def test_no_deeper_than_it_was_told(
    task: fc.Task, path: str, maxdepth: int, gone: list[str]
) -> None:
    task.filesystem.rm(path, recursive=True, maxdepth=maxdepth)
    assert left(task) == without(*gone)


@pytest.mark.parametrize("recursive", [False, True])
@pytest.mark.parametrize("missing", ["a", "a.cs", "/a.csv", "x/*.csv", "tmp/a.csv/x"])
def test_what_is_not_there_is_told(task: fc.Task, missing: str, recursive: bool) -> None:
    with pytest.raises(FileNotFoundError, match=missing.replace("*", r"\*")):
        task.filesystem.rm(missing, recursive=recursive)
    assert left(task) == NAMES
    with pytest.raises(FileNotFoundError):
        task.filesystem.rm_file(missing)


def test_of_several_those_that_are_there_are_removed(task: fc.Task) -> None:
    with pytest.raises(FileNotFoundError, match="none"):
        task.filesystem.rm(["a.csv", "none", "tmp/a.csv"])
    assert left(task) == without("a.csv", "tmp/a.csv")
    with pytest.raises(IsADirectoryError, match="tmp"):
        task.filesystem.rm(["b.txt", "tmp"])
    assert left(task) == without("a.csv", "tmp/a.csv")


def test_a_directory_that_was_made(task: fc.Task) -> None:
    filesystem: Any = task.filesystem
    filesystem.makedirs("empty/below")
    filesystem.rm("empty")
    filesystem.rm("empty", recursive=True)
    assert (filesystem.exists("empty"), filesystem.exists("empty/below")) == (False, False)
    assert left(task) == NAMES


def test_names_that_hold_nothing_any_more(task: fc.Task) -> None:
    """Neither a pattern nor the root leaves behind what keeps the task from its commit."""
    for path, recursive in (("tmp/*.csv", False), ("", True)):
        task.open("tmp/a.csv").discard()  # type: ignore[attr-defined]  # a file of the library's
        task.filesystem.pipe_file("tmp/a.csv", b"1")
        task.open("tmp/a.csv").discard()  # type: ignore[attr-defined]
        with request_refused("file_discarded"):
            task.commit()
        task.filesystem.rm(path, recursive=recursive)


def test_a_file_that_is_being_written(task: fc.Task) -> None:
    with task.open("open.txt") as file:
        with request_refused("file_open"):
            task.filesystem.rm("open.txt")
        file.write(b"1")
    assert "open.txt" in left(task)


def map_deletes(task: fc.Task) -> None:
    mapping = FSMap("tmp", task.filesystem)
    mapping.clear()
    mapping.delitems([])


def arrow_deletes(task: fc.Task) -> None:
    arrow = PyFileSystem(FSSpecHandler(task.filesystem))
    arrow.delete_dir_contents("tmp")
    arrow.delete_dir_contents("none", missing_dir_ok=True)
    arrow.create_dir("made")
    arrow.delete_dir("made")
    assert len(arrow.get_file_info(FileSelector("", recursive=True))) == 2


@pytest.mark.parametrize("delete", [map_deletes, arrow_deletes])
def test_libraries_that_clear_a_directory(task: fc.Task, delete: Callable[[fc.Task], None]) -> None:
    delete(task)
    assert left(task) == NAMES[:2]


def test_arrow_clears_everything(task: fc.Task) -> None:
    arrow = PyFileSystem(FSSpecHandler(task.filesystem))
    arrow.delete_dir_contents("/", accept_root_dir=True)
    assert left(task) == []
