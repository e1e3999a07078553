"""The GCS store keeps the contract on two servers: the strict one of ours, and fake-gcs-server.

Of a server that is not Google's the adapter says nothing that the server alone decides: the
contract would skip what matters. Here it is told what the service is documented to do, and the
contract shows whether it is so. fake-gcs-server has no `objects.move`, as a probe shows: there the
store is tried without renames. What else it does not do is a row in `tests/servers/gcs/gaps.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.store import AtomicRename
from fsspec_commit.testing import StoreContract
from fsspec_commit.testing.store_contract.files import FilesContract
from fsspec_commit.testing.store_contract.listings import ListingsContract
from fsspec_commit.testing.store_contract.puts import PutsContract
from fsspec_commit.testing.store_contract.renames import RenamesContract
from fsspec_commit.testing.store_contract.writers import WritersContract
from fsspec_commit_stores.gcs import GcsStore, listing
from tests.contract.on_bucket import OnBucket
from tests.servers.gcs.kinds_of_buckets import HIERARCHICAL, VERSIONED
from tests.servers.gcs.plugin import GcsBucket
from tests.sweeps import some_tests_by_day

if TYPE_CHECKING:
    from tests.servers.gcs.server import GcsServer

SERVED = {
    "consistent_listing": True,
    "delete_if_match": True,
    "exclusive_create": True,
    "exclusive_rename": True,
    "replace_if_match": True,
}


class VouchedStore(GcsStore):
    """The adapter, with what the tests know of the service."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.capabilities = self.capabilities.known("assumed", **SERVED)


class StoreWithoutMoves(VouchedStore):
    """The same, of a server that has been found to move nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        facts: dict[str, object] = {"atomic_rename": AtomicRename.NONE, "exclusive_rename": False}
        self.capabilities = self.capabilities.known("assumed", **facts)
        self.files = None


class OnServer(OnBucket):
    page_entries = 100

    @pytest.fixture(autouse=True)
    def short_pages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The adapter asks for fewer: a listing is cut without a thousand files."""
        monkeypatch.setattr(listing, "_PAGE_MAX", self.page_entries)

    @pytest.fixture
    def adapter(self, gcs_server: GcsServer) -> type[VouchedStore]:
        return VouchedStore if gcs_server.is_strict else StoreWithoutMoves

    @pytest.fixture
    def bucket(self, gcs_bucket: GcsBucket) -> GcsBucket:
        return gcs_bucket


@some_tests_by_day(3)
class TestGcsStore(OnServer, StoreContract):
    """In a directory of a bucket."""


@pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)
class TestGcsBucketRoot(OnServer, FilesContract, WritersContract):
    """In a bucket itself: no prefix to be joined with."""

    @pytest.fixture
    def prefix(self) -> str:
        return ""


@pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)
class TestGcsHierarchicalStore(
    OnServer, FilesContract, PutsContract, ListingsContract, WritersContract, RenamesContract
):
    """In a bucket with folders, which no verb shows."""

    @pytest.fixture
    def bucket(self, gcs_server: GcsServer) -> GcsBucket:
        return GcsBucket(gcs_server, gcs_server.new_bucket(**HIERARCHICAL))


@pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)
class TestGcsVersionedStore(
    OnServer, FilesContract, PutsContract, ListingsContract, RenamesContract
):
    """In a bucket that keeps what is replaced and deleted."""

    @pytest.fixture
    def bucket(self, gcs_server: GcsServer) -> GcsBucket:
        return GcsBucket(gcs_server, gcs_server.new_bucket(**VERSIONED))
