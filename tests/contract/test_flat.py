"""A flat object store with the habits of several servers: the contracts hold on each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, OpenOptions
from fsspec_commit.testing.committer_contract.attempts import AttemptsContract
from fsspec_commit.testing.committer_contract.crashes import CrashesContract
from fsspec_commit.testing.committer_contract.damaged import DamagedContract
from fsspec_commit.testing.committer_contract.drivers import DriversContract
from fsspec_commit.testing.committer_contract.given import Given
from fsspec_commit.testing.committer_contract.lifecycle import LifecycleContract
from fsspec_commit.testing.committer_contract.lost_replies import LostRepliesContract
from fsspec_commit.testing.committer_contract.modes import ModesContract
from fsspec_commit.testing.committer_contract.names import NamesContract
from fsspec_commit.testing.committer_contract.neighbours import NeighboursContract
from fsspec_commit.testing.committer_contract.partitions import PartitionsContract
from fsspec_commit.testing.committer_contract.superseded import SupersededContract
from fsspec_commit.testing.store_contract import OpenAgain, ReadRaw, StoreContract, WriteRaw
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.flat.store import FlatStore

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

UPLOADING, RENAMING = "unversioned", "gcs"
"""One with each committer; by day, where habits make no difference, or it takes long."""
given_up = pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")


@pytest.fixture(params=ALL_HABITS)
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


def by_day_on(*chosen: str) -> pytest.MarkDecorator:
    """On the *chosen* ones by day, on the others by night."""
    names = [
        pytest.param(name, marks=() if name in chosen else pytest.mark.slow) for name in ALL_HABITS
    ]
    return pytest.mark.parametrize("bucket", names, indirect=True)


@by_day_on("unversioned", "minio", "by path", "gcs", "gen2")
class TestFlatStore(StoreContract):
    """By day where conditions, uploads and renames differ; tests of jobs use all."""

    @pytest.fixture
    def url(self, bucket: Bucket) -> str:
        return f"flat://{bucket.name}/out"

    @pytest.fixture
    def store(self, runner: asyncio.Runner, url: str) -> FlatStore:
        return runner.run(FlatStore.open(url, OpenOptions()))

    @pytest.fixture
    def read_raw(self, bucket: Bucket) -> ReadRaw:
        def read(path: str) -> bytes | None:
            found = bucket.get(StorePath(path))
            return None if found is None else found.data

        return read

    @pytest.fixture
    def write_raw(self, bucket: Bucket) -> WriteRaw:
        def write(path: str, data: bytes) -> None:
            bucket.put(StorePath(path), data, None, Expect.ANYTHING)

        return write

    @pytest.fixture
    def open_again(self, url: str) -> OpenAgain:
        return lambda: FlatStore.open(url, OpenOptions())


class OnFlat(Given):
    @pytest.fixture
    def destination(self, bucket: Bucket) -> Iterator[str]:
        yield f"flat://{bucket.name}/out"
        live = [key.partition("/_commit/")[0] for key in bucket.keys("") if "/job.json" in key]
        # Nothing that holds data is pending any more, where all jobs are settled.
        assert [
            upload.path
            for upload in bucket.uploads.values()
            if upload.parts and not any(upload.path.startswith(f"{root}/") for root in live)
        ] == []


@given_up
class TestFlatCommits(
    OnFlat, DriversContract, ModesContract, PartitionsContract, NeighboursContract
):
    """What habits make a difference to: what is deleted, and when, and beside whom."""


@given_up
@by_day_on(UPLOADING, RENAMING)
class TestFlatJobs(
    OnFlat,
    LifecycleContract,
    AttemptsContract,
    SupersededContract,
    DamagedContract,
    NamesContract,
):
    """What is alike on all."""


@given_up
@by_day_on(RENAMING)
class TestFlatFaults(OnFlat, CrashesContract, LostRepliesContract):
    """What is tried at every call: `tests/protocol` does so on all of them, in its own way.

    By day it leaves out calls where files are renamed, and this does where they are uploaded.
    """


@given_up
@pytest.mark.parametrize("bucket", [UPLOADING], indirect=True)
class TestSomeFlatFaults(OnFlat, CrashesContract, LostRepliesContract):
    """The same at some of the calls."""

    @pytest.fixture
    def every(self) -> int:
        return 5
