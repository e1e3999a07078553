"""What the server holds: buckets, objects, pending uploads. All in memory, none of it copied."""

from __future__ import annotations

import time
from bisect import bisect_left, insort
from dataclasses import dataclass, field
from http import HTTPStatus

from tests.servers.http_service.messages import Failure, Pieces


@dataclass(frozen=True, slots=True)
class StoredObject:
    """`headers` come back with it as they were given: metadata, content type."""

    pieces: Pieces
    size_bytes: int
    etag: str
    headers: dict[str, str]
    modified_s: float = field(default_factory=time.time)


@dataclass(frozen=True, slots=True)
class StoredPart:
    pieces: Pieces
    size_bytes: int
    etag: str
    # By the header's name; kept because whoever completes the upload may name them again.
    checksums: dict[str, str]


@dataclass(frozen=True, slots=True)
class Upload:
    key: str
    upload_id: str
    headers: dict[str, str]
    parts: dict[int, StoredPart] = field(default_factory=dict)
    initiated_s: float = field(default_factory=time.time)


class Bucket:
    """Objects by key and uploads by id; the keys of both are kept in order, as listings need.

    The order of Python's strings is that of their UTF-8, which is the order of S3.
    """

    def __init__(self) -> None:
        self.objects: dict[str, StoredObject] = {}
        self.keys: list[str] = []
        self.uploads: dict[str, Upload] = {}
        self.upload_keys: list[tuple[str, str]] = []
        self.renames: dict[str, tuple[str, dict[str, str]]] = {}
        self._begun = 0

    def put(self, key: str, stored: StoredObject) -> None:
        if key not in self.objects:
            insort(self.keys, key)
        self.objects[key] = stored

    def get(self, key: str) -> StoredObject:
        """Raises: Failure: it is not there."""
        stored = self.objects.get(key)
        if stored is None:
            raise Failure(HTTPStatus.NOT_FOUND, "NoSuchKey", "The key does not exist.")
        return stored

    def delete(self, key: str) -> None:
        if self.objects.pop(key, None) is not None:
            del self.keys[bisect_left(self.keys, key)]

    def begin(self, key: str, headers: dict[str, str]) -> Upload:
        # Ids in the order of beginning: uploads of one key are listed in that order.
        self._begun += 1
        upload = Upload(key, f"{self._begun:08x}-upload-of-the-slow-server", headers)
        self.uploads[upload.upload_id] = upload
        insort(self.upload_keys, (key, upload.upload_id))
        return upload

    def upload(self, key: str, upload_id: str) -> Upload:
        """Raises: Failure: there is none, or it is of another key."""
        upload = self.uploads.get(upload_id)
        if upload is None or upload.key != key:
            raise Failure(HTTPStatus.NOT_FOUND, "NoSuchUpload", "The upload does not exist.")
        return upload

    def end(self, upload: Upload) -> None:
        del self.uploads[upload.upload_id]
        del self.upload_keys[bisect_left(self.upload_keys, (upload.key, upload.upload_id))]


class Storage:
    def __init__(self) -> None:
        self.buckets: dict[str, Bucket] = {}

    def bucket(self, name: str) -> Bucket:
        """Raises: Failure: it is not there."""
        bucket = self.buckets.get(name)
        if bucket is None:
            raise Failure(HTTPStatus.NOT_FOUND, "NoSuchBucket", "The bucket does not exist.")
        return bucket
