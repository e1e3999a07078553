"""A record as long as it may be, or longer, fills no memory, whoever reads it.

What is measured is what the package takes beside the bytes that the store hands over.
"""

from __future__ import annotations

import re
import tracemalloc
from contextlib import suppress
from itertools import cycle
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.records import RECORD_BYTES_MAX
from fsspec_commit.records.job import (
    ChosenRecord,
    Claim,
    Decision,
    JobRecord,
    Published,
)
from fsspec_commit.records.upload import UploadRecord
from tests.protocol.hostile.cases import CALLS, Case
from tests.protocol.hostile.mutations import sealed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.protocol.hostile.worlds import World

LIMITS = {
    r"job\.json": JobRecord.limit_bytes,
    "claim-[0-9a-f]+": Claim.limit_bytes,
    "decision": Decision.limit_bytes,
    "published": Published.limit_bytes,
    "chosen/0": ChosenRecord.limit_bytes,
    "uploads/.*": UploadRecord.limit_bytes,
    "manifests/0/[0-9a-f]+": RECORD_BYTES_MAX,
    "replaced-[0-9a-f]+": RECORD_BYTES_MAX,
    "chosen-[0-9a-f]+": RECORD_BYTES_MAX,
}
"""Every kind of record, and the longest one that is read."""
SHAPES = {
    "blank": b" ",
    "deep": b"[",
    "objects": b'[{"a":1},',
    "text": b'"' + b"x" * 999,
    "lines": b'["p=0/a",1,"t",false]\n',
}
CALLED = ("jobs", "resume", "drive", "clean damaged")
_BESIDE = 4 << 20


def _spoiled(worlds: Sequence[World], pattern: str) -> list[tuple[World, str]]:
    """A world of each committer whose victim has such a record, of those that got furthest."""
    found: dict[str, tuple[World, str]] = {}
    for world in worlds:
        for path in world.records():
            if re.fullmatch(pattern, path.removeprefix(f"{world.area}/")):
                found[world.name.partition(",")[0]] = world, path
    return list(found.values())


def _pattern_of(world: World, path: str) -> str:
    name = path.removeprefix(f"{world.area}/")
    return next(pattern for pattern in LIMITS if re.fullmatch(pattern, name))


def _peak(world: World, call: str) -> int:
    case = Case(0, [world])
    tracemalloc.start()
    try:
        with suppress(fc.CommitError):
            CALLS[call](case)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("pattern", LIMITS)
def test_p10_memory_is_bounded(spoiled: list[World], pattern: str) -> None:
    """Up to a mebibyte: each call with a shape or two, in one world."""
    world, path = _spoiled(spoiled, pattern)[0]
    for (shape, piece), call in zip(SHAPES.items(), cycle(CALLED), strict=False):
        for size in (min(LIMITS[pattern], 1 << 20), LIMITS[pattern] + 1):
            if size <= 1 << 20:
                _check_memory(world, path, piece * -(-size // len(piece)), call, shape)


def _check_memory(world: World, path: str, data: bytes, call: str, shape: str) -> None:
    world.restore()
    sealed(world.read, world.write, world.records(), path, data)
    is_read = len(data) <= LIMITS[_pattern_of(world, path)]
    most = _BESIDE + (4 * len(data) if is_read else 0)
    assert _peak(world, call) < most, (world.name, shape, call, len(data))
