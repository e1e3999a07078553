"""What URLs and options mean, and which are refused."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import adlfs
import pytest

from fsspec_commit.errors import RequestError, StoreError, UnsafeStoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import AtomicRename, Expect, OpenOptions
from fsspec_commit_stores.azure import AzureStore
from fsspec_commit_stores.azure.opening import account_of, capabilities_of, is_azure
from fsspec_commit_stores.azure.places import place_of
from tests.unit.stores.azure.answers import said, told
from tests.unit.stores.azure.scripted import KEY, ScriptedAzure, account_at
from tests.unit.stores.responder import Answer

if TYPE_CHECKING:
    from tests.unit.stores.responder import Received

HOST = "account.dfs.core.windows.net"
AZURE = "https://account.blob.core.windows.net"


@pytest.mark.parametrize(
    ("url", "root", "account"),
    [
        ("abfs://data/a/b", "data/a/b", None),
        ("abfss://data/a/b/", "data/a/b", None),
        ("az://data", "data", None),
        ("ABFS://data/A%20b", "data/A%20b", None),
        (f"abfs://data@{HOST}/a b", "data/a b", "account"),
        (f"abfss://data@{HOST}", "data", "account"),
        ("abfs://data@account.blob.core.windows.net/a", "data/a", "account"),
        ("abfs://data@account.dfs.core.chinacloudapi.cn/a", "data/a", "account"),
        ("abfs://data@account.z01.dfs.storage.azure.net/a", "data/a", "account"),
        ("abfs://$web/a", "$web/a", None),
    ],
)
def test_a_url_names_a_container(url: str, root: str, account: str | None) -> None:
    place = place_of(url)
    assert (place.root, place.container, place.account) == (root, root.partition("/")[0], account)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("abfs://Data/a", "names no container"),
        ("abfs://a_b/a", "names no container"),
        (f"abfs://{HOST}/data/a", "begins with an account"),
        ("abfs://data@elsewhere/a", "names no account"),
        ("abfs://data/a?versionid=1", "one version of a blob"),
    ],
)
def test_a_url_that_names_none(url: str, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        place_of(url)


@pytest.mark.parametrize(
    ("endpoint", "is_theirs"),
    [
        (AZURE, True),
        ("https://account.dfs.core.usgovcloudapi.net", True),
        ("https://account.z01.blob.storage.azure.net", True),
        ("http://127.0.0.1:10000/account", False),
        ("https://account.blob.core.windows.net.example.com", False),
        ("https://files.example.com", False),
    ],
)
def test_azure_is_known_by_its_host(endpoint: str, is_theirs: bool) -> None:
    assert is_azure(endpoint) is is_theirs


def test_what_is_declared() -> None:
    gen2 = capabilities_of(AZURE, is_hierarchical=True, single_writer=False)
    assert gen2.atomic_rename is AtomicRename.DIRECTORY
    assert gen2.exclusive_rename
    assert gen2.exclusive_create
    assert gen2.token_survives_rename
    assert gen2.unique_tokens
    assert gen2.multipart is False
    flat = capabilities_of(AZURE, is_hierarchical=False, single_writer=False)
    assert flat.atomic_rename is AtomicRename.NONE
    assert (flat.multipart, flat.upload_keyed_by, flat.uploads_listable) == (True, "path", False)
    for kind in (True, False):
        elsewhere = capabilities_of("http://h/a", is_hierarchical=kind, single_writer=False)
        assert elsewhere.exclusive_create is None
        assert elsewhere.consistent_listing is None
        alone = capabilities_of("http://h/a", is_hierarchical=kind, single_writer=True)
        assert alone.consistent_listing
        assert alone.evidence["consistent_listing"] == "assumed"


CREDENTIALS: dict[str, dict[str, Any]] = {
    "key": {"account_name": "account", "account_key": KEY},
    "signature": {"account_name": "account", "sas_token": "?sv=1&sig=x"},
    "anonymous": {"account_name": "account", "anon": True},
    "connection string": {"connection_string": f"AccountName=account;AccountKey={KEY}"},
    "default": {"account_name": "account"},
    "service principal": {
        "account_name": "account",
        "client_id": "c",
        "client_secret": "s",
        "tenant_id": "t",
    },
}


@pytest.mark.parametrize("given", CREDENTIALS.values(), ids=CREDENTIALS)
def test_every_form_of_credentials(gen2: ScriptedAzure, given: dict[str, Any]) -> None:
    """Both endpoints come of it; nothing is sent."""

    async def opened() -> tuple[str, str]:
        options = OpenOptions(storage_options=given)
        account = account_of("abfs://data/a", place_of("abfs://data/a"), options)
        endpoints = account.connection.endpoints
        await account.close()
        return endpoints.blob, endpoints.dfs

    assert gen2.run(opened()) == (AZURE, f"https://{HOST}")


def test_adlfs_is_let_go_of(gen2: ScriptedAzure) -> None:
    """It would keep itself for ever, to be closed at exit on a loop that has ended by then."""

    async def opened() -> None:
        options = OpenOptions(storage_options=CREDENTIALS["key"])
        account = account_of("abfs://data/a", place_of("abfs://data/a"), options)
        await account.close()

    def alive() -> set[int]:
        gc.collect()
        return {id(one) for one in gc.get_objects() if type(one) is adlfs.AzureBlobFileSystem}

    before = alive()  # those that other tests have made through fsspec, which keeps them
    gen2.run(opened())
    assert alive() <= before


def test_credentials_of_the_environment(
    gen2: ScriptedAzure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", KEY)

    async def opened() -> str:
        account = account_of("abfs://data/a", place_of("abfs://data/a"), OpenOptions())
        await account.close()
        return account.connection.endpoints.blob

    assert gen2.run(opened()) == AZURE


def test_a_url_and_credentials_of_two_accounts(gen2: ScriptedAzure) -> None:
    url = "abfs://data@other.dfs.core.windows.net/a"
    options = OpenOptions(storage_options=CREDENTIALS["connection string"])

    async def opened() -> None:
        account_of(url, place_of(url), options)

    with pytest.raises(RequestError, match="names the account 'other'"):
        gen2.run(opened())


class TestNamespace:
    """Whether it is hierarchical is asked once, by whichever way answers."""

    def open(self, gen2: ScriptedAzure, **more: Any) -> bool:
        given = {"connection_string": account_at(gen2.url)}
        options = OpenOptions(storage_options=given, **more)

        async def opened() -> bool:
            store = await AzureStore.open("abfs://bucket/out", options)
            await store.close()
            return store.files is not None

        return gen2.run(opened())

    def test_it_is_asked_once(self, gen2: ScriptedAzure) -> None:
        gen2.script(told(200, headers={"x-ms-is-hns-enabled": "true"}))
        for _ in range(3):
            assert self.open(gen2)
        assert len(gen2.received) == 1

    @pytest.mark.parametrize("value", ["true", "false"])
    def test_the_other_endpoint_is_asked(self, gen2: ScriptedAzure, value: str) -> None:
        """Where access tokens may not ask the first."""

        def answer(request: Received) -> Answer:
            if "restype" in request.query:
                return said(403, "AuthorizationPermissionMismatch")
            return told(200, headers={"x-ms-namespace-enabled": value})

        gen2.answering = answer
        assert self.open(gen2) is (value == "true")

    @pytest.mark.parametrize(
        "of_the_other", [said(403, "AuthorizationPermissionMismatch"), Answer(400)]
    )
    def test_nobody_tells(self, gen2: ScriptedAzure, of_the_other: Answer) -> None:
        """An emulator has no word of its own for what it does not know."""
        denied = said(403, "AuthorizationPermissionMismatch")
        gen2.answering = lambda one: denied if "restype" in one.query else of_the_other
        with pytest.raises(StoreError, match=r"cannot ask for the kind of the account.*blobs/read"):
            self.open(gen2)

    @pytest.mark.parametrize(
        ("header", "words"),
        [
            ("x-ms-has-legal-hold", "a legal hold"),
            ("x-ms-has-immutability-policy", "an immutability policy"),
        ],
    )
    def test_what_must_stay_is_refused(self, gen2: ScriptedAzure, header: str, words: str) -> None:
        gen2.script(told(200, headers={"x-ms-is-hns-enabled": "true", header: "true"}))
        with pytest.raises(UnsafeStoreError, match=words):
            self.open(gen2, choosing=True)
        assert self.open(gen2)  # Whoever settles a job goes by a choice that was made.

    def test_what_cannot_be_read_is_not_refused(self, gen2: ScriptedAzure) -> None:
        def answer(request: Received) -> Answer:
            if request.query.get("restype") == "container":
                return said(403, "AuthorizationPermissionMismatch")
            return told(200, headers={"x-ms-is-hns-enabled": "true"})

        gen2.answering = answer
        assert self.open(gen2, choosing=True)


@pytest.mark.parametrize("name", ["a.", "a./b", "a\\b", "a\nb", "a\x7fb", "...", "\u0085"])
def test_a_name_that_is_not_kept_is_refused(gen2: ScriptedAzure, name: str) -> None:
    """Before anything is sent; what others have written so is read and deleted."""
    store = gen2.open()
    path = StorePath(f"bucket/out/{name}")
    with pytest.raises(StoreError, match="cannot write"):
        gen2.run(store.put(path, b"", expecting=Expect.ANYTHING, within=None))
    assert gen2.received == []
    gen2.script(told(202))
    gen2.run(store.delete(path, expecting=Expect.ANYTHING))
    assert [one.method for one in gen2.received] == ["DELETE"]
