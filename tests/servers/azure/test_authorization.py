"""Who may do what on our own account: keys, signatures, clocks, refusals that a test asks for."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from azure.storage.blob import (
    AccountSasPermissions,
    BlobServiceClient,
    ContainerSasPermissions,
    ResourceTypes,
    generate_account_sas,
    generate_container_sas,
)
from azure.storage.filedatalake import DataLakeServiceClient

from tests.servers.azure.refusals import refusal

if TYPE_CHECKING:
    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.azure.server import AzureServer

HOUR = timedelta(hours=1)


def in_(time: timedelta) -> datetime:
    return datetime.now(UTC) + time


def with_signature(server: AzureServer, token: str) -> tuple[Any, Any]:
    """Clients of both endpoints that have nothing else."""
    text = server.connection_string_through(server.endpoint_url, sas_token=token)
    blob = BlobServiceClient.from_connection_string(text, retry_total=0)
    return blob, DataLakeServiceClient.from_connection_string(text, retry_total=0)


def account_signature(server: AzureServer, permission: str, expiry: timedelta = HOUR) -> str:
    return generate_account_sas(
        server.account_name,
        server.account_key,
        ResourceTypes(service=True, container=True, object=True),
        AccountSasPermissions(read="r" in permission, list="l" in permission),
        in_(expiry),
    )


def test_a_wrong_key(gen2_server: AzureServer) -> None:
    wrong = base64.b64encode(b"x" * 64).decode()
    text = gen2_server.connection_string_through(gen2_server.endpoint_url, account_key=wrong)
    with (
        BlobServiceClient.from_connection_string(text, retry_total=0) as blob,
        DataLakeServiceClient.from_connection_string(text, retry_total=0) as dfs,
    ):
        denied = (403, "AuthenticationFailed")
        assert refusal(blob.create_container, "never") == denied
        assert refusal(dfs.get_file_client("never", "f").create_file) == denied
    with BlobServiceClient(gen2_server.account_url, retry_total=0) as nobody:
        status, code = refusal(nobody.create_container, "never")
        assert (status, code) == (401, "NoAuthenticationInformation")


def test_a_clock_that_is_wrong(gen2_server: AzureServer, gen2_container: AzureContainer) -> None:
    for offset_s in (-960, 960):
        gen2_server.set_clock(offset_s)
        denied = refusal(gen2_container.client.upload_blob, "f", b"")
        assert denied == (403, "AuthenticationFailed")
    gen2_server.set_clock(600)
    gen2_container.client.upload_blob("f", b"")


def test_a_signature_of_the_account(
    gen2_server: AzureServer, gen2_container: AzureContainer
) -> None:
    gen2_container.client.upload_blob("f", b"content")
    blob, dfs = with_signature(gen2_server, account_signature(gen2_server, "rl"))
    name = gen2_container.name
    with blob, dfs:
        container = blob.get_container_client(name)
        assert container.download_blob("f").readall() == b"content"
        assert [found.name for found in container.list_blobs()] == ["f"]
        denied = (403, "AuthorizationPermissionMismatch")
        assert refusal(container.upload_blob, "g", b"") == denied
        assert refusal(container.delete_blob, "f") == denied
        file = dfs.get_file_client(name, "f")
        assert refusal(file.rename_file, f"{name}/g") == denied
        assert refusal(file.create_file) == denied
        # It is good for an hour by the account's clock.
        gen2_server.set_clock(3_700)
        assert refusal(container.download_blob, "f") == (403, "AuthenticationFailed")


def test_a_signature_that_was_changed(
    gen2_server: AzureServer, gen2_container: AzureContainer
) -> None:
    token = account_signature(gen2_server, "rl").replace("sp=rl", "sp=rwl")
    blob, dfs = with_signature(gen2_server, token)
    with blob, dfs:
        container = blob.get_container_client(gen2_container.name)
        assert refusal(container.upload_blob, "g", b"") == (403, "AuthenticationFailed")


def test_a_signature_of_a_container(
    gen2_server: AzureServer, gen2_container: AzureContainer
) -> None:
    token = generate_container_sas(
        gen2_server.account_name,
        gen2_container.name,
        gen2_server.account_key,
        permission=ContainerSasPermissions(read=True, write=True, list=True, move=True),
        expiry=in_(HOUR),
    )
    blob, dfs = with_signature(gen2_server, token)
    with blob, dfs:
        blob.get_container_client(gen2_container.name).upload_blob("f", b"content")
        dfs.get_file_client(gen2_container.name, "f").rename_file(f"{gen2_container.name}/g")
        assert [found.name for found in gen2_container.dfs_client.get_paths()] == ["g"]
        other = blob.get_container_client(gen2_server.new_container())
        assert refusal(other.upload_blob, "f", b"") == (403, "AuthenticationFailed")
        assert refusal(blob.get_account_information)[0] == 403


def test_permissions_by_operation(gen2_server: AzureServer, gen2_container: AzureContainer) -> None:
    gen2_server.settings(denied={"path.rename", "blob.list"})
    gen2_container.client.upload_blob("f", b"")
    denied = (403, "AuthorizationPermissionMismatch")
    file = gen2_container.dfs_client.get_file_client("f")
    assert refusal(file.rename_file, f"{gen2_container.name}/g") == denied
    assert refusal(list, gen2_container.client.list_blobs()) == denied
    gen2_server.settings()
    assert [found.name for found in gen2_container.client.list_blobs()] == ["f"]


def test_a_busy_account(gen2_server: AzureServer, gen2_container: AzureContainer) -> None:
    before = gen2_server.statistics()
    gen2_container.client.upload_blob("f", b"")
    # The next one in an hour.
    gen2_server.set_load(rate_per_s=1 / 3_600)
    assert refusal(gen2_container.client.upload_blob, "g", b"") == (503, "ServerBusy")
    gen2_server.set_load()
    counted = gen2_server.statistics().since(before)
    assert (counted.requests["blob.put"], counted.throttled["blob.put"]) == (2, 1)
    assert [found.name for found in gen2_container.client.list_blobs()] == ["f"]


@pytest.mark.parametrize(
    ("by", "code"),
    [("legal_hold", "BlobImmutableDueToLegalHold"), ("immutable", "BlobImmutableDueToPolicy")],
)
def test_what_is_held_stays(
    gen2_server: AzureServer, gen2_container: AzureContainer, by: str, code: str
) -> None:
    client, dfs, name = gen2_container.client, gen2_container.dfs_client, gen2_container.name
    client.upload_blob("d/f", b"kept")
    gen2_server.hold(name, **{by: True})
    found = client.get_container_properties()
    assert found.has_legal_hold is (by == "legal_hold")
    assert found.has_immutability_policy is (by == "immutable")
    assert refusal(client.delete_blob, "d/f") == (409, code)
    assert refusal(client.upload_blob, "d/f", b"", overwrite=True) == (409, code)
    assert refusal(dfs.get_file_client("d/f").rename_file, f"{name}/g") == (409, code)
    assert refusal(dfs.get_directory_client("d").delete_directory) == (409, code)
    client.upload_blob("new", b"")
    gen2_server.hold(name)
    dfs.get_directory_client("d").delete_directory()
    assert [one.name for one in dfs.get_paths()] == ["new"]


def test_what_no_page_describes_is_refused(
    gen2_server: AzureServer, gen2_container: AzureContainer
) -> None:
    client, dfs = gen2_container.client, gen2_container.dfs_client
    assert refusal(client.get_blob_client("f").set_blob_tags, {"a": "b"})[0] == 400
    append = client.get_blob_client("f").create_append_blob
    assert refusal(append) == (400, "InvalidBlobType")
    assert refusal(gen2_server.client.create_container, "No_Container") == (
        400,
        "InvalidResourceName",
    )
    assert refusal(client.upload_blob, "a//b", b"") == (400, "InvalidUri")
    assert refusal(dfs.get_file_client("/".join("x" * 70)).create_file) == (400, "InvalidUri")
    missing = gen2_server.client.get_container_client("missing")
    assert refusal(missing.upload_blob, "f", b"") == (404, "ContainerNotFound")
    nowhere = gen2_server.dfs_client.get_file_client("missing", "f")
    assert refusal(nowhere.create_file) == (404, "FilesystemNotFound")
