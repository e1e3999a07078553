"""Long records are read some items at a time, and no less strictly than short ones."""

from __future__ import annotations

import tracemalloc
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsspec_commit.errors import RecordError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.names import target
from fsspec_commit.records.pending_set import PendingFile, PendingSet
from fsspec_commit.records.task_manifest import TaskManifest, WorkingFile
from fsspec_commit.store import Part, PendingUpload, Token

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NONCE = Nonce("0123456789abcdef" * 2)
JOB = DestinationLayout(StorePath("bucket/out")).job("20261120T140355-9c1e5f00a1b2c3d4")
LAYOUT = JOB.attempt(3, "0123456789abcdef")
Read: TypeAlias = "Callable[[bytes], Sequence[str]]"
ODD = '},{"s":"x", }, {"version":2,"s":"},{\\"s\\":\\"'


def manifest(names: Sequence[str], tokens: Sequence[str] = ()) -> bytes:
    files = [
        WorkingFile(target(name), 1, token)
        for name, token in zip(
            names, tokens or ["9841a6-18ea0bc0f7bc8f48"] * len(names), strict=True
        )
    ]
    return TaskManifest(LAYOUT, NONCE, files, directory=LAYOUT.working_name).encode()


def read_manifest(data: bytes) -> list[str]:
    read = TaskManifest.decode(data, LAYOUT, directory=LAYOUT.working_name)
    assert len(read.files) == len(list(read.files))
    again = TaskManifest.decode(data, LAYOUT, directory=LAYOUT.working_name, is_checked=True)
    assert again == read
    assert len(again.files) == len(read.files)
    return [file.target for file in read.files]


def pending(names: Sequence[str], tokens: Sequence[str] = ()) -> bytes:
    files = []
    for name, token in zip(names, tokens or ["etag"] * len(names), strict=True):
        path = JOB.destination.final(target(name))
        upload = PendingUpload(
            path=path, upload_id=token, nonce=NONCE, parts=(Part(1, Token(token), 1),)
        )
        files.append(PendingFile(target(name), 1, upload))
    return PendingSet(LAYOUT, NONCE, datetime(2026, 11, 20, tzinfo=UTC), files).encode()


def read_pending(data: bytes) -> list[str]:
    read = PendingSet.decode(data, LAYOUT)
    assert len(read.files) == len(list(read.files))
    again = PendingSet.decode(data, LAYOUT, is_checked=True)
    assert again == read
    assert len(again.files) == len(read.files)
    return [file.target for file in read.files]


FORMS = {"manifest": (manifest, read_manifest), "pending set": (pending, read_pending)}
both = pytest.mark.parametrize(("write", "read"), FORMS.values(), ids=FORMS)
NAMES = [f"day={n % 7}/part-{n:04}.parquet" for n in range(60)]


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every record were long."""
    monkeypatch.setattr("fsspec_commit.records.entries.PIECE_BYTES", 700)
    monkeypatch.setattr("fsspec_commit.records.entries._BATCH_MAX", 4)


@both
@pytest.mark.parametrize("piece", [1, 10, 333, 700, 1 << 20])
def test_wherever_it_is_cut_it_comes_back(
    write: Callable[..., bytes], read: Read, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsspec_commit.records.entries.PIECE_BYTES", piece)
    tokens = [ODD * (n % 3) + "t" for n in range(len(NAMES))]
    assert read(write(NAMES, tokens)) == NAMES
    assert read(write([])) == []
    assert read(write(NAMES[:1])) == NAMES[:1]


@both
def test_what_encoding_does_not_write_is_refused_anywhere(
    write: Callable[..., bytes], read: Read
) -> None:
    good = write(NAMES)
    between = [n for n in range(len(good)) if good.startswith(b"},{", n)]
    assert len(between) > 50
    for at in between:
        for odd in (b"}, {", b"} ,{", b"},,{", b"}{", b"},null,{", b"}],[{", b'},{"x":1,'):
            with pytest.raises(RecordError):
                read(good[:at] + odd + good[at + 3 :])
        with pytest.raises(RecordError):
            read(good[: at + 1] + good[at + 2 :])
    for first in (good.index(b"[{") + 1, good.index(b"}]") + 1):
        with pytest.raises(RecordError):
            read(good[:first] + b"," + good[first:])


@both
def test_one_name_twice_is_refused_however_far_apart(
    write: Callable[..., bytes], read: Read
) -> None:
    with pytest.raises(RecordError, match="one file twice"):
        read(write([*NAMES, NAMES[0]]))


@given(st.data())
def test_a_long_record_that_is_damaged_is_refused_or_equal(data: st.DataObject) -> None:
    write, read = FORMS[data.draw(st.sampled_from(sorted(FORMS)))]
    good = write(NAMES[:12])
    start = data.draw(st.integers(0, len(good)))
    end = data.draw(st.integers(start, min(len(good), start + 8)))
    damaged = good[:start] + data.draw(st.binary(max_size=8)) + good[end:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fsspec_commit.records.entries.PIECE_BYTES", 300)
        try:
            names = read(damaged)
        except RecordError:
            return
    assert len(names) == 12


def test_a_record_of_4_000_files_takes_little_beside_its_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    names = [f"day={n % 100}/part-{n:06}-{JOB.job_id}-3.parquet" for n in range(4_000)]
    for write, name in ((manifest, "manifest"), (pending, "set")):
        data = write(names)
        tracemalloc.start()
        try:
            if name == "set":
                count = sum(1 for _ in PendingSet.decode(data, LAYOUT).files)
            else:
                read = TaskManifest.decode(data, LAYOUT, directory=LAYOUT.working_name)
                count = sum(1 for _ in read.files)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert count == 4_000
        assert peak < 2_000_000
