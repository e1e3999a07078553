"""Whole jobs on S3 keep their contract, on real servers of three makers.

Whatever depends on the server itself, races above all, is tried on two of the three in every run.
What depends on the protocol alone is tried on one of them. Damaged records and odd names are tried
by day on other kinds of stores, and odd names by the tests of S3's adapter. By night everything is
tried on all three.
"""

from __future__ import annotations

import secrets
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
from fsspec_commit.testing.committer_contract.partitions import PartitionsContract
from fsspec_commit.testing.committer_contract.rewrites import RewritesContract
from tests.integration.places import keep_versions

if TYPE_CHECKING:
    from tests.servers.plugin import KeptBuckets, S3Bucket
    from tests.servers.server import Server

NOT_BY_DAY: Any = None
"""In place of a test of a contract."""
given_up = pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")


class OnServer(Given):
    """A directory of a bucket without versions."""

    @pytest.fixture
    def bucket(self, s3_server: Server, kept_buckets: KeptBuckets) -> S3Bucket:
        return kept_buckets.get(s3_server)

    @pytest.fixture
    def destination(self, bucket: S3Bucket) -> str:
        url = f"{bucket.url}/{secrets.token_hex(8)}/out"
        # Its calls are the first job's only: every later one of a process knows the answer.
        assert fc.explain(url, storage_options=bucket.storage_options).committer == "magic"
        return url

    @pytest.fixture
    def storage_options(self, bucket: S3Bucket) -> dict[str, Any]:
        return bucket.storage_options


class Versioned(OnServer):
    """In a bucket that keeps versions, where any file may be overwritten."""

    @pytest.fixture
    def bucket(self, s3_server: Server, kept_buckets: KeptBuckets) -> S3Bucket:
        return kept_buckets.get(s3_server, keep_versions)


@given_up
@pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
class TestS3Commits(
    OnServer,
    LifecycleContract,
    AttemptsContract,
    RewritesContract,
    DriversContract,
    OvertakenContract,
    NeighboursContract,
):
    """All that is S3's own but for what is tried at every call."""


@given_up
@pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
class TestS3Names(OnServer, NamesContract):
    """What a file may be called; each odd name, and each thing in the way, by night."""

    test_an_odd_name_is_committed_or_refused = NOT_BY_DAY
    test_an_odd_name_is_overwritten = NOT_BY_DAY
    test_a_file_in_the_way_of_a_directory_is_refused = NOT_BY_DAY
    test_an_emptied_directory_in_the_way_is_refused = NOT_BY_DAY


@given_up
@pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
class TestS3VersionedCommits(Versioned, ModesContract, PartitionsContract):
    """What replaces files."""


@given_up
@pytest.mark.parametrize("s3_server", ["seaweedfs"], indirect=True)
class TestS3Drivers(OnServer, DriversContract):
    """What the server decides between drivers of one job."""


@given_up
@pytest.mark.parametrize("s3_server", ["versitygw"], indirect=True)
class TestS3Neighbours(OnServer, NeighboursContract):
    """What the server decides between jobs."""


@pytest.mark.slow
class TestS3CommitsInFull(OnServer, CommitterContract):
    """Everything, on each of the three; faults at more calls on the first."""

    @pytest.fixture
    def every(self, s3_server: Server) -> int:
        return 3 if s3_server.name == "ministack" else 9


@pytest.mark.slow
@pytest.mark.parametrize("s3_server", ["ministack", "seaweedfs"], indirect=True)
class TestS3VersionedCommitsInFull(Versioned, CommitterContract):
    """Everything, where versions are kept."""

    @pytest.fixture
    def every(self) -> int:
        return 9
