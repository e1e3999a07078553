"""The HDFS store keeps the contract on a real cluster, through both of its clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.store import OpenOptions
from fsspec_commit.testing import StoreContract
from fsspec_commit_stores.hdfs import HdfsStore

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from fsspec_commit.layout import StorePath
    from fsspec_commit.testing.store_contract import ReadRaw, WriteRaw
    from tests.servers.hdfs.plugin import HdfsDirectory


class TestHdfsStore(StoreContract):
    """Reads and writes past the adapter with hdfs-native's synchronous client."""

    @pytest.fixture
    def store(self, runner: asyncio.Runner, hdfs_directory: HdfsDirectory) -> Iterator[HdfsStore]:
        url = f"{hdfs_directory.url}/some where/out=1"
        options = OpenOptions(storage_options=hdfs_directory.storage_options)
        store = runner.run(HdfsStore.open(url, options))
        yield store
        runner.run(store.close())

    @pytest.fixture
    def read_raw(self, hdfs_directory: HdfsDirectory) -> ReadRaw:
        return hdfs_directory.read

    @pytest.fixture
    def write_raw(self, hdfs_directory: HdfsDirectory) -> WriteRaw:
        def write(path: StorePath, data: bytes) -> None:
            hdfs_directory.write(path, data)

        return write
