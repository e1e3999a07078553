"""What is read through hdfs-native's filesystem while a block of it is not reported."""

from __future__ import annotations

import errno
import io
import pickle
from types import SimpleNamespace
from typing import Any

import pytest
from fsspec import AbstractFileSystem

from fsspec_commit.hdfs_reading import whole_files

CONTENT = b"a\n1\n2\n"


class Reader(io.BytesIO):
    def __len__(self) -> int:
        return len(self.getvalue())


class LateFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """hdfs-native's, as far as it matters: a file is shorter the first times that it is opened."""

    protocol = "late"

    def __init__(self, shorter: list[int], **options: Any) -> None:
        super().__init__(shorter, **options)
        self.shorter = list(shorter)
        self.client = SimpleNamespace(get_file_info=self._info)

    def _info(self, path: str) -> Any:
        if path == "/missing":
            raise FileNotFoundError(path)
        return SimpleNamespace(length=len(CONTENT))

    def _open(self, path: str, mode: str = "rb", **how: Any) -> Any:
        if mode != "rb":
            return "written"
        length = self.shorter.pop(0) if self.shorter else len(CONTENT)
        reader: Any = Reader(CONTENT[:length])
        return io.BufferedReader(reader) if how.get("block_size") else reader


def late(*shorter: int) -> Any:
    return LateFileSystem(list(shorter), skip_instance_cache=True)


def test_a_file_is_opened_when_all_of_it_is_there() -> None:
    plain = late(0, 2)
    assert plain._open("/a").read() == b""
    for how in ({}, {"block_size": 4}):
        filesystem = whole_files(late(0, 2))
        with filesystem._open("/a", **how) as file:
            assert file.read() == CONTENT


def test_one_that_stays_short_is_an_error() -> None:
    with pytest.raises(OSError, match=r"4 of its 6 bytes can be read so far") as caught:
        whole_files(late(*[4] * 20))._open("/a")
    assert caught.value.errno == errno.EAGAIN
    assert caught.value.filename == "/a"


def test_what_is_missing_is_missing() -> None:
    with pytest.raises(FileNotFoundError):
        whole_files(late())._open("/missing")


def test_it_is_the_same_otherwise() -> None:
    filesystem = whole_files(late(0))
    assert isinstance(filesystem, LateFileSystem)
    assert filesystem._open("/a", "wb") == "written"
    again = pickle.loads(pickle.dumps(filesystem))
    assert type(again) is type(filesystem)
    assert again._open("/a").read() == CONTENT
