"""Both accounts, through clients that we did not write: azure-storage-blob and adlfs."""

from __future__ import annotations

import base64
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import (
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
    ServiceResponseError,
)
from azure.storage.blob import BlobBlock, BlobServiceClient

from tests.servers.azure.refusals import code_of
from tests.servers.faults import AnswerInstead, LoseReply, Rule
from tests.servers.races import ROUNDS, race

if TYPE_CHECKING:
    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.azure.server import AzureServer
    from tests.servers.proxy import FaultProxy


def block(number: int) -> str:
    return f"block-{number:05d}"


def test_a_blob_comes_back(azure_container: AzureContainer) -> None:
    blob = azure_container.client.get_blob_client("a b/ü=d.txt")
    written = blob.upload_blob(b"0123456789", metadata={"nonce": "n1"})
    found = blob.get_blob_properties()
    assert (found.size, found.metadata, found.etag) == (10, {"nonce": "n1"}, written["etag"])
    assert blob.download_blob().readall() == b"0123456789"
    assert blob.download_blob(offset=3, length=4).readall() == b"3456"
    blob.upload_blob(b"", overwrite=True)
    assert blob.download_blob().readall() == b""
    assert blob.get_blob_properties().etag != written["etag"]
    blob.delete_blob()
    with pytest.raises(ResourceNotFoundError):
        blob.get_blob_properties()
    with pytest.raises(ResourceNotFoundError):
        blob.delete_blob()


def test_conditions_of_a_blob(azure_container: AzureContainer) -> None:
    blob = azure_container.client.get_blob_client("decision")
    with pytest.raises(ResourceModifiedError):
        blob.upload_blob(
            b"0", overwrite=True, etag="0x1", match_condition=MatchConditions.IfNotModified
        )
    first = blob.upload_blob(b"1", overwrite=False)["etag"]
    with pytest.raises(ResourceExistsError) as caught:
        blob.upload_blob(b"2", overwrite=False)
    assert code_of(caught.value) == "BlobAlreadyExists"
    same = {"match_condition": MatchConditions.IfNotModified}
    second = blob.upload_blob(b"3", overwrite=True, etag=first, **same)["etag"]
    with pytest.raises(ResourceModifiedError):
        blob.upload_blob(b"4", overwrite=True, etag=first, **same)
    with pytest.raises(ResourceModifiedError):
        blob.delete_blob(etag=first, **same)
    assert blob.download_blob().readall() == b"3"
    blob.delete_blob(etag=second, **same)


def test_one_of_many_creates(azure_container: AzureContainer) -> None:
    client = azure_container.client

    def create(name: str, racer: int) -> bool:
        try:
            client.upload_blob(name, b"%d" % racer, overwrite=False)
        except ResourceExistsError:
            return False
        return True

    for turn in range(ROUNDS):
        name = f"decision-{turn}"
        won = race(partial(create, name))
        assert won.count(True) == 1
        assert client.download_blob(name).readall() == b"%d" % won.index(True)


def test_blocks_are_a_blob_when_they_are_listed(azure_container: AzureContainer) -> None:
    server, name = azure_container.server, azure_container.name
    one = azure_container.client.get_blob_client("dir/file")
    one.stage_block(block(1), b"AAA")
    with pytest.raises(HttpResponseError) as caught:
        one.stage_block("short", b"BBB")
    assert code_of(caught.value) == "InvalidBlobOrBlock"
    assert [found.name for found in azure_container.client.list_blobs("dir/f")] == []
    other = server.client_through(server.endpoint_url)
    two = other.get_blob_client(name, "dir/file")
    two.stage_block(block(2), b"BBB")
    created = {"match_condition": MatchConditions.IfMissing}
    named = [BlobBlock(block(2)), BlobBlock(block(1))]
    two.commit_block_list(named, metadata={"nonce": "n"}, **created)
    assert one.download_blob().readall() == b"BBBAAA"
    assert one.get_blob_properties().metadata == {"nonce": "n"}
    with pytest.raises(ResourceExistsError) as exists:
        one.commit_block_list(named, **created)
    assert code_of(exists.value) == "BlobAlreadyExists"
    with pytest.raises(HttpResponseError) as gone:
        one.commit_block_list([BlobBlock(block(3))])
    assert code_of(gone.value) == "InvalidBlockList"
    other.close()


def test_a_list_of_blocks_drops_those_of_others(azure_container: AzureContainer) -> None:
    blob = azure_container.client.get_blob_client("file")
    blob.stage_block(block(1), b"mine")
    blob.stage_block(block(2), b"theirs")
    blob.commit_block_list([BlobBlock(block(1))])
    with pytest.raises(HttpResponseError) as caught:
        blob.commit_block_list([BlobBlock(block(2))])
    assert code_of(caught.value) == "InvalidBlockList"


def test_a_blob_drops_blocks_that_wait(azure_container: AzureContainer) -> None:
    """https://learn.microsoft.com/rest/api/storageservices/put-block-list#remarks."""
    blob = azure_container.client.get_blob_client("file")
    blob.stage_block(block(1), b"mine")
    blob.upload_blob(b"whole")
    with pytest.raises(HttpResponseError) as caught:
        blob.commit_block_list([BlobBlock(block(1))])
    assert code_of(caught.value) == "InvalidBlockList"
    assert blob.download_blob().readall() == b"whole"


def test_a_listing_has_pages(azure_container: AzureContainer) -> None:
    client = azure_container.client
    names = [f"p/{number:02d}" for number in range(7)]
    for name in [*names, "q/1", "p-1"]:
        client.upload_blob(name, b"x", metadata={"nonce": name})
    found = client.list_blobs(name_starts_with="p/", results_per_page=3, include=["metadata"])
    pages = [list(page) for page in found.by_page()]
    assert [len(page) for page in pages] == [3, 3, 1]
    assert [(blob.name, blob.metadata["nonce"]) for page in pages for blob in page] == [
        (name, name) for name in names
    ]
    below = {entry.name for entry in client.walk_blobs(delimiter="/")}
    assert below == {"p-1", "p/", "q/"}


def test_a_wrong_key_is_refused(azure_server: AzureServer) -> None:
    wrong = base64.b64encode(b"x" * 64).decode()
    text = azure_server.connection_string_through(azure_server.endpoint_url, account_key=wrong)
    with (
        BlobServiceClient.from_connection_string(text, retry_total=0) as client,
        pytest.raises(HttpResponseError) as caught,
    ):
        client.create_container("never")
    assert caught.value.status_code == 403
    assert code_of(caught.value) in {"AuthenticationFailed", "AuthorizationFailure"}


# adlfs gives aiohttp its blocks as bytes, which aiohttp warns of.
@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
def test_adlfs_works(azure_container: AzureContainer) -> None:
    import adlfs

    fs = adlfs.AzureBlobFileSystem(**azure_container.storage_options, skip_instance_cache=True)
    root = azure_container.name
    with fs.open(f"{root}/a/b.bin", "wb", block_size=5 * 2**20) as file:
        file.write(b"x" * (11 * 2**20))
    fs.pipe_file(f"{root}/a/c d.txt", b"0123456789")
    assert fs.size(f"{root}/a/b.bin") == 11 * 2**20
    assert fs.cat_file(f"{root}/a/c d.txt", start=2, end=4) == b"23"
    assert fs.isdir(f"{root}/a")
    assert sorted(fs.ls(f"{root}/a", detail=False)) == [f"{root}/a/b.bin", f"{root}/a/c d.txt"]
    assert sorted(fs.find(root)) == [f"{root}/a/b.bin", f"{root}/a/c d.txt"]
    fs.rm(f"{root}/a", recursive=True)
    assert not fs.exists(f"{root}/a/b.bin")


def test_a_lost_reply_and_a_refusal(
    azure_container: AzureContainer, azure_proxy: FaultProxy
) -> None:
    server = azure_container.server
    azure_proxy.add(Rule(LoseReply(), operation="blob.put"))
    azure_proxy.add(Rule(AnswerInstead(), operation="blob.put", nth=2))
    with server.client_through(azure_proxy.endpoint_url) as client:
        container: Any = client.get_container_client(azure_container.name)
        with pytest.raises(ServiceResponseError):
            container.upload_blob("a", b"a")
        with pytest.raises(HttpResponseError) as caught:
            container.upload_blob("b", b"b")
        assert (caught.value.status_code, code_of(caught.value)) == (503, "ServerBusy")
        assert [found.name for found in container.list_blobs()] == ["a"]
        container.delete_blob("a")
    assert azure_proxy.operations() == {"blob.put": 2, "blob.list": 1, "blob.delete": 1}
