"""The memory store keeps the contract, and shares its files with plain fsspec."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from uuid import uuid4

import fsspec
import pytest

from fsspec_commit.store import OpenOptions
from fsspec_commit.testing.committer_contract import CommitterContract
from fsspec_commit.testing.store_contract import OpenAgain, ReadRaw, StoreContract, WriteRaw
from fsspec_commit_stores.memory import MemoryStore
from tests.sweeps import every_by_day

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from fsspec_commit.selection import Request


@pytest.fixture
def url() -> Iterator[str]:
    url = f"memory://contract-{uuid4().hex}/out"
    yield url
    plain = fsspec.filesystem("memory")
    top = url.removeprefix("memory:/").removesuffix("/out")
    if plain.exists(top):
        plain.rm(top, recursive=True)


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self, runner: asyncio.Runner, url: str) -> MemoryStore:
        return runner.run(MemoryStore.open(url, OpenOptions()))

    @pytest.fixture
    def read_raw(self) -> ReadRaw:
        plain = fsspec.filesystem("memory")
        return lambda path: cast("bytes", plain.cat_file(path)) if plain.isfile(path) else None

    @pytest.fixture
    def write_raw(self) -> WriteRaw:
        return cast("WriteRaw", fsspec.filesystem("memory").pipe_file)

    @pytest.fixture
    def open_again(self, url: str) -> OpenAgain:
        return lambda: MemoryStore.open(url, OpenOptions())


class TestMemoryCommits(CommitterContract):
    """What goes wrong at every call is tried by day on a disk (`tests/protocol`), here at some."""

    @pytest.fixture
    def destination(self, url: str) -> str:
        return url

    @pytest.fixture(params=every_by_day(10))
    def every(self, request: pytest.FixtureRequest) -> int:
        return int(request.param)


class TestMemoryManifestCommits(TestMemoryCommits):
    """As safe as v1, which is what a disk gets unless somebody asks.

    At more calls it is tried by day on a flat store, which asks more of it.
    """

    @pytest.fixture
    def committer(self) -> Request:
        return "manifest"
