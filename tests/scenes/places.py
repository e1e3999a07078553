"""Where the jobs of these tests write: a local directory, or a directory of a bucket.

Looked at by means of the system or of botocore, never through the package.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from tests.protocol.invariants import AREA, JOB_ID, directories_of, snapshot_of
from tests.servers.plugin import S3Bucket


class Place(Protocol):
    """One destination, and what stands there."""

    @property
    def where(self) -> dict[str, Any]:
        """What a request to `Processes` needs to find it."""

    @property
    def may_come_back(self) -> bool:
        """Whether what is late may make an area again that has gone, for `clean` to remove."""

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files as somebody who knows nothing of jobs."""

    def snapshot(self) -> dict[str, bytes]:
        """Every file by its relative name."""

    def data(self) -> dict[str, bytes]:
        """The same without the work areas, which a reader does not open."""

    def directories(self) -> set[str]:
        """Every directory by its relative name, where there are such."""

    def pending(self) -> list[str]:
        """The names of uploads that a settled job must not have left."""


class Reached(Protocol):
    """What a job reaches by URL and options."""

    @property
    def url(self) -> str:
        """The destination."""

    @property
    def how(self) -> dict[str, Any]:
        """The storage options as the package takes them."""


class RemotePlace(Place, Reached, Protocol):
    """A place that a job reaches so."""


Places: TypeAlias = Callable[[object], Place]
"""A fresh destination for each name."""


@dataclass(frozen=True)
class LocalPlace:
    path: Path
    may_come_back = False

    @property
    def url(self) -> str:
        return str(self.path)

    @property
    def how(self) -> dict[str, Any]:
        return {}

    @property
    def where(self) -> dict[str, Any]:
        return {"destination": str(self.path)}

    def put(self, files: Mapping[str, bytes]) -> None:
        for name, data in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def snapshot(self) -> dict[str, bytes]:
        return snapshot_of(self.path)

    def data(self) -> dict[str, bytes]:
        found = {}
        for entry in list(os.scandir(self.path)) if self.path.exists() else []:
            if entry.is_dir() and entry.name + "/" != AREA:
                inner = snapshot_of(entry.path)
                found.update({f"{entry.name}/{name}": data for name, data in inner.items()})
        return found

    def directories(self) -> set[str]:
        return directories_of(self.path)

    def pending(self) -> list[str]:
        return []


def local_places(directory: Path) -> Places:
    return lambda name: LocalPlace(directory / str(name))


class ObjectPlace(ABC):
    """A directory of a bucket or container, as every object store is looked at by a test."""

    storage_options: Mapping[str, Any]
    # An area goes file by file, and is wherever there is a file.
    may_come_back = True

    @property
    @abstractmethod
    def url(self) -> str: ...

    @property
    def where(self) -> dict[str, Any]:
        return {"destination": self.url, "storage_options": dict(self.storage_options)}

    @property
    def how(self) -> dict[str, Any]:
        """The storage options as the package takes them."""
        return {"storage_options": self.storage_options}

    def names(self) -> list[str]:
        """The names of files alone, in one listing."""
        return list(self._files())

    def snapshot(self) -> dict[str, bytes]:
        return self._read(self._files())

    def data(self) -> dict[str, bytes]:
        found = self._files()
        return self._read({name: one for name, one in found.items() if not name.startswith(AREA)})

    @abstractmethod
    def _files(self) -> dict[str, Any]:
        """What a listing shows of each file, by its relative name."""

    @abstractmethod
    def _read(self, listed: dict[str, Any]) -> dict[str, bytes]: ...


@dataclass(frozen=True)
class S3Place(ObjectPlace):
    """A directory of a bucket.

    Attributes:
        bucket: Where it is.
        root: Its key, without slashes around it.
        storage_options: How a job gets there; by a proxy perhaps.
        read_before: By their etags, for all places of a test: equal ones are of equal bytes.
    """

    bucket: S3Bucket
    root: str
    storage_options: Mapping[str, Any]
    read_before: dict[str, bytes] = field(default_factory=dict, repr=False)

    @property
    def url(self) -> str:
        return f"{self.bucket.url}/{self.root}"

    def put(self, files: Mapping[str, bytes]) -> None:
        client = self.bucket.server.client
        for name, data in files.items():
            client.put_object(Bucket=self.bucket.name, Key=f"{self.root}/{name}", Body=data)

    def _files(self) -> dict[str, str]:
        """The etag of each."""
        pages = self.bucket.server.client.get_paginator("list_objects_v2")
        prefix = f"{self.root}/"
        return {
            one["Key"].removeprefix(prefix): one["ETag"]
            for page in pages.paginate(Bucket=self.bucket.name, Prefix=prefix)
            for one in page.get("Contents", ())
        }

    def _read(self, listed: dict[str, str]) -> dict[str, bytes]:
        client = self.bucket.server.client
        found = {}
        for name, etag in listed.items():
            data = self.read_before.get(etag)
            if data is None:
                key = f"{self.root}/{name}"
                try:
                    answer = client.get_object(Bucket=self.bucket.name, Key=key)
                except client.exceptions.NoSuchKey:
                    continue  # it has gone meanwhile
                data = answer["Body"].read()
                # Of what was read, which may be newer than what was listed.
                self.read_before[answer["ETag"]] = data
            found[name] = data
        return found

    def directories(self) -> set[str]:
        return set()

    def pending(self) -> list[str]:
        """Those that hold something, and those whose name says whose they are.

        An upload under an exact name whose record was not written yet when its process died is
        nobody's: it is shown, never aborted, and it holds nothing.
        """
        client = self.bucket.server.client
        pages = client.get_paginator("list_multipart_uploads")
        found = []
        for page in pages.paginate(Bucket=self.bucket.name):
            for upload in page.get("Uploads", ()):
                key = upload["Key"]
                if not key.startswith(f"{self.root}/"):
                    continue
                parts = client.list_parts(
                    Bucket=self.bucket.name, Key=key, UploadId=upload["UploadId"]
                )
                if parts.get("Parts") or re.search(JOB_ID, key):
                    found.append(key.removeprefix(f"{self.root}/"))
        return found


def s3_places(bucket: S3Bucket, *, endpoint_url: str | None = None) -> Callable[[object], S3Place]:
    """Directories of one bucket; reached at *endpoint_url*, a proxy's."""
    server = bucket.server
    options = server.storage_options_through(endpoint_url or server.endpoint_url)
    read_before: dict[str, bytes] = {}
    return lambda name: S3Place(bucket, f"top/{name}/out", options, read_before)


def keep_versions(bucket: S3Bucket, status: str = "Enabled") -> None:
    """Let the bucket keep versions: then no token comes back, and any file may be overwritten."""
    bucket.server.client.put_bucket_versioning(
        Bucket=bucket.name, VersioningConfiguration={"Status": status}
    )
