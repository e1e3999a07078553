"""Each adapter believes its service alone: what the contract tries, by a proxy between.

Of HDFS what the NameNode is asked; data goes to DataNodes, by no proxy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.store import OpenOptions
from fsspec_commit.testing.store_contract.answered_for import AnsweredForContract
from fsspec_commit_stores.hdfs import HdfsStore
from tests.contract import test_azure, test_gcs, test_s3
from tests.scenes.remotes import on
from tests.servers.impostors import AnsweringProxy
from tests.sweeps import some_tests_by_day

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from fsspec_commit.store import Store
    from fsspec_commit.testing.store_contract import ReadRaw
    from tests.scenes.remotes import Remote
    from tests.servers.proxy import FaultProxy

STORES: dict[str, Any] = {
    "ministack": test_s3.VouchedStore,
    "strict-gcs": test_gcs.VouchedStore,
    "gen2": test_azure.VouchedStore,
    "azurite": test_azure.VouchedStore,
    "webhdfs": HdfsStore,
}


@some_tests_by_day(2, everywhere=True)
@on("ministack", "strict-gcs", "gen2", "azurite", by_night=("webhdfs",))
class TestRemote(AnsweredForContract):
    @pytest.fixture
    def answered_for(self, proxy: FaultProxy) -> AnsweringProxy:
        return AnsweringProxy(proxy)

    @pytest.fixture
    def store(self, runner: asyncio.Runner, remote: Remote, proxy: FaultProxy) -> Iterator[Store]:
        place = remote.place("some where/out=1", proxy=proxy)
        options = OpenOptions(storage_options=place.how["storage_options"])
        store = runner.run(STORES[remote.name].open(place.url, options))
        yield store
        runner.run(store.close())

    @pytest.fixture
    def read_raw(self, remote: Remote) -> ReadRaw:
        read: ReadRaw = remote.bucket.read
        return read
