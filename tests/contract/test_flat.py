"""A flat object store with the habits of several servers: the contracts hold on each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, OpenOptions
from fsspec_commit.testing.committer_contract import CommitterContract
from fsspec_commit.testing.store_contract import OpenAgain, ReadRaw, StoreContract, WriteRaw
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.flat.store import FlatStore

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator


@pytest.fixture(params=ALL_HABITS)
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


class TestFlatStore(StoreContract):
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


class TestFlatCommits(CommitterContract):
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
