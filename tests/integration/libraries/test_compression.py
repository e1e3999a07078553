"""What ``task.open(compression=…)`` writes, other programs read."""

from __future__ import annotations

import sys
from typing import Literal
from uuid import uuid4

import fsspec
import pyarrow as pa
import pytest

import fsspec_commit as fc

TEXT = "day,clicks\n" * 10_000


@pytest.fixture
def url() -> str:
    return f"memory://compressed-{uuid4().hex}"


def published(job: fc.Job) -> bytes:
    [name] = job.result.files
    content: bytes = fsspec.filesystem("memory").cat_file(f"{job.destination}/{name}")
    return content


@pytest.mark.parametrize("method", ["zstd", "lz4", "gzip", "bz2"])
@pytest.mark.parametrize("mode", ["w", "wb"])
def test_a_compressed_file_is_one(method: str, mode: Literal["w", "wb"], url: str) -> None:
    with (
        fc.Job(url) as job,
        job.task() as task,
        task.open("a.csv", mode, compression=method) as file,
    ):
        for line in TEXT.splitlines(keepends=True):
            file.write(line if mode == "w" else line.encode())
    data = published(job)
    assert len(data) < len(TEXT) / 10
    assert pa.CompressedInputStream(pa.BufferReader(data), method).read() == TEXT.encode()


@pytest.mark.parametrize(
    ("name", "method"), [("a.csv.zst", "zstd"), ("a.csv.lz4", "lz4"), ("a.csv.gz", "gzip")]
)
def test_an_extension_tells_the_compression(name: str, method: str, url: str) -> None:
    """Where fsspec does not know one, the file was not compressed, and called so."""
    with (
        fc.Job(url) as job,
        job.task() as task,
        task.open(name, "w", compression="infer") as file,
    ):
        file.write(TEXT)
    stream = pa.CompressedInputStream(pa.BufferReader(published(job)), method)
    assert stream.read() == TEXT.encode()


def fails(task: fc.Task, method: str) -> None:
    with task.open("a", compression=method) as file:
        file.write(b"1" * 1_000_000)
        raise OSError("boom")


@pytest.mark.parametrize("method", ["zstd", "lz4"])
def test_a_failed_file_leaves_nothing(method: str, url: str) -> None:
    with fc.Job(url, allow_empty=True) as job, job.task() as task:
        with pytest.raises(OSError, match="boom"):
            fails(task, method)
        file = task.open("b", compression=method)
        file.write(b"1" * 1_000_000)
        del file
        task.filesystem.rm("b")
    assert job.result.file_count == 0


def test_a_codec_that_is_missing_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with (
        fc.Job(url, allow_empty=True) as job,
        job.task() as task,
        pytest.raises(fc.RequestError, match=r"fsspec-commit\[arrow\]") as caught,
    ):
        task.open("a", compression="lz4")
    assert caught.value.kind == "missing_package"
