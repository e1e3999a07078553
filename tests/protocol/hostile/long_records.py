"""Records as long as they may be, or longer, and how much memory whoever reads one takes."""

from __future__ import annotations

import json
import tracemalloc
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

import fsspec_commit as fc

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPES = {
    "blank": b" ",
    "deep": b"[",
    "objects": b'[{"a":1},',
    "text": b'"' + b"x" * 999,
    "lines": b'["p=0/a",1,"t",false]\n',
}
OWN = "entries of its own, again and again"
OWN_BYTES_MAX = 8 << 20
"""Each entry is read, which takes long where each allocation is counted."""
BY_DAY_BYTES = 1 << 20
_BESIDE = 4 << 20
_ENTRY_BYTES_MAX = 100


def most_bytes(read: bytes, *, times: int = 4) -> int:
    """How much a call may take that reads so much of a record."""
    return _BESIDE + times * len(read)


def peak_bytes(call: Callable[[], object]) -> int:
    """The most that is allocated at once while *call* runs."""
    tracemalloc.start()
    try:
        with suppress(fc.CommitError):
            call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def grown(record: bytes, shape: str, size_bytes: int) -> bytes:
    """So many bytes, or fewer where it is made of the last entry that the record has."""
    if shape == OWN:
        entry, end = _last_entry(record)
        if end:
            more = min(size_bytes, OWN_BYTES_MAX) - len(record)
            return record.removesuffix(end) + entry * (more // len(entry)) + end
    else:
        entry = SHAPES[shape]
    return (entry * -(-size_bytes // len(entry)))[:size_bytes]


def with_more(record: bytes, entry_of: Callable[[int], bytes], size_bytes: int) -> bytes:
    """So many bytes, or fewer, by further entries of the list that the record has."""
    _, end = _last_entry(record)
    data = bytearray(record.removesuffix(end))
    for number in count():
        data += b"," + entry_of(number)
        if len(data) > min(size_bytes, OWN_BYTES_MAX) - len(end) - _ENTRY_BYTES_MAX:
            return bytes(data + end)
    raise AssertionError


def _last_entry(record: bytes) -> tuple[bytes, bytes]:
    """The last entry of its list, as a further one would stand there, and what stands behind."""
    lines = record.splitlines(keepends=True)
    if len(lines) > 1:
        return b"\n" + lines[-1].rstrip(b"\n"), b"\n"
    for entries in json.loads(record).values():
        if isinstance(entries, list) and entries:
            entry = json.dumps(entries[-1], separators=(",", ":")).encode()
            return b"," + entry, record[record.index(entry) + len(entry) :]
    return b"\n", b""
