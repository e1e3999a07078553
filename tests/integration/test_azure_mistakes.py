"""What users of Azure meet before anything works: one sentence that says what to check, soon.

Whatever was begun by then, `clean` and `resume` remove with credentials that are right.
"""

from __future__ import annotations

import socket
from base64 import b64encode
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from azure.storage.blob import AccountSasPermissions, ResourceTypes, generate_account_sas

import fsspec_commit as fc
from fsspec_commit.ids import SYSTEM_IDS
from tests.integration.s3_users import settle, told, told_by_the_command, write
from tests.integration.test_s3_mistakes import nobody

if TYPE_CHECKING:
    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.azure.server import AzureServer

# Whose job could not be aborted is warned of it once more when the job is forgotten.
pytestmark = pytest.mark.filterwarnings("ignore:job .* was neither committed:ResourceWarning")
WRONG_KEY = b64encode(b"not the key of this account").decode()
SOON = timedelta(hours=1)
PERMISSIONS = {"read", "write", "create", "add", "list", "delete"}


def signed(
    server: AzureServer, *, ends: timedelta = SOON, without: str | None = None
) -> dict[str, Any]:
    """Options with a shared access signature instead of the key."""
    permissions = dict.fromkeys(PERMISSIONS - {without}, True)
    signature = generate_account_sas(
        server.account_name,
        server.account_key,
        ResourceTypes(container=True, object=True),
        AccountSasPermissions(**permissions),
        SYSTEM_IDS.now() + ends,
        protocol="https,http",
    )
    text = server.connection_string_through(server.endpoint_url, sas_token=signature)
    return {"connection_string": text}


def with_key(server: AzureServer, key: str) -> dict[str, Any]:
    text = server.connection_string_through(server.endpoint_url, account_key=key)
    return {"connection_string": text}


def left(container: AzureContainer) -> list[str]:
    names = [one.name for one in container.client.list_blobs()]
    return [name for name in names if "/_commit/" in f"/{name}" and "/epoch-" not in name]


def check(container: AzureContainer, options: dict[str, Any], *words: str) -> None:
    """A job and a question are told *words*; nothing stays."""
    url = f"{container.url}/out"
    for call in (lambda: write(url, options), lambda: fc.jobs(url, storage_options=options)):
        text = told(call)
        assert all(word in text for word in words), text
    assert left(container) == []


def of_a_wrong_key(server: AzureServer) -> str:
    """Azurite answers as Azure does where its firewall is the matter."""
    return "check account_key=" if server.is_hierarchical else "check the credentials"


def test_a_wrong_key(azure_container: AzureContainer) -> None:
    options = with_key(azure_container.server, WRONG_KEY)
    check(azure_container, options, of_a_wrong_key(azure_container.server))


def test_a_key_that_is_none(azure_container: AzureContainer) -> None:
    options = with_key(azure_container.server, "no key at all")
    check(azure_container, options, "account_key=")


def test_a_signature_that_has_expired(azure_container: AzureContainer) -> None:
    options = signed(azure_container.server, ends=-SOON)
    check(azure_container, options, "the shared access signature has expired; renew sas_token=")


def test_a_signature_is_as_good_as_a_key(azure_container: AzureContainer) -> None:
    url = f"{azure_container.url}/out"
    assert write(url, signed(azure_container.server)).file_count == 1


def test_a_missing_container(azure_container: AzureContainer) -> None:
    url = "abfs://no-such-container/out"
    text = told(lambda: write(url, azure_container.storage_options))
    assert "there is no such container; check its name" in text


@pytest.mark.parametrize("azure_server", ["gen2"], indirect=True)
class TestGen2:
    """What only our own server can be told to do."""

    def test_a_clock_that_is_wrong(self, azure_container: AzureContainer) -> None:
        url, options = f"{azure_container.url}/out", azure_container.storage_options
        azure_container.server.set_clock(3600)
        text = told(lambda: write(url, options))
        assert "this machine's clock is " in text
        assert "s behind the store's; set it right" in text

    @pytest.mark.parametrize(
        ("operation", "words"),
        [
            ("blob.put", "allow blobs/write (of a signature: c and w)"),
            ("blob.get", "allow blobs/read"),
            ("path.list", "allow blobs/read (of a signature: l)"),
            ("blob.properties", "allow blobs/read"),
        ],
    )
    def test_what_is_missing_is_named(
        self, azure_container: AzureContainer, operation: str, words: str
    ) -> None:
        url, options = f"{azure_container.url}/out", azure_container.storage_options
        assert fc.explain(url, storage_options=options).committer == "manifest"
        azure_container.server.settings(denied={operation})
        text = told(lambda: write(url, options))
        assert words in text, text
        azure_container.server.settings()
        settle(url, options)
        assert left(azure_container) == []

    def test_a_rename_that_is_denied_is_finished_later(
        self, azure_container: AzureContainer
    ) -> None:
        url, options = f"{azure_container.url}/out", azure_container.storage_options
        assert fc.explain(url, storage_options=options).committer == "manifest"
        azure_container.server.settings(denied={"path.rename"})
        with pytest.raises(fc.PartialCommitError, match="allow blobs/move/action"):
            write(url, options)
        azure_container.server.settings()
        settle(url, options)
        assert left(azure_container) == []
        names = [one.name for one in azure_container.client.list_blobs("out/part")]
        assert len(names) == 1

    @pytest.mark.parametrize("hold", ["legal_hold", "immutable"])
    def test_a_container_that_must_stay_as_it_is(
        self, azure_container: AzureContainer, hold: str
    ) -> None:
        url, options = f"{azure_container.url}/out", azure_container.storage_options
        azure_container.server.hold(azure_container.name, **{hold: True})
        text = told(lambda: write(url, options))
        assert "could not be deleted; write to a container without" in text
        azure_container.server.hold(azure_container.name)


def account_at(endpoint: str) -> dict[str, Any]:
    text = f"AccountName=account;AccountKey={WRONG_KEY};BlobEndpoint={endpoint}/account"
    return {"connection_string": text, "read_timeout": 0.3}


@pytest.mark.usefixtures("azure_environment")
class TestNobodyThere:
    def test_a_closed_port(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            endpoint = f"http://127.0.0.1:{listener.getsockname()[1]}"
        options = account_at(endpoint)
        for call in (
            lambda: write("abfs://data/out", options),
            lambda: fc.jobs("abfs://data/out", storage_options=options),
        ):
            assert f"{endpoint}/account cannot be reached; check the account" in told(call)

    def test_a_port_that_never_answers(self) -> None:
        """One wait, whatever was to be done: nobody waits for a second one."""
        with nobody() as (endpoint, connections):
            options = account_at(endpoint)
            for asked, call in enumerate(
                (
                    lambda: write("abfs://data/out", options),
                    lambda: fc.jobs("abfs://data/out", storage_options=options),
                ),
                1,
            ):
                text = told(call)
                assert f"{endpoint}/account did not answer in time; check it" in text
                assert len(connections) == asked


class TestTheCommand:
    def test_it_fails_in_one_line(self, azure_container: AzureContainer) -> None:
        options = with_key(azure_container.server, WRONG_KEY)
        line = told_by_the_command("jobs", f"{azure_container.url}/out", options=options)
        assert of_a_wrong_key(azure_container.server) in line
        assert WRONG_KEY not in line
