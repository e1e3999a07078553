"""Somebody else answers in place of each store: what a job tells stays true, and nothing is lost.

The service itself must have spoken: a proxy, an ingress or a login page has not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.impostors import JOBS, AnsweredForTests
from tests.scenes.attempts import learn
from tests.scenes.azure_places import azure_places
from tests.scenes.gcs_places import gcs_places
from tests.scenes.hdfs_places import hdfs_places, proxied_hdfs_places
from tests.scenes.places import s3_places
from tests.scenes.wire import Wire
from tests.servers.hdfs.requests import HdfsRequest
from tests.servers.proxy import FaultProxy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.scenes.places import Places
    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.gcs.plugin import GcsBucket
    from tests.servers.hdfs.plugin import HdfsDirectory
    from tests.servers.plugin import S3Bucket


@pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
class TestS3(AnsweredForTests):
    @pytest.fixture
    def wire(self, s3_bucket: S3Bucket, s3_proxy: FaultProxy) -> Wire:
        faulty = s3_places(s3_bucket, endpoint_url=s3_proxy.endpoint_url)
        return wire_of(s3_proxy, faulty, s3_places(s3_bucket), "magic")


@pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)
class TestGcs(AnsweredForTests):
    @pytest.fixture
    def wire(self, gcs_bucket: GcsBucket, gcs_proxy: FaultProxy) -> Wire:
        faulty = gcs_places(gcs_bucket, endpoint_url=gcs_proxy.endpoint_url)
        return wire_of(gcs_proxy, faulty, gcs_places(gcs_bucket), "manifest")


@pytest.mark.parametrize("azure_server", ["gen2"], indirect=True)
class TestAzureGen2(AnsweredForTests):
    @pytest.fixture
    def wire(self, azure_container: AzureContainer, azure_proxy: FaultProxy) -> Wire:
        faulty = azure_places(azure_container, endpoint_url=azure_proxy.endpoint_url)
        return wire_of(azure_proxy, faulty, azure_places(azure_container), "manifest")


@pytest.mark.parametrize("azure_server", ["azurite"], indirect=True)
class TestAzureFlat(AnsweredForTests):
    @pytest.fixture
    def wire(self, azure_container: AzureContainer, azure_proxy: FaultProxy) -> Wire:
        faulty = azure_places(azure_container, endpoint_url=azure_proxy.endpoint_url)
        return wire_of(azure_proxy, faulty, azure_places(azure_container), "magic")


@pytest.mark.parametrize("hdfs_directory", ["webhdfs"], indirect=True)
class TestWebHdfs(AnsweredForTests):
    """By an answer of WebHDFS's own form, or a `RemoteException`."""

    # A file costs a cluster more than it costs an emulator.
    day_every = 1441
    night_every = 101

    @pytest.fixture
    def wire(self, hdfs_directory: HdfsDirectory) -> Iterator[Wire]:
        """In front of the NameNode: who is redirected to a DataNode goes there by no proxy."""
        address = f"http://127.0.0.1:{hdfs_directory.cluster.http_port}"
        with FaultProxy(address, HdfsRequest) as proxy:
            faulty = proxied_hdfs_places(hdfs_directory, proxy)
            yield wire_of(proxy, faulty, hdfs_places(hdfs_directory), "v1")


def wire_of(proxy: FaultProxy, faulty: Places, direct: Places, committer: str) -> Wire:
    # The probe of this way to the store is the first job's only.
    learn(faulty("first"), committer)  # type: ignore[arg-type]  # they make RemotePlaces
    return Wire(proxy, JOBS["overwrite"], faulty, direct)  # type: ignore[arg-type]  # as above
