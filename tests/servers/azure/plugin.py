"""The fixtures of the Azure accounts, for every folder of tests: loaded by `tests/conftest.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.servers.azure.kinds import AZURE_KINDS, AZURITE, GEN2
from tests.servers.azure.requests import AzureRequest
from tests.servers.azure.server import AzureServer, AzureServers
from tests.servers.plugin import forget_environment, lent
from tests.servers.proxy import FaultProxy
from tests.servers.server_process import Bucket

if TYPE_CHECKING:
    from collections.abc import Iterator


class AzureContainer(Bucket[AzureServer]):
    """A container of the test's own in a running account."""

    @property
    def client(self) -> Any:
        """Of the Blob endpoint."""
        return self.server.client.get_container_client(self.name)

    @property
    def dfs_client(self) -> Any:
        """Of the DFS endpoint."""
        return self.server.dfs_client.get_file_system_client(self.name)

    def read(self, path: str) -> bytes | None:
        """What stands at a path that begins with the container's name, if anything does."""
        from azure.core.exceptions import ResourceNotFoundError

        try:
            data: bytes = self.client.download_blob(path.partition("/")[2]).readall()
        except ResourceNotFoundError:
            return None
        return data

    def write(self, path: str, data: bytes) -> None:
        """Put a blob, as somebody who knows nothing of jobs."""
        self.client.upload_blob(path.partition("/")[2], data, overwrite=True)


@pytest.fixture(scope="session")
def azure_servers() -> Iterator[AzureServers]:
    with AzureServers(AzureServer) as servers:
        yield servers


@pytest.fixture
def azure_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No account of the person who runs the tests: for child processes as well."""
    forget_environment(monkeypatch, "AZURE_")


@pytest.fixture(params=list(AZURE_KINDS))
def azure_server(
    request: pytest.FixtureRequest,
    azure_servers: AzureServers,
    azure_environment: None,
) -> Iterator[AzureServer]:
    """Each of the two accounts in turn, or the one named by an indirect parameter.

    Where one is not installed or does not start its tests are skipped, and fail where `CI` is set.
    A test may kill it; the next one gets a server that runs, and on which nothing is set.
    """
    yield from lent(azure_servers, AZURE_KINDS[request.param])


@pytest.fixture
def gen2_server(azure_servers: AzureServers, azure_environment: None) -> Iterator[AzureServer]:
    """The account with a hierarchical namespace."""
    yield from lent(azure_servers, GEN2)


@pytest.fixture
def azurite(azure_servers: AzureServers, azure_environment: None) -> Iterator[AzureServer]:
    """The account with flat names."""
    yield from lent(azure_servers, AZURITE)


@pytest.fixture
def azure_container(azure_server: AzureServer) -> AzureContainer:
    """A new container in each of the two accounts in turn."""
    return AzureContainer(azure_server, azure_server.new_container())


@pytest.fixture
def gen2_container(gen2_server: AzureServer) -> AzureContainer:
    return AzureContainer(gen2_server, gen2_server.new_container())


@pytest.fixture
def azurite_container(azurite: AzureServer) -> AzureContainer:
    return AzureContainer(azurite, azurite.new_container())


@pytest.fixture
def azure_proxy(azure_server: AzureServer) -> Iterator[FaultProxy]:
    """In front of the test's account: see `AzureServer.storage_options_through`."""
    with FaultProxy(azure_server.endpoint_url, AzureRequest) as proxy:
        yield proxy


@pytest.fixture
def gen2_proxy(gen2_server: AzureServer) -> Iterator[FaultProxy]:
    with FaultProxy(gen2_server.endpoint_url, AzureRequest) as proxy:
        yield proxy
