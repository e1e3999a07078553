"""The Azure store keeps the contract in both kinds of accounts.

Of a server that is not Azure the adapter says nothing that the server alone decides: the contract
would skip what matters. Here it is told what Microsoft documents of Azure, and the contract shows
whether it is so: on our own server for a hierarchical account, on Azurite for a flat one.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import StoreError
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.store import Expect
from fsspec_commit.testing import StoreContract
from fsspec_commit.testing.store_contract.directory_creation import DirectoryCreationContract
from fsspec_commit.testing.store_contract.files import FilesContract
from fsspec_commit.testing.store_contract.given import driven, place_at, tree
from fsspec_commit.testing.store_contract.listings import ListingsContract
from fsspec_commit.testing.store_contract.renames import RenamesContract
from fsspec_commit_stores.azure import AzureStore, listing
from fsspec_commit_stores.azure.uploads import BlockUploads
from tests.contract.on_bucket import OnBucket
from tests.sweeps import some_tests_by_day

if TYPE_CHECKING:
    from fsspec_commit.testing.store_contract import At
    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.azure.server import AzureServer

SERVED = {
    "consistent_listing": True,
    "delete_if_match": True,
    "exclusive_create": True,
    "replace_if_match": True,
}


class VouchedStore(AzureStore):
    """The adapter, with what is documented of the server."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.capabilities = self.capabilities.known("assumed", **SERVED)


class OnServer(OnBucket):
    @pytest.fixture
    def adapter(self) -> type[VouchedStore]:
        return VouchedStore

    @pytest.fixture
    def bucket(self, azure_container: AzureContainer) -> AzureContainer:
        return azure_container


@some_tests_by_day(2)
class TestAzureStore(OnServer, StoreContract):
    """In a directory of a container."""

    page_entries = 100

    @pytest.fixture(autouse=True)
    def short_pages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The adapter asks for fewer: a listing is cut without thousands of files."""
        monkeypatch.setattr(listing, "_PAGE", self.page_entries)


@some_tests_by_day(2)
class TestAzureContainerRoot(OnServer, FilesContract):
    """In a container itself: no prefix to be joined with."""

    @pytest.fixture
    def prefix(self) -> str:
        return ""


@pytest.mark.parametrize("azure_server", ["gen2"], indirect=True)
class TestAzurePages(
    OnServer,
    FilesContract,
    ListingsContract,
    RenamesContract,
    DirectoryCreationContract,
):
    """Where every answer is cut short: two paths a call, three entries a page."""

    page_entries = 3

    @pytest.fixture(autouse=True)
    def cut(self, azure_server: AzureServer) -> None:
        azure_server.settings(paths_per_call=2, page_max=3)

    @driven
    async def test_a_directory_is_renamed_to_the_last_path(
        self, store: VouchedStore, at: At
    ) -> None:
        """By as many requests as the service wants."""
        names = [f"work/{number}/{name}" for number in range(3) for name in "ab"]
        for name in names:
            await place_at(store, at(name), b"1")
        assert store.directories is not None
        await store.directories.rename_directory(at("work"), at("new/w"), within=store.root)
        moved = sorted(at(name.replace("work", "new/w")) for name in names)
        assert await tree(store, store.root) == moved
        assert await store.stat(at("work")) is None


@pytest.mark.parametrize("azure_server", ["azurite"], indirect=True)
class TestEmptyFilesOfAFlatAccount(OnServer):
    @pytest.mark.guarantees("P6")
    @pytest.mark.xfail(strict=True, reason="a block list that names no block consumes none")
    @driven
    async def test_p6_a_late_completion_does_not_bring_one_back(
        self, store: VouchedStore, at: At, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As by a copy of the request that a proxy has kept, or by a process that slept."""
        assert store.uploads is not None
        upload = await store.uploads.start(at("a"), SYSTEM_IDS.nonce())
        whole = replace(upload, parts=(await store.uploads.put_part(upload, 1, b""),))
        await store.uploads.complete(whole, expecting=Expect.ABSENT)
        await store.delete(at("a"), expecting=Expect.ANYTHING)

        async def have_looked(*_: object) -> None:
            """The blocks were there when it was looked for them."""

        monkeypatch.setattr(BlockUploads, "_check_placeholders", have_looked)
        with suppress(StoreError):
            await store.uploads.complete(whole, expecting=Expect.ABSENT)
        assert await store.stat(at("a")) is None
