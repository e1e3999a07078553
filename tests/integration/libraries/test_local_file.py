"""Writers that seek: on a local disk first, and to the store when they have succeeded."""

from __future__ import annotations

import io
import os
import sqlite3
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import fsspec
import pytest

import fsspec_commit as fc
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.testing import assert_committed
from tests.scenes.hooks import at, before

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def url() -> str:
    return f"memory://local-files-{uuid4().hex}"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the files are written first; nothing is left there."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    yield directory
    assert list(directory.iterdir()) == []


def in_task(url: str, work: Callable[[fc.Task], object], **options: Any) -> dict[str, bytes]:
    """What a job has published whose task does *work*."""
    with fc.Job(url, **options) as job, job.task() as task:
        work(task)
    memory = fsspec.filesystem("memory")
    root = memory._strip_protocol(url)
    return {name: memory.cat_file(f"{root}/{name}") for name in job.result.files}


def write_database(path: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE days (day TEXT)")
    connection.execute("INSERT INTO days VALUES ('2026-11-20')")
    connection.commit()
    connection.close()


def test_a_database_is_written(url: str, tmp_path: Path) -> None:
    def work(task: fc.Task) -> None:
        with task.local_file("days/all.db") as path:
            assert Path(path).name == "all.db"
            write_database(path)

    [(name, data)] = in_task(url, work).items()
    assert name.startswith("days/all-")
    assert name.endswith(".db")
    copy = tmp_path / "copy.db"
    copy.write_bytes(data)
    connection = sqlite3.connect(copy)
    assert connection.execute("SELECT * FROM days").fetchall() == [("2026-11-20",)]
    connection.close()


def test_its_place_is_new_and_of_nobody_else(
    url: str, temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others may write to ``TMPDIR``: what they have put at the next names is not used."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    names = iter(["directory", "link", "dangling", "file", "free"])
    monkeypatch.setattr(tempfile, "_get_candidate_names", lambda: names)
    prefix = "fsspec-commit-"
    (temporary / f"{prefix}directory").mkdir()
    (temporary / f"{prefix}link").symlink_to(theirs)
    (temporary / f"{prefix}dangling").symlink_to(theirs / "nothing")
    (temporary / f"{prefix}file").write_text("theirs")

    def work(task: fc.Task) -> None:
        with task.local_file("a.txt") as path:
            place = Path(path).parent
            assert place == temporary / f"{prefix}free"
            assert stat.S_IMODE(place.lstat().st_mode) == 0o700
            assert place.lstat().st_uid == os.geteuid()
            assert list(place.iterdir()) == []
            Path(path).write_text("ours")

    assert [*in_task(url, work).values()] == [b"ours"]
    assert list(theirs.iterdir()) == []
    left = sorted(temporary.iterdir())
    assert [one.name.removeprefix(prefix) for one in left] == [
        *("dangling", "directory", "file", "link")
    ]
    assert list((temporary / f"{prefix}directory").iterdir()) == []
    for one in left:
        one.rmdir() if one.is_dir() and not one.is_symlink() else one.unlink()


def fails(task: fc.Task, write: Callable[[str], object]) -> None:
    with task.local_file("a.h5") as path:
        write(path)
        raise OSError("boom")


def test_without_its_block_there_is_no_path(url: str) -> None:
    with (
        pytest.raises(TypeError, match=r"a block gives the path: with task\.local_file\('a\.db'\)"),
        fc.Job(url) as job,
        job.task() as task,
    ):
        sqlite3.connect(task.local_file("a.db"))  # type: ignore[call-overload]


def test_after_a_failure_nothing_is_uploaded(url: str) -> None:
    def work(task: fc.Task) -> None:
        with pytest.raises(OSError, match="boom"):
            fails(task, lambda path: Path(path).write_bytes(b"half"))
        with task.open("b") as file:
            file.write(b"whole")

    assert list(in_task(url, work, names="exact")) == ["b"]


def test_a_file_that_was_whole_stays_when_its_next_version_fails(url: str) -> None:
    """It is opened only when there is something to write."""

    def work(task: fc.Task) -> None:
        for text in ("first", "second"):
            with task.local_file("a.h5") as path:
                Path(path).write_text(text, "utf-8")
        with pytest.raises(OSError, match="boom"):
            fails(task, lambda path: Path(path).write_bytes(b"third"))

    assert in_task(url, work, names="exact") == {"a.h5": b"second"}


@pytest.mark.parametrize(
    ("write", "kind", "says"),
    [
        (lambda _: None, "file_missing", "write to the path that the block gives"),
        (os.mkdir, "file_missing", "nothing was written"),
        (
            lambda path: [Path(path + end).write_bytes(b"1") for end in ("", "-wal")],
            "file_not_alone",
            "'a.db-wal' was written beside 'a.db'",
        ),
        (lambda path: Path(path).symlink_to("/etc/hostname"), "special_file", "neither a file"),
    ],
    ids=["nothing", "an empty directory", "more", "a link"],
)
def test_what_is_not_one_file_is_refused(
    write: Callable[[str], object], kind: str, says: str, url: str
) -> None:
    def work(task: fc.Task) -> None:
        with task.local_file("a.db") as path:
            write(path)

    with pytest.raises(fc.RequestError, match=says) as caught:
        in_task(url, work, names="exact")
    assert caught.value.kind == kind
    assert fc.jobs(url) == []


def write_directory(path: str) -> None:
    (Path(path) / "c" / "0").mkdir(parents=True)
    (Path(path) / "zarr.json").write_bytes(b"{}")
    (Path(path) / "c" / "0" / "0").write_bytes(b"1")


def test_a_directory_is_written_under_its_own_names(url: str) -> None:
    def work(task: fc.Task) -> None:
        with task.local_file("a.zarr") as path:
            write_directory(path)

    found = in_task(url, work, names="exact")
    assert found == {"a.zarr/c/0/0": b"1", "a.zarr/zarr.json": b"{}"}
    with pytest.raises(fc.RequestError, match='use names="exact"') as caught:
        in_task(url, work, mode="append")
    assert caught.value.kind == "directory_needs_names"
    assert_committed(url, file_count=2)


def upload_directory(task: fc.Task, *names: str) -> None:
    with task.local_file("a.zarr") as path:
        Path(path).mkdir()
        for name in names:
            (Path(path) / name).write_bytes(b"1")


def test_of_a_directory_that_was_not_uploaded_whole_nothing_stays(url: str) -> None:
    def work(task: fc.Task) -> None:
        with pytest.raises(fc.RequestError, match="kept"):
            upload_directory(task, "A", "_SUCCESS", "z")
        with task.open("b") as file:
            file.write(b"whole")

    assert list(in_task(url, work, names="exact")) == ["b"]


def test_a_directory_that_fails_over_an_older_one_is_not_left_without_both(url: str) -> None:
    """What a name of it held was gone, and the task committed without it."""

    def work(task: fc.Task) -> None:
        for name in ("a.zarr/0", "b"):
            with task.open(name) as file:
                file.write(b"first")
        with pytest.raises(fc.RequestError, match="kept"):
            upload_directory(task, "0", "_SUCCESS")

    with pytest.raises(fc.RequestError, match=r"opened 'a\.zarr/0' a second time") as caught:
        in_task(url, work, names="exact")
    assert caught.value.kind == "file_discarded"


def test_of_a_directory_that_cannot_be_taken_back_nothing_is_committed(url: str) -> None:
    """Where the first of its files was not removed, the others stayed, for a whole directory."""

    def work(task: fc.Task) -> None:
        with pytest.raises(fc.RequestError, match="kept"):
            upload_directory(task, "A", "B", "_SUCCESS")

    def refuse() -> None:
        raise StoreError("cannot delete", reply=Reply.REFUSED)

    with before(at("delete", ""), refuse), pytest.raises(fc.RequestError, match="no file was"):
        in_task(url, work, names="exact")


def test_a_forked_child_leaves_the_file_to_its_parent(url: str) -> None:
    def work(task: fc.Task) -> None:
        with task.local_file("a.h5") as path:
            Path(path).write_bytes(b"the parent's")
            file = task.local_file("never")
            file._pid = -1  # As a child sees it.
            file.__exit__(None, None, None)

    assert in_task(url, work, names="exact") == {"a.h5": b"the parent's"}


class TestUnsupported:
    """What a task's file cannot do is told in terms of who asks for it."""

    def asked_by(self, library: str, call: str, job: fc.Job) -> str:
        task = job.task()
        names: dict[str, Any] = {"__name__": library, "task": task}
        with pytest.raises(io.UnsupportedOperation) as caught:
            exec(call, names)  # a frame of that library
        task.abort()
        return str(caught.value)

    @pytest.mark.parametrize(
        ("library", "known"),
        [("h5py._hl.files", "h5py"), ("zarr.storage", "Zarr"), ("osgeo.gdal", "GDAL")],
    )
    @pytest.mark.parametrize(
        "call",
        [
            "task.open('a.h5').seek(0)",
            "task.open('a.h5').read()",
            "task.open('a.h5').truncate(0)",
            "task.open('a.h5', 'rb+')",
            "task.filesystem.open('a.h5', 'r')",
            "task.filesystem.mv('a.h5', 'b')",
            "task.open('a.h5', compression='gzip').seek(0)",
        ],
    )
    def test_a_library_is_named(self, library: str, known: str, call: str, url: str) -> None:
        with fc.Job(url, allow_empty=True) as job:
            told = self.asked_by(library, call, job)
            assert "write-once" in told
            assert f"{known} seeks in what it writes" in told
            assert "with task.local_file('a.h5') as path" in told
            assert "DuckDB" not in told
            anybody = self.asked_by("__main__", call, job)
            assert "seeks" not in anybody
            assert "task.local_file('a.h5')" in anybody


@pytest.mark.skipif(not os.path.exists("/proc/self/fdinfo"), reason="only Linux tells")  # noqa: PTH110
def test_a_file_that_is_still_open_is_refused(url: str) -> None:
    """What was not flushed was left out without a word: 0 bytes were committed."""
    left: list[io.TextIOWrapper] = []

    def work(task: fc.Task) -> None:
        with task.local_file("a.txt") as path:
            left.append(open(path, "w", encoding="utf-8"))  # noqa: PTH123, SIM115  # the mistake
            left[0].write("hello")

    with pytest.raises(fc.RequestError, match=r"'a\.txt' is still open for writing") as caught:
        in_task(url, work)
    left[0].close()
    assert caught.value.kind == "file_open"


def test_a_file_that_is_open_for_reading_is_whole(url: str) -> None:
    def work(task: fc.Task) -> None:
        with task.local_file("a.txt") as path:
            Path(path).write_text("hello", "utf-8")
            reading = open(path, encoding="utf-8")  # noqa: PTH123, SIM115  # by a cache, perhaps
        reading.close()

    assert list(in_task(url, work).values()) == [b"hello"]
