"""The adapter of the flat object store in memory: ``flat://bucket/prefix``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import fsspec

from fsspec_commit.layout import StorePath
from fsspec_commit.store import (
    AtomicRename,
    Capabilities,
    Content,
    Directory,
    Entry,
    Expect,
    Expectation,
    ListsAtOnce,
    OpenOptions,
    Part,
    PendingUpload,
    Store,
    Token,
    Unusable,
    Writer,
    registry,
)
from fsspec_commit.testing.simulation.families import capabilities_of
from tests.flat.bucket import Bucket, ParentMissingError, bucket_of, refused
from tests.flat.filesystem import FlatFileSystem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from fsspec_commit.ids import Nonce


FLAT = "flat"
PAGE_ENTRIES = 1_000


async def by_pages(store: object, path: StorePath) -> None:
    """To be `FlatStore.list_at_once`, of a bucket whose pages are shorter than all listings."""


class FlatStore:
    """One destination in a bucket."""

    in_flight_max = unverified_endpoint = None
    bulk = None
    in_order = None
    direct = None
    files_max = 1_000

    def __init__(self, root: StorePath, bucket: Bucket, capabilities: Capabilities) -> None:
        self.root = root
        self.bucket = bucket
        self.capabilities = capabilities
        has_directories = bucket.habits.renames is AtomicRename.DIRECTORY
        renames = FlatRenames(bucket)
        self.files = None if bucket.habits.renames is AtomicRename.NONE else renames
        self.directories = renames if has_directories else None
        self.directory_creation = renames if has_directories else None
        self.empty_directories = self.directory_creation
        self.bulk_deletion = None if has_directories else self
        self.uploads = FlatUploads(bucket) if bucket.habits.uploads else None

    @classmethod
    async def open(cls, url: str, options: OpenOptions) -> Self:
        root = StorePath(url.partition("://")[2].strip("/"))
        bucket = bucket_of(root)
        capabilities = cls.declared(bucket)
        if options.single_writer:
            capabilities = capabilities.known("assumed", unique_tokens=True, delete_if_match=True)
        return cls(root, bucket, capabilities)

    @staticmethod
    def declared(bucket: Bucket) -> Capabilities:
        """What the adapter declares of a bucket."""
        return capabilities_of(bucket.habits)

    async def stat(self, path: StorePath) -> Entry | Directory | None:
        found = self.bucket.entry(path)
        if found is None and (path in self.bucket.directories or self.bucket.keys(f"{path}/")):
            return Directory(path)
        return found

    async def read(self, path: StorePath, *, limit_bytes: int) -> Content | None:
        entry, found = self.bucket.entry(path), self.bucket.get(path)
        if entry is None or found is None:
            return None
        if entry.size_bytes > limit_bytes:
            raise refused(path, f"longer than {limit_bytes} bytes")
        return Content(entry, found.data)

    async def read_range(self, path: StorePath, *, start: int, length: int) -> bytes | None:
        found = self.bucket.get(path)
        return None if found is None else found.data[start : start + length]

    async def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        for key in self.bucket.keys(f"{path}/"):
            entry = self.bucket.entry(key)
            if entry is not None and (without is None or not key.startswith(f"{without}/")):
                yield entry

    async def list_children(self, path: StorePath) -> AsyncIterator[Entry | Directory]:
        shown = set[str]()
        for key in self.bucket.keys(f"{path}/"):
            name, slash, _ = key[len(path) + 1 :].partition("/")
            child = StorePath(f"{path}/{name}")
            entry = Directory(child) if slash else self.bucket.entry(key)
            if entry is not None and name + slash not in shown:
                shown.add(name + slash)
                yield entry
        for directory in sorted(self.bucket.directories):
            above, _, name = directory.rpartition("/")
            if above == path and f"{name}/" not in shown:
                yield Directory(directory)

    @property
    def at_once(self) -> ListsAtOnce | None:
        return self

    async def list_at_once(self, path: StorePath) -> list[Entry | Directory | Unusable] | None:
        children: list[Entry | Directory | Unusable]
        children = [child async for child in self.list_children(path)]
        return (
            None if len(children) > PAGE_ENTRIES and self.capabilities.paged_listing else children
        )

    def writer(
        self, path: StorePath, *, within: StorePath, nonce: Nonce | None = None
    ) -> Writer[Entry]:
        return _FlatWriter(self.bucket, path, nonce)

    async def put(
        self,
        path: StorePath,
        data: bytes,
        *,
        expecting: Expectation,
        within: StorePath | None,
        nonce: Nonce | None = None,
    ) -> Token:
        return self.bucket.put(path, data, nonce, expecting)

    async def delete(self, path: StorePath, *, expecting: Expectation) -> None:
        self.bucket.delete(path, expecting)

    async def delete_files(self, paths: Sequence[StorePath], *, within: StorePath) -> None:
        for path in paths:
            self.bucket.delete(path, Expect.ANYTHING)

    async def delete_tree(self, path: StorePath) -> None:
        if self.directories is not None:
            self.bucket.delete_directory(path)
        for key in self.bucket.keys(f"{path}/"):
            self.bucket.delete(key, Expect.ANYTHING)

    def go_by(self, facts: Capabilities) -> None:
        pass

    async def close(self) -> None:
        pass


class _FlatWriter:
    def __init__(self, bucket: Bucket, path: StorePath, nonce: Nonce | None) -> None:
        self._bucket = bucket
        self._path = path
        self._nonce = nonce
        self._data: bytearray | None = bytearray()

    async def write(self, data: bytes) -> None:
        self._open().extend(data)

    async def finish(self) -> Entry:
        data, self._data = bytes(self._open()), None
        token = self._bucket.put(self._path, data, self._nonce, Expect.ANYTHING)
        return Entry(path=self._path, size_bytes=len(data), token=token, nonce=self._nonce)

    async def discard(self) -> None:
        self._data = None

    def _open(self) -> bytearray:
        if self._data is None:
            raise ValueError(f"I/O operation on the closed file {self._path!r}")
        return self._data


class FlatRenames:
    """Renames, and directories where there are any."""

    are_made_by_writes = True

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    async def rename(
        self,
        source: StorePath,
        target: StorePath,
        *,
        token: Token | None,
        expecting: Expectation,
        within: StorePath,
    ) -> None:
        try:
            self._bucket.rename(source, target, token, expecting)
        except ParentMissingError:
            self._make_parent(target, within)
            self._bucket.rename(source, target, token, expecting)

    async def rename_directory(
        self, source: StorePath, target: StorePath, *, within: StorePath
    ) -> None:
        try:
            self._bucket.rename_directory(source, target)
        except ParentMissingError:
            self._make_parent(target, within)
            self._bucket.rename_directory(source, target)

    async def remove_empty_directory(self, path: StorePath) -> None:
        self._bucket.remove_empty_directory(path)

    async def make_directory(self, path: StorePath, *, within: StorePath) -> None:
        self._bucket.make_directory(path)

    def _make_parent(self, path: StorePath, within: StorePath) -> None:
        if within not in self._bucket.directories:
            raise refused(path, f"{within!r} is gone")
        self._bucket.make_directory(StorePath(path.rpartition("/")[0]))


class FlatAdoption:
    """Parts, as one request lists them."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    async def stored_parts(self, upload: PendingUpload) -> list[Part] | None:
        return self._bucket.stored_parts(upload)

    def told_as(self, stored: Part, etag: str) -> Part | None:
        return stored if stored.token == etag else None

    def has_bytes_of(self, stored: Part, sent: Part) -> bool:
        return stored.token.rpartition(":")[2] == sent.token.rpartition(":")[2]


class FlatUploads:
    """Uploads, one request each."""

    part_bytes: int | None = None

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self.adopting = FlatAdoption(bucket) if bucket.habits.keyed_by == "upload_id" else None

    async def start(self, path: StorePath, nonce: Nonce) -> PendingUpload:
        return self._bucket.start(path, nonce)

    async def put_part(self, upload: PendingUpload, number: int, data: bytes) -> Part:
        return self._bucket.put_part(upload, number, data)

    async def complete(self, upload: PendingUpload, *, expecting: Expectation) -> None:
        self._bucket.complete(upload, expecting)

    async def abort(self, upload: PendingUpload) -> None:
        self._bucket.abort(upload)

    async def pending(self, prefix: StorePath) -> AsyncIterator[PendingUpload]:
        for upload in self._bucket.pending(f"{prefix}/"):
            yield upload


_store: type[Store] = FlatStore
registry.register(FLAT, FlatStore)
fsspec.register_implementation(FLAT, FlatFileSystem, clobber=True)
