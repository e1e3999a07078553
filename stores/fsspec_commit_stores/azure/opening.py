"""What the user's options of adlfs mean: an account, its endpoints, and a connection of our own."""

import base64
import re
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any
from urllib.parse import urlsplit

import adlfs
from azure.core.exceptions import AzureError

from fsspec_commit.store import AtomicRename, Capabilities, OpenOptions
from fsspec_commit_stores.azure.connections import Connection, Endpoints, Limits
from fsspec_commit_stores.azure.places import Place
from fsspec_commit_stores.http.clients import Client, Close, client_of
from fsspec_commit_stores.http.opening import POOL, forget, private, served, why_not_short_of
from fsspec_commit_stores.http.places import invalid_option

_FILES = tuple(
    f"{directory}/{name}"
    for directory in ("~/.azure", "$AZURE_CONFIG_DIR")
    for name in ("azureProfile.json", "msal_token_cache.json")
)
"""The files that say who has logged in by `az login`."""
_CONNECTION_TIMEOUT_S = 5.0
_READ_TIMEOUT_S = 25.0
_AZURE = re.compile(
    r"[a-z0-9-]+\.(?:[a-z0-9]+\.)?(?:blob|dfs)\."
    r"(?:core\.(?:windows\.net|chinacloudapi\.cn|usgovcloudapi\.net|cloudapi\.de)|storage\.azure\.net)"
)

# What follows from the protocol itself, whatever server speaks it: also that every change makes a
# new etag, whatever the bytes are.
_GEN2 = Capabilities(
    atomic_rename=AtomicRename.DIRECTORY,
    exclusive_rename=True,
    paged_listing=True,
    # Blocks belong to a path, and a rename publishes what is at another one: nothing needs them.
    multipart=False,
    uploads_listable=False,
    whole_object_publish=True,
    token_survives_rename=True,
    unique_tokens=True,
)
_FLAT = Capabilities(
    atomic_rename=AtomicRename.NONE,
    exclusive_rename=False,
    paged_listing=True,
    multipart=True,
    upload_keyed_by="path",
    # Uploads are listed among all blobs only, a page for every 5,000 that stand there.
    uploads_listable=False,
    whole_object_publish=True,
    token_survives_rename=False,
    unique_tokens=True,
)


@dataclass(frozen=True, slots=True)
class Account:
    """An account with the user's credentials for it.

    Attributes:
        connection: Sends requests.
        credentials: What adlfs has made itself, and nobody else closes.
    """

    connection: Connection
    credentials: tuple[Any, ...]

    async def close(self) -> None:
        """Close the connections, and what fetches access tokens."""
        await self.connection.close()
        for credential in self.credentials:
            closing = credential.close()
            if isawaitable(closing):
                await closing


def capabilities_of(endpoint: str, *, is_hierarchical: bool, single_writer: bool) -> Capabilities:
    """What is known before anything is tried; of servers other than Azure, only the protocol.

    Args:
        endpoint: Where the account answers.
        is_hierarchical: Whether it has a hierarchical namespace.
        single_writer: Whether only one job at a time works here.
    """
    facts = _GEN2 if is_hierarchical else _FLAT
    return served(facts, is_verified=is_azure(endpoint), single_writer=single_writer)


def is_azure(endpoint: str) -> bool:
    """Whether requests go to Azure itself, by the host's name."""
    return _AZURE.fullmatch(urlsplit(endpoint).hostname or "") is not None


async def client_for(url: str, place: Place, options: OpenOptions) -> Client[Account]:
    """The client of an account, whichever container it was used for before; nothing is sent.

    Raises:
        RequestError: An option makes no sense, or URL and options name two accounts.
    """

    async def make(given: OpenOptions) -> tuple[Account, Close]:
        account = account_of(url, place, given)
        return account, account.close

    return await client_of(url, options, ("azure", place.account, place.host), make, files=_FILES)


def account_of(url: str, place: Place, options: OpenOptions) -> Account:
    """The account that URL and options name, through a private adlfs on the running loop.

    Nothing is sent.

    Raises:
        RequestError: An option makes no sense, or URL and options name two accounts.
    """
    why_not_short, options = why_not_short_of(url, options)
    given = private(options)
    if place.account is not None:
        given.setdefault("account_name", place.account)
        if place.host is not None and not place.host.endswith(".blob.core.windows.net"):
            given.setdefault("account_host", place.host)
    try:
        filesystem = adlfs.AzureBlobFileSystem(**given)
    except TypeError as error:
        failure = invalid_option(url, f"an option is not one of adlfs's ({error})")
    except (ValueError, AzureError):
        # None of adlfs's own words are passed on: they may hold the connection string.
        failure = invalid_option(
            url,
            "give account_name= with account_key=, sas_token= or credential=, or a "
            "connection_string= that is whole",
        )
    else:
        return _account(url, place, options, filesystem, why_not_short)
    raise failure


def _account(
    url: str, place: Place, options: OpenOptions, filesystem: Any, why_not_short: str
) -> Account:
    client = filesystem.service_client
    forget(filesystem)
    if place.account is not None and client.account_name not in {None, place.account}:
        why = f"it names the account {place.account!r}, and the credentials are for"
        raise invalid_option(url, f"{why} {client.account_name!r}")
    _check_key(url, client)
    own = () if "credential" in options.storage_options else (filesystem.credential,)
    endpoints = _endpoints(client, filesystem.connection_string)
    limits = _limits(filesystem, options)
    connection = Connection(client, endpoints, limits, why_not_short=why_not_short)
    credentials = (*own, filesystem.sync_credential)
    return Account(connection, tuple(one for one in credentials if hasattr(one, "close")))


def _check_key(url: str, client: Any) -> None:
    """Refuse a key that cannot sign, before azure-storage says that nobody is logged in."""
    key = getattr(client.credential, "account_key", None)
    try:
        base64.b64decode(key or "")
    except ValueError:
        why = "account_key=, or the AccountKey of connection_string=, is not base64 as keys are"
        raise invalid_option(url, f"{why}: copy all of it") from None


def _endpoints(client: Any, connection_string: str | None) -> Endpoints:
    blob = client.primary_endpoint.partition("?")[0].rstrip("/")
    parts = (part.partition("=") for part in (connection_string or "").split(";"))
    settings = {name.upper(): value for name, _, value in parts}
    named = settings.get("DFSENDPOINT", "").rstrip("/")
    # An address that names neither endpoint serves both, as with emulators.
    return Endpoints(blob, named or blob.replace(".blob.", ".dfs.", 1))


def _limits(filesystem: Any, options: OpenOptions) -> Limits:
    timeouts: dict[str, Any] = filesystem._timeout_kwargs  # noqa: SLF001  # has no other name
    return Limits(
        options.concurrency or POOL,
        float(timeouts.get("connection_timeout", _CONNECTION_TIMEOUT_S)),
        float(timeouts.get("read_timeout", _READ_TIMEOUT_S)),
    )
