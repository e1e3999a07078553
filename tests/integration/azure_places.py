"""Where the jobs of these tests write on Azure: a directory of a container, in either account.

Looked at by means of the SDK, never through the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from azure.core.exceptions import ResourceNotFoundError

from tests.protocol.invariants import AREA
from tests.servers.azure.plugin import AzureContainer

if TYPE_CHECKING:
    from tests.integration.places import Places


@dataclass(frozen=True)
class AzurePlace:
    """A directory of a container.

    Attributes:
        container: Where it is.
        root: Its name, without slashes around it.
        storage_options: How a job gets there; by a proxy perhaps.
    """

    container: AzureContainer
    root: str
    storage_options: Mapping[str, Any]
    # In either: what was under way when its sender died may come after the area has gone.
    is_flat = True

    @property
    def url(self) -> str:
        return f"{self.container.url}/{self.root}"

    @property
    def committer(self) -> str:
        return "manifest" if self.container.server.is_hierarchical else "magic"

    @property
    def where(self) -> dict[str, Any]:
        return {"destination": self.url, "storage_options": dict(self.storage_options)}

    @property
    def how(self) -> dict[str, Any]:
        """The storage options as the package takes them."""
        return {"storage_options": self.storage_options}

    def put(self, files: Mapping[str, bytes]) -> None:
        for name, data in files.items():
            self.container.client.upload_blob(f"{self.root}/{name}", data, overwrite=True)

    def names(self) -> list[str]:
        """The names of files alone, in one listing."""
        return [name for name, is_directory in self._listed() if not is_directory]

    def snapshot(self) -> dict[str, bytes]:
        return self._read(self.names())

    def data(self) -> dict[str, bytes]:
        return self._read([name for name in self.names() if not name.startswith(AREA)])

    def directories(self) -> set[str]:
        return {name for name, is_directory in self._listed() if is_directory}

    def pending(self) -> list[str]:
        """None: blocks that are not committed go by themselves, and nothing else drops them."""
        return []

    def _listed(self) -> list[tuple[str, bool]]:
        found = self.container.client.list_blobs(f"{self.root}/", include=["metadata"])
        return [
            (
                one.name.removeprefix(f"{self.root}/"),
                (one.metadata or {}).get("hdi_isfolder", "").lower() == "true",
            )
            for one in found
        ]

    def _read(self, names: list[str]) -> dict[str, bytes]:
        found = {}
        for name in names:
            try:
                answer = self.container.client.download_blob(f"{self.root}/{name}")
            except ResourceNotFoundError:
                continue  # it has gone meanwhile
            found[name] = answer.readall()
        return found


def azure_places(container: AzureContainer, *, endpoint_url: str | None = None) -> Places:
    """Directories of one container; reached at *endpoint_url*, a proxy's."""
    server = container.server
    options = server.storage_options_through(endpoint_url or server.endpoint_url)
    return lambda name: AzurePlace(container, f"top/{name}/out", options)
