"""Whole jobs on Azure keep their contract, in both kinds of accounts.

By day what the servers decide or what differs between the two; by night everything in both.
"""

from __future__ import annotations

from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from fsspec_commit.testing import CommitterContract
from fsspec_commit.testing.committer_contract.attempts import AttemptsContract
from fsspec_commit.testing.committer_contract.drivers import DriversContract
from fsspec_commit.testing.committer_contract.given import Given
from fsspec_commit.testing.committer_contract.lifecycle import LifecycleContract
from fsspec_commit.testing.committer_contract.modes import ModesContract
from fsspec_commit.testing.committer_contract.names import NamesContract
from fsspec_commit.testing.committer_contract.neighbours import NeighboursContract
from fsspec_commit.testing.committer_contract.overtaken import OvertakenContract
from fsspec_commit.testing.committer_contract.rewrites import RewritesContract
from tests.servers.azure.plugin import AzureContainer

if TYPE_CHECKING:
    from tests.servers.azure.server import AzureServer

given_up = pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")


@pytest.fixture(scope="module")
def kept_containers() -> dict[int, AzureContainer]:
    """One of each server: what a process must find out about a container it finds out once."""
    return {}


class OnServer(Given):
    """A directory of a container that the tests share."""

    @pytest.fixture
    def azure_container(
        self, azure_server: AzureServer, kept_containers: dict[int, AzureContainer]
    ) -> AzureContainer:
        if azure_server.pid not in kept_containers:
            made = AzureContainer(azure_server, azure_server.new_container())
            kept_containers[azure_server.pid] = made
        return kept_containers[azure_server.pid]

    @pytest.fixture
    def destination(self, azure_container: AzureContainer) -> str:
        url = f"{azure_container.url}/{token_hex(8)}/top/out"
        chosen = "manifest" if azure_container.server.is_hierarchical else "magic"
        # Its calls are the first job's only: every later one of a process knows the answer.
        found = fc.explain(url, storage_options=azure_container.storage_options)
        assert found.committer == chosen
        return url

    @pytest.fixture
    def storage_options(self, azure_container: AzureContainer) -> dict[str, Any]:
        return azure_container.storage_options


@given_up
@pytest.mark.parametrize("azure_server", ["gen2"], indirect=True)
class TestGen2Commits(
    OnServer,
    LifecycleContract,
    AttemptsContract,
    RewritesContract,
    DriversContract,
    OvertakenContract,
    ModesContract,
    NamesContract,
    NeighboursContract,
):
    """All but what is tried at every call, and what the committer does alike on GCS."""


@given_up
@pytest.mark.parametrize("azure_server", ["azurite"], indirect=True)
class TestFlatCommits(
    OnServer,
    LifecycleContract,
    AttemptsContract,
    RewritesContract,
    DriversContract,
    OvertakenContract,
    ModesContract,
):
    """What depends on uploads that are keyed by path."""


@pytest.mark.slow
class TestAzureCommitsInFull(OnServer, CommitterContract):
    """Everything, in both."""

    @pytest.fixture
    def every(self) -> int:
        return 3
