"""``abfs:`` and ``abfss:``, as hadoop-azure 3.3 to 3.5 reads its settings."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

from fsspec_commit.engines.spark.hadoop_settings.settings import (
    AMBIENT,
    CREDENTIALS,
    Settings,
    shown_class,
)
from fsspec_commit.errors import RequestError

PREFIXES = ("fs.azure.", "fs.abfs.impl", "fs.abfss.impl")

_AUTH_TYPE = "fs.azure.account.auth.type"
_KEY = "fs.azure.account.key"
_KEY_PROVIDER = "fs.azure.account.keyprovider"
_SAS = "fs.azure.sas.fixed.token"
_SAS_PROVIDER = "fs.azure.sas.token.provider.type"
_TOKEN_PROVIDER = "fs.azure.account.oauth.provider.type"  # noqa: S105  # the name of a setting
_OAUTH = "fs.azure.account.oauth2"
_CLIENT_ENDPOINT = f"{_OAUTH}.client.endpoint"
_TOKEN_FILE = f"{_OAUTH}.token.file"
_ASSERTIONS = f"{_OAUTH}.client.assertion.provider.type"
_ENDPOINT = "fs.azure.abfs.endpoint"
_HTTPS = "fs.azure.always.use.https"
_AUTHORITY_OF_TOKENS = f"{_OAUTH}.msi.authority"
_SHARED_KEY = "SharedKey"
# Of Hadoop 3.3 and of later ones: what is encrypted by a key of the user's own.
_ENCRYPTION = (
    "fs.azure.client-provided-encryption-key",
    "fs.azure.encryption.context.provider.type",
    "fs.azure.encryption.encoded.client-provided-key",
)

SECRETS = tuple(
    name + suffix
    for name in (
        *(_KEY, _SAS, _CLIENT_ENDPOINT),
        *(f"{_OAUTH}.{name}" for name in ("client.id", "client.secret", "msi.tenant")),
        *_ENCRYPTION,
    )
    for suffix in ("", ".{account}", ".{container}.{account}")
)

_DRIVERS = {
    "abfs": "org.apache.hadoop.fs.azurebfs.AzureBlobFileSystem",
    "abfss": "org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem",
}
_KEY_PROVIDERS = {"", "org.apache.hadoop.fs.azurebfs.services.SimpleKeyProvider"}
_OF_HADOOP = "org.apache.hadoop.fs.azurebfs.oauth2"
_AUTHORITY = "login.microsoftonline.com"
# Variables of the environment that adlfs reads before it asks for any token, and before it asks for
# one of a managed identity.
_BEFORE_TOKENS = (
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_CONNECTION_STRING",
    "AZURE_STORAGE_SAS_TOKEN",
)
_BEFORE_IDENTITIES = ("AZURE_STORAGE_CLIENT_ID",)
_TOKEN_FILES = {"", "/var/run/secrets/azure/tokens/azure-identity-token"}
_IMDS = {"", "http://169.254.169.254/metadata/identity/oauth2/token"}
_PLACE = re.compile(r"//([^@/]+)@([^@/:]+)(/.*)?", re.DOTALL)
_CLIENT_ENDPOINTS = re.compile(
    rf"https://{re.escape(_AUTHORITY)}/([A-Za-z0-9.-]+)/oauth2/(?:v2\.0/)?token/?"
)
# What DefaultAzureCredential tries, in azure-identity's words: all but one are left out.
_CREDENTIALS = (
    *("cli", "developer_cli", "environment", "managed_identity", "powershell"),
    *("shared_token_cache", "visual_studio_code", "workload_identity"),
)


@dataclass(frozen=True, slots=True)
class _Account:
    """The settings of one container of one account.

    Attributes:
        container: Its name.
        host: What Hadoop calls the account: its whole host.
    """

    settings: Settings
    container: str
    host: str

    @property
    def name(self) -> str:
        return self.host.partition(".")[0]

    @property
    def blob_host(self) -> str:
        """Where the account answers to requests about blobs."""
        return self.host.replace(".dfs.", ".blob.", 1)

    def text(self, name: str) -> str:
        """A setting as Hadoop looks it up: for the account, then for all."""
        return self.settings.text(f"{name}.{self.host}", name)

    def secret(self, name: str) -> str:
        """A setting that may be in a keystore, as Hadoop looks it up: first for the container."""
        of_container = f"{name}.{self.container}.{self.host}"
        return self.settings.text(of_container, f"{name}.{self.host}", name)

    def provider(self, name: str) -> str:
        """The class that finds credentials; the global one only along with the global auth type."""
        own = f"{name}.{self.host}"
        ways = (self.text(_AUTH_TYPE), self.settings.text(_AUTH_TYPE))
        of_all, here = ((way or _SHARED_KEY).lower() for way in reversed(ways))
        return self.settings.text(own, name) if here == of_all else self.settings.text(own)

    def needed(self, name: str, for_what: str) -> str:
        """A setting that must be set.

        Raises:
            RequestError: It is not set.
        """
        if not (value := self.secret(name)):
            raise self.refused(name, f"is not set, which {for_what} needs: set it, {AMBIENT}")
        return value

    def refused(self, name: str, why: str) -> RequestError:
        return self.settings.refused(name, why)


def located(settings: Settings) -> tuple[str, dict[str, object]]:
    """The URL, which stays as Hadoop has it, and the storage options.

    Raises:
        RequestError: The path names no account, or a setting has no counterpart here.
    """
    named = _PLACE.fullmatch(settings.rest)
    if named is None:
        message = (
            f"{settings.path!r} names no account: Hadoop writes to "
            "abfss://container@account.dfs.core.windows.net/directory"
        )
        raise RequestError(message, kind="invalid_url", path=settings.path)
    settings.refuse_other_driver(_DRIVERS[settings.scheme])
    account = _Account(settings, named[1], named[2])
    for name in _ENCRYPTION:
        if account.secret(name):
            why = "is set: what is written from here is encrypted by the account's key alone"
            raise settings.refused(name, why)
    url = f"{settings.scheme}:{settings.rest}"
    if settings.is_ambient:
        return url, {}
    return url, _credentials(account)


def _endpoint(account: _Account) -> str:
    """Where the account answers."""
    settings = account.settings
    secure = settings.scheme == "abfss" or settings.flag(_HTTPS, default=True)
    scheme = "https" if secure else "http"
    custom = settings.text(_ENDPOINT)
    if ":" in custom:
        if re.fullmatch(r"[A-Za-z0-9.-]+:\d+", custom) is None:
            raise settings.refused(_ENDPOINT, "is no host:port")
        return f"{scheme}://{custom}/{account.name}"
    return f"{scheme}://{account.blob_host}"


def _credentials(account: _Account) -> dict[str, object]:
    kind = (account.text(_AUTH_TYPE) or _SHARED_KEY).lower()
    if kind == _SHARED_KEY.lower():
        if account.text(_KEY_PROVIDER) not in _KEY_PROVIDERS:
            shown = shown_class(account.text(_KEY_PROVIDER))
            why = f"has {shown} find the key, which this library cannot ask: set {_KEY}.ACCOUNT"
            raise account.refused(_KEY_PROVIDER, f"{why}, {AMBIENT}")
        return _connection(account, _KEY, "AccountKey", account.needed(_KEY, _SHARED_KEY))
    if kind == "sas":
        # Hadoop asks a provider before it looks for a signature that is set.
        if provider := account.provider(_SAS_PROVIDER):
            why = f"has {shown_class(provider)} make signatures, which this library cannot ask:"
            raise account.refused(_SAS_PROVIDER, f"{why} unset it and set {_SAS}, {AMBIENT}")
        signature = account.needed(_SAS, "SAS").lstrip("?")
        return _connection(account, _SAS, "SharedAccessSignature", signature)
    if kind != "oauth":
        why = "is none of SharedKey, SAS and OAuth, or has a class find the credentials"
        raise account.refused(
            _AUTH_TYPE, f"{why}, which this library cannot ask: use one, {AMBIENT}"
        )
    if _endpoint(account) != f"https://{account.blob_host}":
        why = "is OAuth, which is served at the account's own host by https: leave"
        raise account.refused(_AUTH_TYPE, f"{why} {_ENDPOINT} and {_HTTPS} alone")
    _refuse_environment(account, _BEFORE_TOKENS)
    return _of_oauth(account)


def _refuse_environment(account: _Account, names: Iterable[str]) -> None:
    for name in filter(os.environ.get, names):
        why = f"is OAuth, and {name} in the driver's environment would be taken before it: unset"
        raise account.refused(_AUTH_TYPE, f"{why} that, {AMBIENT}")


def _connection(account: _Account, name: str, field: str, value: str) -> dict[str, object]:
    """All in one connection string, which adlfs prefers to anything in the environment."""
    if ";" in value:
        raise account.refused(name, "has a semicolon in it, as none has")
    endpoint = _endpoint(account)
    parts = {
        "DefaultEndpointsProtocol": endpoint.partition(":")[0],
        "AccountName": account.name,
        "BlobEndpoint": endpoint,
        field: value,
    }
    return {"connection_string": ";".join(f"{key}={text}" for key, text in parts.items())}


def _of_oauth(account: _Account) -> dict[str, object]:
    provider = account.provider(_TOKEN_PROVIDER)
    kind = provider.removeprefix(f"{_OF_HADOOP}.")
    if kind == "ClientCredsTokenProvider":
        return {
            "tenant_id": _tenant(account),
            "client_id": account.needed(f"{_OAUTH}.client.id", kind),
            "client_secret": account.needed(f"{_OAUTH}.client.secret", kind),
        }
    _refuse_environment(account, _BEFORE_IDENTITIES)
    if kind == "MsiTokenProvider":
        if account.secret(f"{_OAUTH}.msi.endpoint") not in _IMDS:
            why = "is set: the machine's identity is asked for where Azure's own SDK does so"
            raise account.refused(f"{_OAUTH}.msi.endpoint", f"{why}: unset it, {AMBIENT}")
        client = account.secret(f"{_OAUTH}.client.id")
        named = {"managed_identity_client_id": client} if client else {}
        return {**named, **_only("managed_identity")}
    if kind == "WorkloadIdentityTokenProvider":
        if assertions := account.secret(_ASSERTIONS):
            shown = shown_class(assertions)
            raise account.refused(_ASSERTIONS, f"names {shown}, which this library cannot ask")
        if account.secret(_AUTHORITY_OF_TOKENS).rstrip("/") not in {"", f"https://{_AUTHORITY}"}:
            why = "is set: name it by AZURE_AUTHORITY_HOST in the driver's environment"
            raise account.refused(_AUTHORITY_OF_TOKENS, f"{why}, unset this, {AMBIENT}")
        if account.secret(_TOKEN_FILE) not in _TOKEN_FILES:
            why = "is set: name the file by AZURE_FEDERATED_TOKEN_FILE in the driver's environment"
            raise account.refused(_TOKEN_FILE, f"{why}, and unset this")
        return {
            "workload_identity_client_id": account.needed(f"{_OAUTH}.client.id", kind),
            "workload_identity_tenant_id": account.needed(f"{_OAUTH}.msi.tenant", kind),
            **_only("workload_identity"),
        }
    why = f"names {shown_class(provider)}, which this library cannot ask: use a client's secret, "
    ways = "a managed identity or a workload identity"
    raise account.refused(_TOKEN_PROVIDER, f"{why}{ways}, {AMBIENT}")


def _tenant(account: _Account) -> str:
    """The tenant, from the address that tokens are fetched from."""
    endpoint = account.needed(_CLIENT_ENDPOINT, "ClientCredsTokenProvider")
    match = _CLIENT_ENDPOINTS.fullmatch(endpoint)
    if match is None:
        why = (
            f"is not https://{_AUTHORITY}/TENANT/oauth2/token: for another authority set "
            "AZURE_AUTHORITY_HOST, AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET in the "
            f"driver's environment, and {CREDENTIALS}=ambient"
        )
        raise account.refused(_CLIENT_ENDPOINT, why)
    return match[1]


def _only(wanted: str) -> dict[str, object]:
    """Options that leave only *wanted* of all that DefaultAzureCredential tries."""
    return {f"exclude_{one}_credential": one != wanted for one in _CREDENTIALS}
