"""Exceptions of signal handlers inside a write to a text or compressed file.

Who catches one around ``file.write()`` and goes on has lost what the layers held, or a part of it.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any, Literal

import pytest

import fsspec_commit as fc
from fsspec_commit.sync import layered_file
from fsspec_commit.testing.committer_contract.given import request_refused

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LONG = "0123456789\n" * 2_000


class LimitReached(BaseException):
    """What a handler raises when the time is over, as it raises KeyboardInterrupt for Ctrl-C."""


@pytest.fixture(params=["before", "after"])
def interrupt(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], None]:
    """Have the next bytes that leave the layers interrupted, before or after they are taken."""
    armed: list[bool] = []
    write: Any = layered_file._Undercoat.write

    def interrupted(self: Any, data: Any) -> int:
        if not armed:
            return int(write(self, data))
        armed.clear()
        if request.param == "after":
            write(self, data)
        raise LimitReached

    monkeypatch.setattr(layered_file._Undercoat, "write", interrupted)
    return lambda: armed.append(True)


def by_write(file: Any, data: Any) -> None:
    file.write(data)


def by_lines(file: Any, data: Any) -> None:
    file.writelines([data])


def by_flush(file: Any, data: Any) -> None:
    file.write(data[:5])
    file.flush()


def by_tell(file: Any, data: Any) -> None:
    file.write(data[:5])
    file.tell()


def by_the_layer_below(file: Any, data: str) -> None:
    file.buffer.write(data.encode() * 10)


def by_flushing_the_layer_below(file: Any, data: str) -> None:
    file.buffer.write(data.encode()[:5])
    file.buffer.flush()


def write_interrupted(
    file: Any, data: Any, by: Callable[[Any, Any], None], interrupt: Callable[[], None]
) -> None:
    """Write *data*, be interrupted, and go on as if nothing had happened."""

    def until_interrupted() -> None:
        for _ in range(20):  # A compressor keeps much to itself.
            by(file, data)

    file.write(data)
    interrupt()
    with pytest.raises(LimitReached):
        until_interrupted()
    file.write(data)


@pytest.mark.parametrize(
    ("mode", "compression", "by"),
    [
        ("w", None, by_write),
        ("w", None, by_lines),
        ("w", None, by_flush),
        ("w", None, by_tell),
        ("w", "gzip", by_flush),
        ("w", "gzip", by_flushing_the_layer_below),
        ("w", "bz2", by_the_layer_below),
        ("wb", "gzip", by_flush),
        ("wb", "zstd", by_flush),
    ],
)
def test_a_file_is_not_whole_after_an_interrupt(
    tmp_path: Path,
    interrupt: Callable[[], None],
    mode: Literal["w", "wb"],
    compression: str | None,
    by: Callable[[Any, Any], None],
) -> None:
    data = LONG if mode == "w" else LONG.encode()
    with fc.Job(tmp_path / "out", mode="append", names="exact") as job:
        task = job.task()
        file = task.open("a", mode, compression=compression)
        write_interrupted(file, data, by, interrupt)
        with pytest.raises(OSError, match="a write to it failed"):
            file.close()
        with request_refused("file_discarded"):
            task.commit()
        with task.open("a", mode) as file:
            file.write(data)
        task.commit()
    assert (tmp_path / "out/a").read_text() == LONG


def test_what_is_refused_before_it_is_taken_leaves_the_file_whole(tmp_path: Path) -> None:
    with fc.Job(tmp_path / "out", mode="append", names="exact") as job, job.task() as task:
        with task.open("text", "w", encoding="ascii") as text:
            text.write("1")
            with pytest.raises(UnicodeEncodeError):
                text.write("é")
            with pytest.raises(TypeError):
                text.write(b"2")
            text.write("3")
        with task.open("zipped", compression="gzip") as zipped:
            zipped.write(b"1")
            with pytest.raises(TypeError):
                zipped.write("2")
            with pytest.raises(BufferError):
                zipped.write(memoryview(b"1234")[::2])
            zipped.write(b"3")
    assert (tmp_path / "out/text").read_text() == "13"
    assert gzip.decompress((tmp_path / "out/zipped").read_bytes()) == b"13"
