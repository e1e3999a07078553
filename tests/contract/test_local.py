"""The local store keeps the contract on a real file system."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.store import OpenOptions
from fsspec_commit.testing import CommitterContract, StoreContract
from fsspec_commit.testing.committer_contract.attempts import AttemptsContract
from fsspec_commit.testing.committer_contract.given import Given
from fsspec_commit.testing.committer_contract.lifecycle import LifecycleContract
from fsspec_commit.testing.committer_contract.modes import ModesContract
from fsspec_commit_stores.local import LocalStore
from tests.sweeps import every_by_day

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from fsspec_commit.layout import StorePath
    from fsspec_commit.selection import Request
    from fsspec_commit.testing.store_contract import OpenAgain, ReadRaw, WriteRaw


class TestLocalStore(StoreContract):
    @pytest.fixture
    def store(self, runner: asyncio.Runner, tmp_path: Path) -> Iterator[LocalStore]:
        store = runner.run(LocalStore.open(str(tmp_path / "out"), OpenOptions()))
        yield store
        runner.run(store.close())

    @pytest.fixture
    def read_raw(self) -> ReadRaw:
        return lambda path: Path(path).read_bytes() if Path(path).is_file() else None

    @pytest.fixture
    def write_raw(self) -> WriteRaw:
        def write(path: StorePath, data: bytes) -> None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(data)

        return write

    @pytest.fixture
    def open_again(self, tmp_path: Path) -> OpenAgain:
        return lambda: LocalStore.open(str(tmp_path / "out"), OpenOptions())


class OnDisk(Given):
    """In memory where the machine has such a disk: thousands of records are flushed here."""

    @pytest.fixture
    def destination(self, tmp_path: Path) -> Iterator[str]:
        memory = Path("/dev/shm")
        with TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as directory:
            yield f"{directory}/out"


class TestLocalCommits(OnDisk, CommitterContract):
    """With the best committer of a disk.

    At more calls it is tried by day in `tests/protocol` and, by real deaths, `tests/integration`.
    """

    @pytest.fixture(params=every_by_day(6))
    def every(self, request: pytest.FixtureRequest) -> int:
        return int(request.param)


class WithManifests(OnDisk):
    """With another that is safe as well."""

    @pytest.fixture
    def committer(self) -> Request:
        return "manifest"


class TestLocalManifests(WithManifests, LifecycleContract, AttemptsContract, ModesContract):
    """What a disk has to do with it; every call in turn is tried in memory, and here by night."""


@pytest.mark.slow
class TestLocalManifestCommits(WithManifests, CommitterContract):
    """Everything."""


class TestFileUrls(LifecycleContract):
    """A URL is another way to say the same."""

    @pytest.fixture
    def destination(self, tmp_path: Path) -> str:
        return f"file://{tmp_path}/with space/out"
