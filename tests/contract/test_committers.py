"""Whole jobs keep their contract on S3, GCS, Azure and HDFS.

By day what a server itself decides is tried on it, races above all, and on one server of each kind
what depends on the protocol alone; what a committer does alike on a disk, or on another kind of
server, is tried there. By night everything is tried everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

import fsspec_commit as fc
from fsspec_commit.testing import CommitterContract
from fsspec_commit.testing.committer_contract.adoption import AdoptionContract
from fsspec_commit.testing.committer_contract.attempts import AttemptsContract
from fsspec_commit.testing.committer_contract.damaged import DamagedContract
from fsspec_commit.testing.committer_contract.drivers import DriversContract
from fsspec_commit.testing.committer_contract.given import Files, Given, Place, shown
from fsspec_commit.testing.committer_contract.lifecycle import LifecycleContract
from fsspec_commit.testing.committer_contract.modes import ModesContract
from fsspec_commit.testing.committer_contract.names import NamesContract
from fsspec_commit.testing.committer_contract.neighbours import NeighboursContract
from fsspec_commit.testing.committer_contract.partitions import PartitionsContract
from fsspec_commit.testing.committer_contract.rewrites import RewritesContract
from fsspec_commit.testing.committer_contract.superseded import SupersededContract
from tests.protocol.invariants import AREA
from tests.scenes.hdfs_places import HdfsPlace
from tests.scenes.places import keep_versions
from tests.servers.azure.plugin import AzureContainer
from tests.servers.gcs.kinds_of_buckets import HIERARCHICAL
from tests.servers.gcs.plugin import GcsBucket
from tests.servers.hdfs.plugin import HdfsDirectory
from tests.sweeps import some_tests_by_day

if TYPE_CHECKING:
    from tests.servers.azure.server import AzureServer
    from tests.servers.gcs.server import GcsServer
    from tests.servers.plugin import KeptBuckets, S3Bucket
    from tests.servers.server import Server

pytestmark = pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")
NOT_BY_DAY: Any = None
"""In place of a test of a contract."""


@pytest.fixture(scope="module")
def kept() -> dict[tuple[int, str], Any]:
    """A bucket of each kind: what a process must find out about one it finds out once."""
    return {}


class OnServer(Given):
    """A directory of a `bucket` that the tests share.

    Attributes:
        chosen: The committer that is found for it.
        calls_left_out: At one in so many calls something fails.
    """

    chosen: ClassVar[str]
    calls_left_out: ClassVar[int] = 3

    @pytest.fixture
    def every(self) -> int:
        return self.calls_left_out

    @pytest.fixture
    def bucket(self) -> Any:
        raise NotImplementedError

    @pytest.fixture
    def destination(self, bucket: Any) -> str:
        url = f"{bucket.url}/{token_hex(8)}/top/out"
        # Its calls are the first job's only: every later one of a process knows the answer.
        found = fc.explain(url, storage_options=bucket.storage_options)
        assert found.committer == self.chosen
        return url

    @pytest.fixture
    def storage_options(self, bucket: Any) -> dict[str, Any]:
        options: dict[str, Any] = bucket.storage_options
        return options


class Usual(
    LifecycleContract, AttemptsContract, AdoptionContract, RewritesContract, DriversContract
):
    """What is drawn from by day on one server of each kind, without what is tried at every call."""


class OnS3(OnServer):
    """In a bucket without versions."""

    chosen = "magic"

    @pytest.fixture
    def bucket(self, s3_server: Server, kept_buckets: KeptBuckets) -> S3Bucket:
        return kept_buckets.get(s3_server)


class Versioned(OnS3):
    """In a bucket that keeps versions, where any file may be overwritten."""

    @pytest.fixture
    def bucket(self, s3_server: Server, kept_buckets: KeptBuckets) -> S3Bucket:
        return kept_buckets.get(s3_server, keep_versions)


on_ministack = pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)


@some_tests_by_day(2, everywhere=True)
@on_ministack
class TestS3Commits(OnS3, Usual, SupersededContract, NeighboursContract):
    """All that is S3's own. Damaged records are tried by day on other kinds of stores."""


@on_ministack
class TestS3Names(OnS3, NamesContract):
    """What a file may be called; each odd name, and each thing in the way, by night."""

    test_an_odd_name_is_committed_or_refused = NOT_BY_DAY
    test_an_odd_name_is_overwritten = NOT_BY_DAY
    test_a_file_in_the_way_of_a_directory_is_refused = NOT_BY_DAY
    test_an_emptied_directory_in_the_way_is_refused = NOT_BY_DAY


@some_tests_by_day(2, everywhere=True)
@on_ministack
class TestS3VersionedCommits(Versioned, ModesContract, PartitionsContract):
    """What replaces files."""


@some_tests_by_day(3)
@pytest.mark.parametrize("s3_server", ["seaweedfs"], indirect=True)
class TestS3Drivers(OnS3, DriversContract):
    """What the server decides between drivers of one job."""


@some_tests_by_day(3)
@pytest.mark.parametrize("s3_server", ["versitygw"], indirect=True)
class TestS3Neighbours(OnS3, NeighboursContract):
    """What the server decides between jobs."""


@pytest.mark.slow
class TestS3CommitsInFull(OnS3, CommitterContract):
    """Everything, on each of the three; faults at more calls on the first."""

    @pytest.fixture
    def every(self, s3_server: Server) -> int:
        return 3 if s3_server.name == "ministack" else 9


@pytest.mark.slow
@pytest.mark.parametrize("s3_server", ["ministack", "seaweedfs"], indirect=True)
class TestS3VersionedCommitsInFull(Versioned, CommitterContract):
    """Everything, where versions are kept."""

    calls_left_out = 9


class OnGcs(OnServer):
    """What replaces files needs no versions here: a generation never comes back.

    Attributes:
        settings: Of the bucket.
    """

    chosen = "manifest"
    settings: ClassVar[dict[str, Any]] = {}

    @pytest.fixture
    def bucket(self, gcs_server: GcsServer, kept: dict[tuple[int, str], GcsBucket]) -> GcsBucket:
        key = gcs_server.pid, str(self.settings)
        if key not in kept:
            kept[key] = GcsBucket(gcs_server, gcs_server.new_bucket(**self.settings))
        return kept[key]


strict = pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)
"""The other one, fake-gcs-server, is refused."""


@some_tests_by_day(2, everywhere=True)
@strict
class TestGcsCommits(
    OnGcs,
    Usual,
    SupersededContract,
    DamagedContract,
    NamesContract,
    NeighboursContract,
    ModesContract,
    PartitionsContract,
):
    """All of it."""


@pytest.mark.slow
@strict
class TestGcsCommitsInFull(OnGcs, CommitterContract):
    """Everything."""


@pytest.mark.slow
@strict
class TestGcsHierarchicalCommitsInFull(OnGcs, CommitterContract):
    """Everything, in a bucket with folders."""

    settings = HIERARCHICAL
    calls_left_out = 9


class OnAzure(OnServer):
    @pytest.fixture
    def bucket(
        self, azure_server: AzureServer, kept: dict[tuple[int, str], AzureContainer]
    ) -> AzureContainer:
        key = azure_server.pid, ""
        if key not in kept:
            kept[key] = AzureContainer(azure_server, azure_server.new_container())
        return kept[key]


on_gen2 = pytest.mark.parametrize("azure_server", ["gen2"], indirect=True)
on_azurite = pytest.mark.parametrize("azure_server", ["azurite"], indirect=True)


@some_tests_by_day(2, everywhere=True)
@on_gen2
class TestGen2Commits(
    OnAzure, Usual, SupersededContract, ModesContract, NamesContract, NeighboursContract
):
    """All but what the committer does alike on GCS."""

    chosen = "manifest"


@some_tests_by_day(3)
@on_azurite
class TestFlatCommits(OnAzure, Usual, SupersededContract, ModesContract):
    """What depends on uploads that are keyed by path."""

    chosen = "magic"


@pytest.mark.slow
@on_gen2
class TestGen2CommitsInFull(OnAzure, CommitterContract):
    """Everything."""

    chosen = "manifest"


@pytest.mark.slow
@on_azurite
class TestFlatCommitsInFull(OnAzure, CommitterContract):
    """Everything."""

    chosen = "magic"


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


class OnHdfs(OnServer):
    chosen = "v1"

    @pytest.fixture
    def bucket(self, hdfs_directory: HdfsDirectory) -> HdfsDirectory:
        return hdfs_directory

    @pytest.fixture
    def place(
        self, bucket: HdfsDirectory, destination: str, storage_options: dict[str, Any]
    ) -> Place:
        return PlaceOnCluster(url=destination, storage_options=storage_options, above=bucket)


@some_tests_by_day(2, everywhere=True)
@pytest.mark.parametrize("hdfs_directory", ["hdfs"], indirect=True)
class TestHdfsCommits(
    OnHdfs, Usual, SupersededContract, ModesContract, NamesContract, NeighboursContract
):
    """All but what the committer does alike on a local disk."""


@some_tests_by_day(2)
@pytest.mark.parametrize("hdfs_directory", ["webhdfs"], indirect=True)
class TestWebHdfsCommits(OnHdfs, DriversContract):
    """What its client could do otherwise; whom others overtake, they overtake before any client."""


@pytest.mark.slow
class TestHdfsCommitsInFull(OnHdfs, CommitterContract):
    """Everything, through both; faults at more calls through the first."""

    @pytest.fixture
    def every(self, hdfs_directory: HdfsDirectory) -> int:
        return 3 if hdfs_directory.protocol == "hdfs" else 9
