"""Whole jobs on HDFS keep their contract, through either client.

By day what the cluster decides, and through one client what depends on the protocol alone; by
night everything through both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import fsspec_commit as fc
from fsspec_commit.testing import CommitterContract
from fsspec_commit.testing.committer_contract.attempts import AttemptsContract
from fsspec_commit.testing.committer_contract.drivers import DriversContract
from fsspec_commit.testing.committer_contract.given import Files, Given, Place, shown
from fsspec_commit.testing.committer_contract.lifecycle import LifecycleContract
from fsspec_commit.testing.committer_contract.modes import ModesContract
from fsspec_commit.testing.committer_contract.names import NamesContract
from fsspec_commit.testing.committer_contract.neighbours import NeighboursContract
from fsspec_commit.testing.committer_contract.overtaken import OvertakenContract
from fsspec_commit.testing.committer_contract.rewrites import RewritesContract
from tests.integration.hdfs_places import HdfsPlace
from tests.protocol.invariants import AREA
from tests.servers.hdfs.plugin import HdfsDirectory

given_up = pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")


@dataclass(frozen=True, kw_only=True)
class PlaceOnCluster(Place):
    """Looked at past the package by hdfs-native's client: fsspec's clients cut names at a '?'."""

    above: HdfsDirectory

    @property
    def there(self) -> HdfsPlace:
        return HdfsPlace(self.above, self.url.removeprefix(f"{self.above.url}/"))

    def put(self, files: Files) -> None:
        self.there.put(files)

    def everything(self) -> dict[str, bytes]:
        return self.there.data()

    def assert_committed(self, *tasks: Files, marker: bool = True) -> None:
        """As it is; names with a '#', on which fsspec's client recurses, are looked at here."""
        if not any("#" in name for files in tasks for name in files):
            super().assert_committed(*tasks, marker=marker)
            return
        assert self.visible() == shown(*tasks)
        left = [name for name in self.there.snapshot() if name.startswith(AREA)]
        assert all("/epoch-" in name for name in left), left


class OnCluster(Given):
    """A directory of the cluster."""

    @pytest.fixture
    def place(
        self, hdfs_directory: HdfsDirectory, destination: str, storage_options: dict[str, Any]
    ) -> Place:
        return PlaceOnCluster(
            url=destination, storage_options=storage_options, above=hdfs_directory
        )

    @pytest.fixture
    def destination(self, hdfs_directory: HdfsDirectory) -> str:
        url = f"{hdfs_directory.url}/top/out"
        found = fc.explain(url, storage_options=hdfs_directory.storage_options)
        assert found.committer == "v1"
        return url

    @pytest.fixture
    def storage_options(self, hdfs_directory: HdfsDirectory) -> dict[str, Any]:
        return hdfs_directory.storage_options


@given_up
@pytest.mark.parametrize("hdfs_directory", ["hdfs"], indirect=True)
class TestHdfsCommits(
    OnCluster,
    LifecycleContract,
    AttemptsContract,
    RewritesContract,
    DriversContract,
    OvertakenContract,
    ModesContract,
    NamesContract,
    NeighboursContract,
):
    """All but what is tried at every call, and what the committer does alike on a local disk."""


@given_up
@pytest.mark.parametrize("hdfs_directory", ["webhdfs"], indirect=True)
class TestWebHdfsCommits(OnCluster, DriversContract):
    """What its client could do otherwise; whom others overtake, they overtake before any client."""


@given_up
@pytest.mark.slow
class TestHdfsCommitsInFull(OnCluster, CommitterContract):
    """Everything, through both; faults at more calls through the first."""

    @pytest.fixture
    def every(self, hdfs_directory: HdfsDirectory) -> int:
        return 3 if hdfs_directory.protocol == "hdfs" else 9
