"""Each adapter believes its service alone: what the contract tries, by a proxy between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.store import OpenOptions
from fsspec_commit.testing.store_contract.answered_for import AnsweredForContract
from fsspec_commit_stores.hdfs import HdfsStore
from tests.contract import test_azure, test_gcs, test_s3
from tests.servers.hdfs.requests import HdfsRequest
from tests.servers.impostors import AnsweringProxy
from tests.servers.proxy import FaultProxy

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from fsspec_commit.testing.store_contract import ReadRaw
    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.gcs.plugin import GcsBucket
    from tests.servers.hdfs.plugin import HdfsDirectory
    from tests.servers.plugin import S3Bucket

OUT = "/some where/out=1"


@pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
class TestS3(test_s3.OnServer, AnsweredForContract):
    @pytest.fixture
    def answered_for(self, s3_proxy: FaultProxy) -> AnsweringProxy:
        return AnsweringProxy(s3_proxy)

    @pytest.fixture
    def store(
        self, runner: asyncio.Runner, s3_bucket: S3Bucket, s3_proxy: FaultProxy
    ) -> Iterator[test_s3.VouchedStore]:
        through = s3_bucket.server.storage_options_through(s3_proxy.endpoint_url)
        options = OpenOptions(storage_options=through)
        store = runner.run(test_s3.VouchedStore.open(s3_bucket.url + OUT, options))
        yield store
        runner.run(store.close())


@pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)
class TestGcs(test_gcs.OnServer, AnsweredForContract):
    @pytest.fixture
    def answered_for(self, gcs_proxy: FaultProxy) -> AnsweringProxy:
        return AnsweringProxy(gcs_proxy)

    @pytest.fixture
    def store(
        self, runner: asyncio.Runner, gcs_bucket: GcsBucket, gcs_proxy: FaultProxy
    ) -> Iterator[test_gcs.VouchedStore]:
        through = gcs_bucket.server.storage_options_through(gcs_proxy.endpoint_url)
        options = OpenOptions(storage_options=through)
        store = runner.run(test_gcs.VouchedStore.open(gcs_bucket.url + OUT, options))
        yield store
        runner.run(store.close())


class TestAzure(test_azure.OnServer, AnsweredForContract):
    @pytest.fixture
    def answered_for(self, azure_proxy: FaultProxy) -> AnsweringProxy:
        return AnsweringProxy(azure_proxy)

    @pytest.fixture
    def store(
        self, runner: asyncio.Runner, azure_container: AzureContainer, azure_proxy: FaultProxy
    ) -> Iterator[test_azure.VouchedStore]:
        through = azure_container.server.storage_options_through(azure_proxy.endpoint_url)
        options = OpenOptions(storage_options=through)
        store = runner.run(test_azure.VouchedStore.open(azure_container.url + OUT, options))
        yield store
        runner.run(store.close())


@pytest.mark.slow
@pytest.mark.parametrize("hdfs_directory", ["webhdfs"], indirect=True)
class TestWebHdfs(AnsweredForContract):
    """What the NameNode is asked; data goes to DataNodes, by no proxy."""

    @pytest.fixture
    def proxy(self, hdfs_directory: HdfsDirectory) -> Iterator[FaultProxy]:
        address = f"http://127.0.0.1:{hdfs_directory.cluster.http_port}"
        with FaultProxy(address, HdfsRequest) as proxy:
            yield proxy

    @pytest.fixture
    def answered_for(self, proxy: FaultProxy) -> AnsweringProxy:
        return AnsweringProxy(proxy)

    @pytest.fixture
    def read_raw(self, hdfs_directory: HdfsDirectory) -> ReadRaw:
        return hdfs_directory.read

    @pytest.fixture
    def store(
        self, runner: asyncio.Runner, hdfs_directory: HdfsDirectory, proxy: FaultProxy
    ) -> Iterator[HdfsStore]:
        address = proxy.endpoint_url.removeprefix("http://")
        options = OpenOptions(storage_options=hdfs_directory.storage_options)
        url = f"webhdfs://{address}{hdfs_directory.path}{OUT}"
        store = runner.run(HdfsStore.open(url, options))
        yield store
        runner.run(store.close())
