"""Files without a library: streamed, put whole, and what a task refuses to do with them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import fsspec_commit as fc
from tests.integration.libraries.written import in_task, only_file

if TYPE_CHECKING:
    from pathlib import Path


def test_plain_files(out: Path) -> None:
    def write(task: fc.Task) -> None:
        with task.open("notes.txt", "w") as file:
            file.write("hello")

    in_task(out, write)
    assert only_file(out).read_text() == "hello"


def test_a_local_file_is_put(out: Path, tmp_path: Path) -> None:
    local = tmp_path / "book.zip"
    pd.DataFrame({"a": [1]}).to_csv(local, compression={"method": "zip", "archive_name": "a.csv"})

    def write(task: fc.Task) -> None:
        task.filesystem.put_file(str(local), "book.zip")
        task.filesystem.put(str(local), "again/book.zip")
        task.filesystem.pipe_file("piped.bin", b"123")

    result = in_task(out, write)
    assert result.file_count == 3
    assert next(out.glob("book*.zip")).read_bytes() == local.read_bytes()
    assert next(out.glob("again/book*.zip")).read_bytes() == local.read_bytes()
    assert next(out.glob("piped*.bin")).read_bytes() == b"123"


def test_what_a_task_cannot_do(out: Path) -> None:
    with fc.Job(out) as job, job.task() as task:
        with task.open("a.bin") as file:
            file.write(b"1")
        assert task.filesystem.ls("", detail=False) == ["a.bin"]
        for verb, arguments in (
            ("mv", ["a.bin", "b.bin"]),
            ("cp_file", ["a.bin", "b.bin"]),
            ("cat_file", ["a.bin"]),
            ("open", ["a.bin", "rb"]),
            ("open", ["a.bin", "ab"]),
        ):
            with pytest.raises(io.UnsupportedOperation, match="write-once"):
                getattr(task.filesystem, verb)(*arguments)
        task.filesystem.rm("a.bin")
        with task.open("b.bin") as file:
            file.write(b"2")
    assert [path.read_bytes() for path in out.glob("*.bin")] == [b"2"]
