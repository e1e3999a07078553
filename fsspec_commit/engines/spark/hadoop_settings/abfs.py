"""``abfs:`` and ``abfss:``, as hadoop-azure 3.3 to 3.5 reads its settings."""

import re
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

SECRETS = tuple(
    name + suffix
    for name in (
        *(_KEY, _SAS, _CLIENT_ENDPOINT),
        *(f"{_OAUTH}.{name}" for name in ("client.id", "client.secret", "msi.tenant")),
        "fs.azure.encryption.encoded.client-provided-key",
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
_TOKEN_FILES = {"", "/var/run/secrets/azure/tokens/azure-identity-token"}
_IMDS = {"", "http://169.254.169.254/metadata/identity/oauth2/token"}
_PLACE = re.compile(r"//([^@/]+)@([^@/:]+)(/.*)?", re.DOTALL)
_CLIENT_ENDPOINTS = re.compile(
    rf"https://{re.escape(_AUTHORITY)}/([A-Za-z0-9.-]+)/oauth2/(?:v2\.0/)?token/?"
)
# Of DefaultAzureCredential, in words of azure-identity: all but one are left out.
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

    def text(self, name: str) -> str:
        """As Hadoop looks it up: for the container, for the account, for all."""
        return self.settings.text(
            f"{name}.{self.container}.{self.host}", f"{name}.{self.host}", name
        )

    def needed(self, name: str, for_what: str) -> str:
        """What must be set.

        Raises:
            RequestError: It is not.
        """
        if not (value := self.text(name)):
            raise self.refused(name, f"is not set, which {for_what} needs: set it, {AMBIENT}")
        return value

    def refused(self, name: str, why: str) -> RequestError:
        return self.settings.refused(name, why)


def located(settings: Settings) -> tuple[str, dict[str, object]]:
    """``abfs://container@account.dfs.core.windows.net/a`` is itself.

    Raises:
        RequestError: It names no account, or a setting has no counterpart here.
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
    for name in settings.named("fs.azure.encryption."):
        raise settings.refused(
            name, "is set: what is written from here is encrypted by the account's key alone"
        )
    url = f"{settings.scheme}:{settings.rest}"
    if settings.is_ambient:
        return url, {}
    return url, _credentials(account, _endpoint(account))


def _endpoint(account: _Account) -> str:
    """Where the account answers, as a part of a connection string; empty: at its host by https."""
    settings = account.settings
    secure = settings.scheme == "abfss" or settings.flag(_HTTPS, default=True)
    scheme = "https" if secure else "http"
    custom = settings.text(_ENDPOINT)
    if ":" in custom:
        if re.fullmatch(r"[A-Za-z0-9.-]+:\d+", custom) is None:
            raise settings.refused(_ENDPOINT, "is no host:port")
        where = f"{scheme}://{custom}/{account.name}"
    elif secure:
        return ""
    else:
        where = f"http://{account.host.replace('.dfs.', '.blob.', 1)}"
    return f"DefaultEndpointsProtocol={scheme};AccountName={account.name};BlobEndpoint={where}"


def _credentials(account: _Account, endpoint: str) -> dict[str, object]:
    kind = account.text(_AUTH_TYPE).lower() or "sharedkey"
    if kind == "sharedkey":
        if account.text(_KEY_PROVIDER) not in _KEY_PROVIDERS:
            shown = shown_class(account.text(_KEY_PROVIDER))
            why = f"has {shown} find the key, which this library cannot ask: set {_KEY}.ACCOUNT"
            raise account.refused(_KEY_PROVIDER, f"{why}, {AMBIENT}")
        key = account.needed(f"{_KEY}", "SharedKey")
        return _with(account, endpoint, _KEY, "AccountKey", key) or {"account_key": key}
    if kind == "sas":
        if account.text(_SAS_PROVIDER) and not account.text(_SAS):
            shown = shown_class(account.text(_SAS_PROVIDER))
            why = f"has {shown} make signatures, which this library cannot ask: set {_SAS}"
            raise account.refused(_SAS_PROVIDER, f"{why}, {AMBIENT}")
        signature = account.needed(_SAS, "SAS").lstrip("?")
        found = _with(account, endpoint, _SAS, "SharedAccessSignature", signature)
        return found or {"sas_token": signature}
    if kind != "oauth":
        why = "is none of SharedKey, SAS and OAuth, or has a class find the credentials"
        raise account.refused(
            _AUTH_TYPE, f"{why}, which this library cannot ask: use one, {AMBIENT}"
        )
    if endpoint:
        why = "is OAuth, which is served at the account's own host by https: leave"
        raise account.refused(_AUTH_TYPE, f"{why} {_ENDPOINT} and {_HTTPS} alone")
    return _of_oauth(account)


def _with(
    account: _Account, endpoint: str, name: str, field: str, value: str
) -> dict[str, object] | None:
    """A connection string, where the account answers elsewhere than at its host."""
    if not endpoint:
        return None
    if ";" in value:
        raise account.refused(name, "has a semicolon in it, as none has")
    return {"connection_string": f"{endpoint};{field}={value}"}


def _of_oauth(account: _Account) -> dict[str, object]:
    provider = account.text(_TOKEN_PROVIDER)
    kind = provider.removeprefix(f"{_OF_HADOOP}.")
    if kind == "ClientCredsTokenProvider":
        return {
            "tenant_id": _tenant(account),
            "client_id": account.needed(f"{_OAUTH}.client.id", kind),
            "client_secret": account.needed(f"{_OAUTH}.client.secret", kind),
        }
    if kind == "MsiTokenProvider":
        if account.text(f"{_OAUTH}.msi.endpoint") not in _IMDS:
            why = "is set: the machine's identity is asked for where Azure's own SDK does so"
            raise account.refused(f"{_OAUTH}.msi.endpoint", f"{why}: unset it, {AMBIENT}")
        client = account.text(f"{_OAUTH}.client.id")
        named = {"managed_identity_client_id": client} if client else {}
        return {**named, **_only("managed_identity")}
    if kind == "WorkloadIdentityTokenProvider":
        if account.text(_ASSERTIONS):
            shown = shown_class(account.text(_ASSERTIONS))
            raise account.refused(_ASSERTIONS, f"names {shown}, which this library cannot ask")
        if account.text(_TOKEN_FILE) not in _TOKEN_FILES:
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
    """Of the address that tokens are fetched from."""
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
    """Of all that DefaultAzureCredential tries, this one."""
    return {f"exclude_{one}_credential": one != wanted for one in _CREDENTIALS}
