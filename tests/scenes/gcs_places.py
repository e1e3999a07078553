"""Where the jobs of these tests write on GCS: a directory of a bucket.

Looked at by means of google-cloud-storage, never through the package.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import md5
from typing import Any

from google.api_core.exceptions import NotFound

from tests.scenes.places import ObjectPlace
from tests.servers.gcs.plugin import GcsBucket


@dataclass(frozen=True)
class GcsPlace(ObjectPlace):
    """A directory of a bucket.

    Attributes:
        bucket: Where it is.
        root: Its key, without slashes around it.
        storage_options: How a job gets there; by a proxy perhaps.
        read_before: By their digests, for all places of a test: most are there each time.
    """

    bucket: GcsBucket
    root: str
    storage_options: Mapping[str, Any]
    read_before: dict[str, bytes] = field(default_factory=dict, repr=False)

    @property
    def url(self) -> str:
        return f"{self.bucket.url}/{self.root}"

    def put(self, files: Mapping[str, bytes]) -> None:
        for name, data in files.items():
            self._objects.blob(f"{self.root}/{name}").upload_from_string(data)

    def directories(self) -> set[str]:
        return set()

    def pending(self) -> list[str]:
        """None: an upload that is not finished is its process's own, and expires."""
        return []

    @property
    def _objects(self) -> Any:
        return self.bucket.server.client.bucket(self.bucket.name)

    def _files(self) -> dict[str, Any]:
        prefix = f"{self.root}/"
        found = self._objects.list_blobs(prefix=prefix)
        return {one.name.removeprefix(prefix): one for one in found}

    def _read(self, listed: dict[str, Any]) -> dict[str, bytes]:
        found = {}
        for name, one in listed.items():
            data = self.read_before.get(one.md5_hash)
            if data is None:
                try:
                    data = self._objects.blob(one.name).download_as_bytes()
                except NotFound:
                    continue  # it has gone meanwhile
                # Of what was read, which may be newer than what was listed.
                self.read_before[b64encode(md5(data).digest()).decode()] = data
            found[name] = data
        return found


def gcs_places(
    bucket: GcsBucket, *, endpoint_url: str | None = None
) -> Callable[[object], GcsPlace]:
    """Directories of one bucket; reached at *endpoint_url*, a proxy's."""
    server = bucket.server
    options = server.storage_options_through(endpoint_url or server.endpoint_url)
    read_before: dict[str, bytes] = {}
    return lambda name: GcsPlace(bucket, f"top/{name}/out", options, read_before)
