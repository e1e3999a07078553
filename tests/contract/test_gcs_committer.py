"""Whole jobs on GCS keep their contract, on the strict server; fake-gcs-server is refused.

What replaces files needs no versions here: a generation never comes back.
"""

from __future__ import annotations

from secrets import token_hex
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

import fsspec_commit as fc
from fsspec_commit.testing import CommitterContract
from fsspec_commit.testing.committer_contract.attempts import AttemptsContract
from fsspec_commit.testing.committer_contract.damaged import DamagedContract
from fsspec_commit.testing.committer_contract.drivers import DriversContract
from fsspec_commit.testing.committer_contract.given import Given
from fsspec_commit.testing.committer_contract.lifecycle import LifecycleContract
from fsspec_commit.testing.committer_contract.modes import ModesContract
from fsspec_commit.testing.committer_contract.names import NamesContract
from fsspec_commit.testing.committer_contract.neighbours import NeighboursContract
from fsspec_commit.testing.committer_contract.overtaken import OvertakenContract
from fsspec_commit.testing.committer_contract.partitions import PartitionsContract
from fsspec_commit.testing.committer_contract.rewrites import RewritesContract
from tests.servers.gcs.kinds_of_buckets import HIERARCHICAL
from tests.servers.gcs.plugin import GcsBucket

if TYPE_CHECKING:
    from tests.servers.gcs.server import GcsServer

given_up = pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")
strict = pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)


@pytest.fixture(scope="module")
def kept_buckets_of_gcs() -> dict[tuple[int, str], GcsBucket]:
    """One of each kind: what a process must find out about a bucket it finds out once."""
    return {}


class OnServer(Given):
    """A directory of a bucket that the tests share.

    Attributes:
        settings: Of the bucket.
    """

    settings: ClassVar[dict[str, Any]] = {}

    @pytest.fixture
    def bucket(
        self, gcs_server: GcsServer, kept_buckets_of_gcs: dict[tuple[int, str], GcsBucket]
    ) -> GcsBucket:
        key = gcs_server.pid, str(self.settings)
        if key not in kept_buckets_of_gcs:
            made = GcsBucket(gcs_server, gcs_server.new_bucket(**self.settings))
            kept_buckets_of_gcs[key] = made
        return kept_buckets_of_gcs[key]

    @pytest.fixture
    def destination(self, bucket: GcsBucket) -> str:
        url = f"{bucket.url}/{token_hex(8)}/top/out"
        # Its calls are the first job's only: every later one of a process knows the answer.
        assert fc.explain(url, storage_options=bucket.storage_options).committer == "manifest"
        return url

    @pytest.fixture
    def storage_options(self, bucket: GcsBucket) -> dict[str, Any]:
        return bucket.storage_options


@given_up
@strict
class TestGcsCommits(
    OnServer,
    LifecycleContract,
    AttemptsContract,
    RewritesContract,
    DriversContract,
    OvertakenContract,
    DamagedContract,
    NamesContract,
    NeighboursContract,
    ModesContract,
    PartitionsContract,
):
    """All but what is tried at every call."""


@pytest.mark.slow
@given_up
@strict
class TestGcsCommitsInFull(OnServer, CommitterContract):
    """Everything."""

    @pytest.fixture
    def every(self) -> int:
        return 3


@pytest.mark.slow
@given_up
@strict
class TestGcsHierarchicalCommitsInFull(OnServer, CommitterContract):
    """Everything, in a bucket with folders."""

    settings = HIERARCHICAL

    @pytest.fixture
    def every(self) -> int:
        return 9
