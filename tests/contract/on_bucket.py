"""A store in a bucket of the test's own, looked at past the adapter by the service's own client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.store import OpenOptions
from fsspec_commit.testing.store_contract.given import Given

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from fsspec_commit.store import Store
    from fsspec_commit.testing.store_contract import ReadRaw, WriteRaw


class OnBucket(Given):
    """In a directory of `bucket`, which a store's tests give.

    Races run as tasks of one loop, each on a connection of its own: it is the server that decides
    them. Threads would only share out the time that a client takes for a request.
    """

    @pytest.fixture
    def adapter(self) -> Any:
        """The class of the store, with what the tests know of the server."""
        raise NotImplementedError

    @pytest.fixture
    def bucket(self) -> Any:
        raise NotImplementedError

    @pytest.fixture
    def prefix(self) -> str:
        return "/some where/out=1"

    @pytest.fixture
    def everywhere(self) -> dict[str, Any]:
        """Options beside the bucket's own."""
        return {}

    @pytest.fixture
    def store(
        self,
        runner: asyncio.Runner,
        adapter: Any,
        bucket: Any,
        prefix: str,
        everywhere: dict[str, Any],
    ) -> Iterator[Store]:
        options = OpenOptions(storage_options={**bucket.storage_options, **everywhere})
        store: Store = runner.run(adapter.open(bucket.url + prefix, options))
        yield store
        runner.run(store.close())

    @pytest.fixture
    def read_raw(self, bucket: Any) -> ReadRaw:
        read: ReadRaw = bucket.read
        return read

    @pytest.fixture
    def write_raw(self, bucket: Any) -> WriteRaw:
        write: WriteRaw = bucket.write
        return write
