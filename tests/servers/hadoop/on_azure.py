"""Hadoop's own driver and manifest committer on an account of the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.servers.azure.server import AzureServer

_FACTORY = "org.apache.hadoop.fs.azurebfs.commit.AzureManifestCommitterFactory"


def url_of(server: AzureServer, container: str, path: str) -> str:
    """As Hadoop names it: the account's address comes from the settings."""
    return f"abfs://{container}@{_host(server)}/{path}"


def settings_of(server: AzureServer, endpoint_url: str) -> dict[str, str]:
    """Hadoop's settings for the account by this address, which may be a proxy's."""
    return {
        **connection_of(server, endpoint_url),
        "mapreduce.outputcommitter.factory.scheme.abfs": _FACTORY,
    }


def connection_of(server: AzureServer, endpoint_url: str) -> dict[str, str]:
    """Those that say where the account is, and whose; no word of committers."""
    return {
        "fs.azure.abfs.endpoint": endpoint_url.removeprefix("http://"),
        "fs.azure.always.use.https": "false",
        # The other library does not speak plain HTTP.
        "fs.azure.networking.library": "JDK_HTTP_URL_CONNECTION",
        f"fs.azure.account.key.{_host(server)}": server.account_key,
    }


def _host(server: AzureServer) -> str:
    return f"{server.account_name}.dfs.core.windows.net"
