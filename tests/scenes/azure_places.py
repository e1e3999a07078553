"""Where the jobs of these tests write on Azure: a directory of a container, in either account.

Looked at by means of the SDK and of plain requests, never through the package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from azure.storage.blob import ContainerSasPermissions, generate_container_sas
from urllib3 import PoolManager

from tests.scenes.places import ObjectPlace
from tests.servers.azure.plugin import AzureContainer


class Reader:
    """Reads blobs by plain requests: by way of the SDK each took ten times as long.

    What was read before is not read again: an etag is another for each write.
    """

    def __init__(self, container: AzureContainer) -> None:
        self._url = container.client.url
        self._signature = generate_container_sas(
            container.server.account_name,
            container.name,
            account_key=container.server.account_key,
            permission=ContainerSasPermissions(read=True),
            expiry=datetime.now(UTC) + timedelta(days=1),
        )
        self._pool = PoolManager()
        self._before: dict[tuple[str, str], bytes] = {}

    def __call__(self, path: str, *, etag: str) -> bytes | None:
        """What stands at *path*, if anything does; when it was listed, that had this *etag*."""
        found = self._before.get((path, etag.strip('"')))
        if found is None:
            url = f"{self._url}/{quote(path)}?{self._signature}"
            answer = self._pool.request("GET", url)
            if answer.status == HTTPStatus.NOT_FOUND:
                return None
            assert answer.status == HTTPStatus.OK, answer.data
            found = self._before[path, answer.headers["ETag"].strip('"')] = answer.data
        return found


@dataclass(frozen=True)
class AzurePlace(ObjectPlace):
    """A directory of a container.

    Attributes:
        container: Where it is.
        root: Its name, without slashes around it.
        storage_options: How a job gets there; by a proxy perhaps.
        read: How it is looked at.
    """

    container: AzureContainer
    root: str
    storage_options: Mapping[str, Any]
    read: Reader

    @property
    def url(self) -> str:
        return f"{self.container.url}/{self.root}"

    @property
    def committer(self) -> str:
        return "manifest" if self.container.server.is_hierarchical else "magic"

    def put(self, files: Mapping[str, bytes]) -> None:
        for name, data in files.items():
            self.container.client.upload_blob(f"{self.root}/{name}", data, overwrite=True)

    def directories(self) -> set[str]:
        return {name for name, one in self._listed().items() if _is_directory(one)}

    def pending(self) -> list[str]:
        """None: blocks that are not committed go by themselves, and nothing else drops them."""
        return []

    def _files(self) -> dict[str, Any]:
        return {name: one for name, one in self._listed().items() if not _is_directory(one)}

    def _listed(self) -> dict[str, Any]:
        found = self.container.client.list_blobs(f"{self.root}/", include=["metadata"])
        return {one.name.removeprefix(f"{self.root}/"): one for one in found}

    def _read(self, listed: dict[str, Any]) -> dict[str, bytes]:
        found = {}
        for name, one in listed.items():
            data = self.read(f"{self.root}/{name}", etag=one.etag)
            if data is not None:  # else it has gone meanwhile
                found[name] = data
        return found


def _is_directory(one: Any) -> bool:
    return str((one.metadata or {}).get("hdi_isfolder", "")).lower() == "true"


def azure_places(
    container: AzureContainer, *, endpoint_url: str | None = None
) -> Callable[[object], AzurePlace]:
    """Directories of one container; reached at *endpoint_url*, a proxy's."""
    server = container.server
    options = server.storage_options_through(endpoint_url or server.endpoint_url)
    read = Reader(container)
    return lambda name: AzurePlace(container, f"top/{name}/out", options, read)
