"""A record as long as it may be, or longer, fills no memory, whoever reads it.

What is measured is what the package takes beside the bytes that the store hands over.
"""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import cycle
from typing import TYPE_CHECKING, TypeAlias, TypeVar

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
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore
from tests.protocol.hostile.cases import CALLS, Case
from tests.protocol.hostile.long_records import (
    BY_DAY_BYTES,
    OWN,
    OWN_BYTES_MAX,
    SHAPES,
    grown,
    most_bytes,
    peak_bytes,
)
from tests.protocol.hostile.mutations import sealed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Store
    from tests.protocol.hostile.worlds import World

T = TypeVar("T")

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
CALLED = ("jobs", "resume", "drive", "work", "clean", "clean damaged", "abort")
Reading: TypeAlias = "tuple[World, StorePath, str]"
"""A world, a record in it, and a call that reads this record."""


class _Reads:
    """Which of a world's records a call has asked for."""

    def __init__(self) -> None:
        self.paths: dict[StorePath, None] = {}

    def __call__(self, store: Store) -> Store:
        return WrappedStore(store, self._carry)

    async def _carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb in {"read", "read_range"}:
            self.paths[path] = None
        return await call()


def _pattern_of(world: World, path: str) -> str | None:
    name = path.removeprefix(f"{world.area}/")
    return next((pattern for pattern in LIMITS if re.fullmatch(pattern, name)), None)


def _reads(world: World, call: str) -> dict[str, StorePath]:
    """A record of each kind that the call reads of this world, by its kind."""
    world.restore()
    reads = _Reads()
    with wrapping(reads), suppress(fc.CommitError):
        CALLS[call](Case(0, [world]))
    kinds = ((_pattern_of(world, path), path) for path in reads.paths)
    return {pattern: path for pattern, path in kinds if pattern and world.look.objects.get(path)}


@pytest.fixture(scope="module")
def readings(spoiled: list[World]) -> dict[str, list[Reading]]:
    """By kind of record: for each committer and each call that reads one, a world where it does."""
    found: dict[tuple[str, str, str], Reading] = {}
    for world in spoiled:
        committer = world.name.rpartition(", look")[0].rpartition(", ")[0]
        for call in CALLED:
            for pattern, path in _reads(world, call).items():
                found.setdefault((pattern, call, committer), (world, path, call))
    return {
        pattern: [reading for key, reading in found.items() if key[0] == pattern]
        for pattern in LIMITS
    }


def _peak(world: World, call: str, digests: dict[str, str]) -> int:
    case = Case(0, [world], digests=digests)
    return peak_bytes(lambda: CALLS[call](case))


@pytest.mark.parametrize("pattern", LIMITS)
def test_p10_memory_is_bounded(readings: dict[str, list[Reading]], pattern: str) -> None:
    """Up to a mebibyte: each call that reads such a record, with a shape or two."""
    by_call = {call: (world, path, call) for world, path, call in readings[pattern]}
    assert by_call, f"no call reads a record like {pattern}"
    for reading, shape in zip(by_call.values(), cycle([*SHAPES, OWN]), strict=False):
        for size_bytes in (min(LIMITS[pattern], BY_DAY_BYTES), LIMITS[pattern] + 1):
            if size_bytes <= BY_DAY_BYTES:
                _check_memory(reading, shape, size_bytes)


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLED)
@pytest.mark.parametrize("shape", [*SHAPES, OWN])
@pytest.mark.parametrize("pattern", LIMITS)
def test_p10_memory_is_bounded_up_to_the_limit(
    readings: dict[str, list[Reading]], pattern: str, shape: str, call: str
) -> None:
    """As long as it may be, and longer: read by each call of each committer."""
    read_by = [reading for reading in readings[pattern] if reading[2] == call]
    if not read_by:
        pytest.skip("it reads no such record")
    sizes = [LIMITS[pattern], LIMITS[pattern] + 1]
    if shape == OWN and LIMITS[pattern] >= OWN_BYTES_MAX:
        del sizes[1:]  # Neither is longer than that.
    for reading in read_by:
        for size_bytes in sizes:
            _check_memory(reading, shape, size_bytes)


def _check_memory(reading: Reading, shape: str, size_bytes: int) -> None:
    world, path, call = reading
    world.restore()
    data = grown(world.read(path), shape, size_bytes)
    digests = sealed(world.read, world.write, world.records(), path, data)
    pattern = _pattern_of(world, path)
    assert pattern is not None
    is_read = len(data) <= LIMITS[pattern]
    most = most_bytes(data if is_read else b"")
    assert _peak(world, call, digests) < most, (world.name, path, shape, call, size_bytes)
