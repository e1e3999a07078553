"""The methods of a task's fsspec filesystem, called as fsspec documents them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Literal

import pytest

import fsspec_commit as fc
from fsspec_commit.testing.committer_contract.given import request_refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def task(tmp_path: Path) -> Iterator[fc.Task]:
    options: fc.JobOptions = {"mode": "append", "names": "exact", "allow_empty": True}
    with fc.Job(tmp_path / "out", **options) as job, job.task() as task:
        yield task


def sizes(task: fc.Task) -> dict[str, int]:
    return {name: entry["size"] for name, entry in task.filesystem.find("", detail=True).items()}


class TestTouch:
    """An empty file, where there is none."""

    def test_a_file_may_be_left_as_it_is(self, task: fc.Task) -> None:
        task.filesystem.pipe_file("a", b"data")
        task.filesystem.touch("a", truncate=False)
        task.filesystem.touch("b", truncate=False)
        assert sizes(task) == {"a": 4, "b": 0}

    def test_a_file_is_emptied(self, task: fc.Task) -> None:
        task.filesystem.pipe_file("a", b"data")
        task.filesystem.touch("a")
        assert sizes(task) == {"a": 0}

    def test_a_transaction_takes_it_back(self, task: fc.Task) -> None:
        def fail() -> None:
            with task.filesystem.transaction:
                task.filesystem.touch("a")
                task.filesystem.pipe_file("b", b"1")
                raise LookupError("boom")

        with pytest.raises(LookupError, match="boom"):
            fail()
        assert sizes(task) == {}


class TestOpen:
    """As `fsspec` opens: for reading, unless told otherwise; and nothing is ignored."""

    def test_without_a_mode_nothing_is_emptied(self, task: fc.Task) -> None:
        task.filesystem.pipe_file("a", b"data")
        with pytest.raises(io.UnsupportedOperation, match="mode 'rb': files of a task"):
            task.filesystem.open("a")
        assert sizes(task) == {"a": 4}

    def test_letters_that_the_encoding_lacks(self, tmp_path: Path) -> None:
        with fc.Job(tmp_path / "out", mode="append", names="exact") as job, job.task() as task:
            filesystem = task.filesystem
            filesystem.write_text("a", "x\udc80", errors="replace")
            filesystem.write_text("c", "é", encoding="utf-8-sig", errors="strict")
            with filesystem.open(
                "b", "w", encoding="ascii", errors="xmlcharrefreplace", newline="\r\n"
            ) as file:
                file.write("é\n")
            with filesystem.open("strict", "w", encoding="ascii") as file:
                with pytest.raises(UnicodeEncodeError):
                    file.write("é")
                file.write("e")
        found = {path.name: path.read_bytes() for path in (tmp_path / "out").glob("[a-z]*")}
        assert found == {
            "a": b"x?",
            "b": b"&#233;\r\n",
            "c": "é".encode("utf-8-sig"),
            "strict": b"e",
        }

    @pytest.mark.parametrize("errors", ["none such", 3])
    def test_no_such_rule_for_them(self, task: fc.Task, errors: object) -> None:
        task.filesystem.pipe_file("a", b"data")
        with request_refused("invalid_option") as caught:
            task.filesystem.open("a", "w", errors=errors)
        assert f"errors={errors!r}" in str(caught.value)
        assert sizes(task) == {"a": 4}

    def test_a_file_that_waits_for_another_commit(self, task: fc.Task) -> None:
        task.filesystem.pipe_file("a", b"data")
        with request_refused("invalid_option") as caught:
            task.filesystem.open("a", "wb", autocommit=False)
        assert "task.filesystem.transaction" in str(caught.value)
        task.filesystem.open("b", "wb", autocommit=True).close()
        assert sizes(task) == {"a": 4, "b": 0}


@pytest.mark.parametrize("compression", [None, "gzip", "zstd"])
@pytest.mark.parametrize("mode", ["w", "wb"])
def test_files_tell_how_much_was_written(
    task: fc.Task, mode: Literal["w", "wb"], compression: str | None
) -> None:
    with task.open("a", mode, compression=compression) as file:
        assert file.tell() == 0
        file.write("é1" if mode == "w" else b"123")
        assert file.tell() == 3
        file.write("23" if mode == "w" else b"45")
        assert file.tell() == 5


class TestListings:
    """The root is a directory by each of its names."""

    @pytest.mark.parametrize("root", ["", ".", "./", "/"])
    def test_the_root(self, task: fc.Task, root: str) -> None:
        filesystem: Any = task.filesystem
        filesystem.pipe({"d/a": b"1", "b": b"22"})
        assert filesystem.find(root) == ["b", "d/a"]
        assert filesystem.find(root, maxdepth=1) == ["b"]
        assert filesystem.ls(root, detail=False) == ["b", "d"]
        assert (filesystem.isdir(root), filesystem.exists(root)) == (True, True)
        assert filesystem.du(root) == 3
        assert [entry[1:] for entry in filesystem.walk(root)] == [(["d"], ["b"]), ([], ["a"])]

    def test_an_absolute_name_is_none_of_the_task(self, task: fc.Task) -> None:
        filesystem: Any = task.filesystem
        filesystem.pipe_file("a", b"1")
        assert (filesystem.exists("/a"), filesystem.find("/a")) == (False, [])
        with request_refused("outside_destination"):
            filesystem.open("/a", "wb")
