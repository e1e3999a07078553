"""ABFS's settings, by their names, and the options that they are here."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import fsspec_commit as fc
from fsspec_commit.engines.spark.hadoop_settings import location_of
from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.azure.opening import account_of
from fsspec_commit_stores.azure.places import place_of

HOST = "acct.dfs.core.windows.net"
PATH = f"abfss://data@{HOST}/out"
KEY = "bXkgc2VjcmV0"
ACCOUNT_KEY = {f"fs.azure.account.key.{HOST}": KEY}
OAUTH = {"fs.azure.account.auth.type": "OAuth"}
PROVIDER = "fs.azure.account.oauth.provider.type"
OAUTH2 = "org.apache.hadoop.fs.azurebfs.oauth2"
CLIENT = {
    **OAUTH,
    PROVIDER: f"{OAUTH2}.ClientCredsTokenProvider",
    "fs.azure.account.oauth2.client.id": "app",
    "fs.azure.account.oauth2.client.secret": KEY,
    "fs.azure.account.oauth2.client.endpoint": (
        "https://login.microsoftonline.com/tenant-1/oauth2/token"
    ),
}
AT_HOME = "DefaultEndpointsProtocol=https;AccountName=acct;"
AT_HOME += "BlobEndpoint=https://acct.blob.core.windows.net"
BY_KEY = {"connection_string": f"{AT_HOME};AccountKey={KEY}"}
BY_SAS = {"connection_string": f"{AT_HOME};SharedAccessSignature=sv=1&sig=x"}
SAS = {f"fs.azure.account.auth.type.{HOST}": "SAS", "fs.azure.sas.fixed.token": "?sv=1&sig=x"}
SAS_PROVIDER = "fs.azure.sas.token.provider.type"
EMULATOR = {"fs.azure.abfs.endpoint": "127.0.0.1:10000", "fs.azure.always.use.https": "false"}


@pytest.mark.parametrize(
    "path", [PATH, f"abfs://data@{HOST}/out", f"abfss://data@{HOST}/a b/%20 100%/ö", f"{PATH}/d=1"]
)
def test_a_path_is_itself(path: str) -> None:
    assert location_of(path, ACCOUNT_KEY) == (path, BY_KEY)


@pytest.mark.parametrize(
    ("path", "settings", "options"),
    [
        (PATH, {"fs.azure.account.key": KEY}, BY_KEY),
        (
            PATH,
            {"fs.azure.account.key": "for all", f"fs.azure.account.key.data.{HOST}": KEY},
            BY_KEY,
        ),
        (
            PATH,
            {
                **ACCOUNT_KEY,
                "fs.azure.write.request.size": "8m",
                "fs.azure.account.hns.enabled": "x",
            },
            BY_KEY,
        ),
        (PATH, SAS, BY_SAS),
        # Of a provider for all that is for another way to authenticate Hadoop thinks nothing.
        (PATH, {**SAS, SAS_PROVIDER: "com.x.Sas"}, BY_SAS),
        # Only what may be a secret is looked for by the container as well.
        (PATH, {**ACCOUNT_KEY, f"fs.azure.account.auth.type.data.{HOST}": "OAuth"}, BY_KEY),
        # Of another account.
        (
            PATH,
            {**ACCOUNT_KEY, "fs.azure.encryption.encoded.client-provided-key.other.dfs.x": KEY},
            BY_KEY,
        ),
        (
            PATH,
            CLIENT,
            {"tenant_id": "tenant-1", "client_id": "app", "client_secret": KEY},
        ),
        (
            f"abfs://data@{HOST}/out",
            {**ACCOUNT_KEY, **EMULATOR},
            {
                "connection_string": "DefaultEndpointsProtocol=http;AccountName=acct;"
                f"BlobEndpoint=http://127.0.0.1:10000/acct;AccountKey={KEY}"
            },
        ),
        # abfss: is https, whatever is set.
        (
            PATH,
            {**ACCOUNT_KEY, **EMULATOR},
            {
                "connection_string": "DefaultEndpointsProtocol=https;AccountName=acct;"
                f"BlobEndpoint=https://127.0.0.1:10000/acct;AccountKey={KEY}"
            },
        ),
        (
            f"abfs://data@{HOST}/out",
            {**ACCOUNT_KEY, "fs.azure.always.use.https": "false"},
            {
                "connection_string": "DefaultEndpointsProtocol=http;AccountName=acct;"
                f"BlobEndpoint=http://acct.blob.core.windows.net;AccountKey={KEY}"
            },
        ),
        # Without a port Hadoop does not heed it.
        (PATH, {**ACCOUNT_KEY, "fs.azure.abfs.endpoint": "host"}, BY_KEY),
        (PATH, {"spark.fsspec_commit.credentials": "ambient"}, {}),
    ],
)
def test_a_setting_is_an_option(
    path: str, settings: dict[str, str], options: dict[str, Any]
) -> None:
    assert location_of(path, settings) == (path, options)


@pytest.mark.parametrize(
    ("settings", "own", "left"),
    [
        (
            {PROVIDER: f"{OAUTH2}.MsiTokenProvider", "fs.azure.account.oauth2.client.id": "app"},
            {"managed_identity_client_id": "app"},
            "managed_identity",
        ),
        ({PROVIDER: f"{OAUTH2}.MsiTokenProvider"}, {}, "managed_identity"),
        (
            {
                PROVIDER: f"{OAUTH2}.WorkloadIdentityTokenProvider",
                "fs.azure.account.oauth2.client.id": "app",
                "fs.azure.account.oauth2.msi.tenant": "tenant",
            },
            {"workload_identity_client_id": "app", "workload_identity_tenant_id": "tenant"},
            "workload_identity",
        ),
    ],
)
def test_an_identity_is_the_only_one_that_is_tried(
    settings: dict[str, str], own: dict[str, str], left: str
) -> None:
    _, options = location_of(PATH, {**OAUTH, **settings})
    excluded = {name: value for name, value in options.items() if name.startswith("exclude_")}
    assert {name: value for name, value in options.items() if name not in excluded} == own
    assert [name for name, value in excluded.items() if not value] == [f"exclude_{left}_credential"]


def test_an_identity_that_is_set_to_nothing_for_an_account_is_the_machine_s_own() -> None:
    client = "fs.azure.account.oauth2.client.id"
    settings = {**OAUTH, PROVIDER: f"{OAUTH2}.MsiTokenProvider", client: "app"}
    own = {f"{client}.{HOST}": ""}
    assert location_of(PATH, settings)[1]["managed_identity_client_id"] == "app"
    assert "managed_identity_client_id" not in location_of(PATH, {**settings, **own})[1]


OF_ANOTHER = "DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=b3RoZXI="


@pytest.mark.parametrize(
    ("settings", "signed_by"), [(ACCOUNT_KEY, (KEY, "")), (SAS, (None, "sv=1&sig=x"))]
)
def test_an_environment_with_other_credentials_does_not_win(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], signed_by: tuple[str | None, str]
) -> None:
    """adlfs takes a connection string of the environment before a key that it is given."""
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", OF_ANOTHER)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "b3RoZXI=")
    url, options = location_of(PATH, settings)

    async def opened() -> tuple[str | None, str]:
        account = account_of(url, place_of(url), OpenOptions(storage_options=options))
        credentials = account.connection.credentials
        # Ours asks azure-storage's, which has the key.
        policies = [getattr(one, "_policy", one) for one in credentials.policies]
        keys = [getattr(one, "account_key", None) for one in policies]
        await account.close()
        return next(iter(keys), None), credentials.signature

    assert asyncio.run(opened()) == signed_by


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("AZURE_STORAGE_ACCOUNT_KEY", CLIENT),
        ("AZURE_STORAGE_SAS_TOKEN", CLIENT),
        ("AZURE_STORAGE_CLIENT_ID", {**OAUTH, PROVIDER: f"{OAUTH2}.MsiTokenProvider"}),
    ],
)
def test_where_an_environment_would_win_it_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, settings: dict[str, str]
) -> None:
    monkeypatch.setenv(name, KEY)
    with pytest.raises(fc.RequestError, match=name) as caught:
        location_of(PATH, settings)
    assert KEY not in str(caught.value)
    location_of(PATH, {**settings, "spark.fsspec_commit.credentials": "ambient"})


def test_azures_own_sdk_knows_each_that_is_left_out() -> None:
    from azure.identity.aio import DefaultAzureCredential

    settings = {**OAUTH, PROVIDER: f"{OAUTH2}.MsiTokenProvider"}
    _, options = location_of(PATH, settings)
    found: Any = DefaultAzureCredential(**options)
    assert [type(one).__name__ for one in found.credentials] == ["ManagedIdentityCredential"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "fs.azure.account.key"),
        ({"fs.azure.account.keyprovider": "com.x.Shell"}, "com.x.Shell"),
        ({"fs.azure.account.auth.type": "Custom"}, "SharedKey, SAS and OAuth"),
        ({"fs.azure.account.auth.type": "UserboundSASWithOAuth"}, "SharedKey, SAS and OAuth"),
        ({"fs.azure.account.auth.type": "SAS", SAS_PROVIDER: "com.x.Sas"}, "com.x.Sas"),
        # It is asked first, whatever is set beside it.
        ({**SAS, "fs.azure.account.auth.type": "SAS", SAS_PROVIDER: "com.x.Sas"}, "com.x.Sas"),
        ({**SAS, f"{SAS_PROVIDER}.{HOST}": "com.x.Sas"}, "com.x.Sas"),
        ({**ACCOUNT_KEY, f"fs.azure.client-provided-encryption-key.{HOST}": KEY}, "account's key"),
        (
            {
                **OAUTH,
                PROVIDER: f"{OAUTH2}.WorkloadIdentityTokenProvider",
                "fs.azure.account.oauth2.client.id": "app",
                "fs.azure.account.oauth2.msi.tenant": "tenant",
                "fs.azure.account.oauth2.msi.authority": "https://login.chinacloudapi.cn/",
            },
            "AZURE_AUTHORITY_HOST",
        ),
        ({**OAUTH, PROVIDER: f"{OAUTH2}.RefreshTokenBasedTokenProvider"}, "managed identity"),
        ({**OAUTH, PROVIDER: f"{OAUTH2}.UserPasswordTokenProvider"}, "managed identity"),
        ({**CLIENT, "fs.azure.account.oauth2.client.secret": ""}, "client.secret"),
        (
            {
                **CLIENT,
                "fs.azure.account.oauth2.client.endpoint": (
                    "https://login.microsoftonline.us/tenant-1/oauth2/token"
                ),
            },
            "AZURE_AUTHORITY_HOST",
        ),
        ({**CLIENT, **EMULATOR}, "auth.type"),
        (
            {
                **OAUTH,
                PROVIDER: f"{OAUTH2}.MsiTokenProvider",
                "fs.azure.account.oauth2.msi.endpoint": "http://127.0.0.1/x",
            },
            "msi.endpoint",
        ),
        (
            {
                **OAUTH,
                PROVIDER: f"{OAUTH2}.WorkloadIdentityTokenProvider",
                "fs.azure.account.oauth2.token.file": "/elsewhere",
            },
            "AZURE_FEDERATED_TOKEN_FILE",
        ),
        ({**ACCOUNT_KEY, "fs.azure.encryption.encoded.client-provided-key": KEY}, "account's key"),
        ({**ACCOUNT_KEY, "fs.azure.encryption.context.provider.type": "x.Y"}, "account's key"),
        ({**ACCOUNT_KEY, "fs.abfss.impl": "com.databricks.Abfs"}, "com.databricks.Abfs"),
        ({**ACCOUNT_KEY, "fs.azure.abfs.endpoint": "http://host:1"}, "host:port"),
        ({**EMULATOR, f"fs.azure.account.key.{HOST}": f"{KEY};x"}, "semicolon"),
    ],
)
def test_what_has_no_counterpart_is_refused_and_no_secret_is_said(
    settings: dict[str, str], said: str
) -> None:
    with pytest.raises(fc.RequestError) as caught:
        location_of(PATH, settings)
    message = str(caught.value)
    assert caught.value.kind == "unmapped_setting"
    assert said in message
    assert KEY not in message + repr(caught.value)


@pytest.mark.parametrize("path", ["abfs://data/out", "abfss:///out", f"abfss://{HOST}/out"])
def test_a_path_without_an_account_is_refused(path: str) -> None:
    with pytest.raises(fc.RequestError, match="names no account"):
        location_of(path, ACCOUNT_KEY)
