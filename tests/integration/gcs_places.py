"""Where the jobs of these tests write on GCS: a directory of a bucket.

Looked at by means of google-cloud-storage, never through the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.protocol.invariants import AREA
from tests.servers.gcs.plugin import GcsBucket

if TYPE_CHECKING:
    from tests.integration.places import Places


@dataclass(frozen=True)
class GcsPlace:
    """A directory of a bucket.

    Attributes:
        bucket: Where it is.
        root: Its key, without slashes around it.
        storage_options: How a job gets there; by a proxy perhaps.
    """

    bucket: GcsBucket
    root: str
    storage_options: Mapping[str, Any]
    is_flat = True

    @property
    def url(self) -> str:
        return f"{self.bucket.url}/{self.root}"

    @property
    def where(self) -> dict[str, Any]:
        return {"destination": self.url, "storage_options": dict(self.storage_options)}

    @property
    def how(self) -> dict[str, Any]:
        """The storage options as the package takes them."""
        return {"storage_options": self.storage_options}

    def put(self, files: Mapping[str, bytes]) -> None:
        for name, data in files.items():
            self._objects.blob(f"{self.root}/{name}").upload_from_string(data)

    def names(self) -> list[str]:
        """The names alone, in one listing."""
        prefix = f"{self.root}/"
        return [one.name.removeprefix(prefix) for one in self._objects.list_blobs(prefix=prefix)]

    def snapshot(self) -> dict[str, bytes]:
        return self._read(self.names())

    def data(self) -> dict[str, bytes]:
        return self._read([name for name in self.names() if not name.startswith(AREA)])

    def directories(self) -> set[str]:
        return set()

    def pending(self) -> list[str]:
        """None: an upload that is not finished is its process's own, and expires."""
        return []

    @property
    def _objects(self) -> Any:
        return self.bucket.server.client.bucket(self.bucket.name)

    def _read(self, names: list[str]) -> dict[str, bytes]:
        found = {}
        for name in names:
            blob = self._objects.get_blob(f"{self.root}/{name}")
            if blob is not None:  # else it has gone meanwhile
                found[name] = blob.download_as_bytes()
        return found


def gcs_places(bucket: GcsBucket, *, endpoint_url: str | None = None) -> Places:
    """Directories of one bucket; reached at *endpoint_url*, a proxy's."""
    server = bucket.server
    options = server.storage_options_through(endpoint_url or server.endpoint_url)
    return lambda name: GcsPlace(bucket, f"top/{name}/out", options)
