"""One record for each store that is reached over a network: its server, and the test's own bucket.

A pytest plugin, loaded by `tests/conftest.py`. A test that takes `remote` says by `on` which;
`proxy` lies on the way there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pytest

from tests.servers.http_messages import Request
from tests.servers.plugin import S3Bucket, lent
from tests.servers.proxy import FaultProxy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.scenes.places import RemotePlace


@dataclass(frozen=True)
class Remote:
    """A store as a job finds it.

    Attributes:
        name: Its server's.
        committer: What publishes files there.
        bucket: The test's own bucket, container or directory.
        places: Destinations there: of a bucket, reached at its server or at `endpoint_url`.
        endpoint_url: What a proxy stands in front of.
        request_type: How a proxy reads what is sent there.
    """

    name: str
    committer: str
    bucket: Any
    places: Callable[..., Callable[[object], Any]]
    endpoint_url: str
    request_type: type[Request]

    @property
    def server(self) -> Any:
        return self.bucket.server

    @property
    def options(self) -> Mapping[str, Any]:
        """The storage options of somebody who may do everything."""
        options: Mapping[str, Any] = self.bucket.storage_options
        return options

    @property
    def url(self) -> str:
        """A destination in the bucket."""
        return f"{self.bucket.url}/out"

    def place(self, name: object = "out", *, proxy: FaultProxy | None = None) -> RemotePlace:
        """The destination of this name, reached by *proxy*."""
        place: RemotePlace = self.through(proxy)(name)
        return place

    def through(self, proxy: FaultProxy | None = None) -> Callable[[object], RemotePlace]:
        """A destination for each name, reached by *proxy*."""
        url = None if proxy is None else proxy.endpoint_url
        return self.places(self.bucket, endpoint_url=url)


def on(*names: str, by_night: tuple[str, ...] = ()) -> pytest.MarkDecorator:
    """The servers of a test that takes `remote`."""
    slow = [pytest.param(name, marks=pytest.mark.slow) for name in by_night]
    return pytest.mark.parametrize("remote", [*names, *slow], indirect=True)


@pytest.fixture
def remote(request: pytest.FixtureRequest) -> Iterator[Remote]:
    """A new bucket on the server that is named: see `on`."""
    if request.param in {"strict-gcs", "fake-gcs-server"}:
        yield from _on_gcs(request)
    elif request.param in {"gen2", "azurite"}:
        yield from _on_azure(request)
    elif request.param in {"hdfs", "webhdfs"}:
        yield _on_hdfs(request)
    else:
        yield from _on_s3(request)


@pytest.fixture
def proxy(remote: Remote) -> Iterator[FaultProxy]:
    """In front of the server; of a cluster, in front of the NameNode's HTTP port."""
    with FaultProxy(remote.endpoint_url, remote.request_type) as proxy:
        yield proxy


def _on_s3(request: pytest.FixtureRequest) -> Iterator[Remote]:
    from tests.scenes.places import s3_places
    from tests.servers.kinds import KINDS

    request.getfixturevalue("s3_environment")
    for server in lent(request.getfixturevalue("servers"), KINDS[request.param]):
        bucket = S3Bucket(server, server.new_bucket())
        yield Remote(request.param, "magic", bucket, s3_places, server.endpoint_url, Request)


def _on_gcs(request: pytest.FixtureRequest) -> Iterator[Remote]:
    from tests.scenes.gcs_places import gcs_places
    from tests.servers.gcs.kinds import KINDS
    from tests.servers.gcs.plugin import GcsBucket
    from tests.servers.gcs.requests import GcsRequest

    request.getfixturevalue("gcs_environment")
    for server in lent(request.getfixturevalue("gcs_servers"), KINDS[request.param]):
        bucket = GcsBucket(server, server.new_bucket())
        yield Remote(request.param, "manifest", bucket, gcs_places, server.endpoint_url, GcsRequest)


def _on_azure(request: pytest.FixtureRequest) -> Iterator[Remote]:
    from tests.scenes.azure_places import azure_places
    from tests.servers.azure.kinds import AZURE_KINDS
    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.azure.requests import AzureRequest

    request.getfixturevalue("azure_environment")
    for server in lent(request.getfixturevalue("azure_servers"), AZURE_KINDS[request.param]):
        bucket = AzureContainer(server, server.new_container())
        committer = "manifest" if server.is_hierarchical else "magic"
        url = server.endpoint_url
        yield Remote(request.param, committer, bucket, azure_places, url, AzureRequest)


def _on_hdfs(request: pytest.FixtureRequest) -> Remote:
    from tests.scenes.hdfs_places import hdfs_places
    from tests.servers.hdfs.plugin import HdfsDirectory
    from tests.servers.hdfs.requests import HdfsRequest

    cluster = request.getfixturevalue("hdfs_cluster")
    bucket = HdfsDirectory(cluster, request.param, f"/test-{token_hex(8)}/out")
    url = f"http://127.0.0.1:{cluster.http_port}"
    return Remote(request.param, "v1", bucket, hdfs_places, url, HdfsRequest)
