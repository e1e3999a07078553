"""A store whose calls all go through one function: the basis of fault injection and recording."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Protocol, Self, TypeVar

from fsspec_commit.errors import StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import (
    AdoptsUploads,
    Capabilities,
    CompletesUploads,
    Content,
    DeletesInBulk,
    Directory,
    Entry,
    Expect,
    Expectation,
    ListsInOrder,
    MakesDirectories,
    OpenOptions,
    Part,
    PendingUpload,
    RemovesEmptyDirectories,
    RenamesDirectories,
    RenamesFiles,
    RenamesInBulk,
    Store,
    Token,
    Unusable,
    Writer,
    WritesDirectly,
)

T = TypeVar("T")

VERBS = (
    "stat",
    "read",
    "read_range",
    "list_tree",
    "list_children",
    "create",
    "put",
    "delete",
    "delete_tree",
    "rename",
    "rename_directory",
    "remove_empty_directory",
    "make_directory",
    "write",
    "finish",
    "discard",
    "start",
    "put_part",
    "complete",
    "abort",
    "pending",
    "stored_parts",
)
"""All calls. ``create`` is a ``put`` with ``Expect.ABSENT``, and ``put`` is any other one."""


class Carry(Protocol):
    """Carries one call to the store: it may count it, delay it, or lose it or its answer."""

    async def __call__(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        """Answer *call*, which is *verb* on *path*; the call may be made later, or never."""


class WrappedStore:
    """A store with every call but `close` carried by *carry*.

    A listing is one call, completed before its first entry is yielded. `direct` is not wrapped.
    """

    def __init__(self, store: Store, carry: Carry) -> None:
        self.store = store
        self._carry = carry

    @classmethod
    async def open(cls, url: str, options: OpenOptions) -> Self:
        """Refuse: wrap a store that is open."""
        raise TypeError(f"{cls.__name__} wraps an opened store; it opens none ({url!r}, {options})")

    @property
    def root(self) -> StorePath:
        """The destination as the store names it."""
        return self.store.root

    @property
    def capabilities(self) -> Capabilities:
        """What the store is declared to do."""
        return self.store.capabilities

    @property
    def in_flight_max(self) -> int | None:
        """How many calls it can carry at once."""
        return self.store.in_flight_max

    @property
    def unverified_endpoint(self) -> str | None:
        """The endpoint and bucket, if what that server guarantees has to be probed."""
        return self.store.unverified_endpoint

    @property
    def direct(self) -> WritesDirectly | None:
        """Writing on the caller's thread."""
        return self.store.direct

    @property
    def files(self) -> RenamesFiles | None:
        """Renaming files."""
        files = self.store.files
        return None if files is None else _WrappedFiles(files, self._carry)

    @property
    def bulk(self) -> RenamesInBulk | None:
        """Renaming many files; each of them is a call."""
        bulk = self.store.bulk
        return None if bulk is None else _WrappedBulk(bulk, self._carry)

    @property
    def bulk_deletion(self) -> DeletesInBulk | None:
        """Deleting many files; each of them is a call, and all are made at once."""
        deletion = self.store.bulk_deletion
        return None if deletion is None else _WrappedBulkDeletion(deletion, self._carry)

    @property
    def in_order(self) -> ListsInOrder | None:
        """Listing files in order."""
        listing = self.store.in_order
        return None if listing is None else _WrappedInOrder(listing, self._carry)

    @property
    def directories(self) -> RenamesDirectories | None:
        """Renaming directories."""
        directories = self.store.directories
        return None if directories is None else _WrappedDirectories(directories, self._carry)

    @property
    def empty_directories(self) -> RemovesEmptyDirectories | None:
        """Removing empty directories."""
        removing = self.store.empty_directories
        return None if removing is None else _WrappedEmptyRemoval(removing, self._carry)

    @property
    def directory_creation(self) -> MakesDirectories | None:
        """Making directories."""
        making = self.store.directory_creation
        return None if making is None else _WrappedDirectoryCreation(making, self._carry)

    @property
    def uploads(self) -> CompletesUploads | None:
        """Multipart uploads."""
        uploads = self.store.uploads
        return None if uploads is None else _WrappedUploads(uploads, self._carry)

    async def stat(self, path: StorePath) -> Entry | Directory | None:
        """The file or directory at *path*, if there is one."""
        return await self._carry("stat", path, lambda: self.store.stat(path))

    async def read(self, path: StorePath, *, limit_bytes: int) -> Content | None:
        """The whole file at *path*, if there is one."""
        return await self._carry(
            "read", path, lambda: self.store.read(path, limit_bytes=limit_bytes)
        )

    async def read_range(self, path: StorePath, *, start: int, length: int) -> bytes | None:
        """At most *length* bytes from *start*."""
        return await self._carry(
            "read_range",
            path,
            lambda: self.store.read_range(path, start=start, length=length),
        )

    async def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        """Every file below the directory *path*."""
        for entry in await self._carry(
            "list_tree", path, lambda: _all(self.store.list_tree(path, without=without))
        ):
            yield entry

    async def list_children(self, path: StorePath) -> AsyncIterator[Entry | Directory | Unusable]:
        """Everything directly in the directory *path*."""
        for child in await self._carry(
            "list_children", path, lambda: _all(self.store.list_children(path))
        ):
            yield child

    def writer(
        self, path: StorePath, *, within: StorePath, nonce: Nonce | None = None
    ) -> Writer[Entry]:
        """Write the file *path*; its calls are those of the writer."""
        writer = self.store.writer(path, within=within, nonce=nonce)
        return _WrappedWriter(writer, path, self._carry)

    async def put(
        self,
        path: StorePath,
        data: bytes,
        *,
        expecting: Expectation,
        within: StorePath | None,
        nonce: Nonce | None = None,
    ) -> Token:
        """Write a small file whole: ``create`` with ``Expect.ABSENT``, otherwise ``put``."""
        return await self._carry(
            "create" if expecting is Expect.ABSENT else "put",
            path,
            lambda: self.store.put(path, data, expecting=expecting, within=within, nonce=nonce),
        )

    async def delete(self, path: StorePath, *, expecting: Expectation) -> None:
        """Delete one file."""
        await self._carry("delete", path, lambda: self.store.delete(path, expecting=expecting))

    async def delete_tree(self, path: StorePath) -> None:
        """Delete a directory and everything below it."""
        await self._carry("delete_tree", path, lambda: self.store.delete_tree(path))

    def go_by(self, facts: Capabilities) -> None:
        """Make tokens in the form that *facts* imply."""
        self.store.go_by(facts)

    async def close(self) -> None:
        """Close the store."""
        await self.store.close()


class _WrappedWriter:
    def __init__(self, writer: Writer[Entry], path: StorePath, carry: Carry) -> None:
        self._writer = writer
        self._path = path
        self._carry = carry

    async def write(self, data: bytes) -> None:
        await self._carry("write", self._path, lambda: self._writer.write(data))

    async def finish(self) -> Entry:
        return await self._carry("finish", self._path, self._writer.finish)

    async def discard(self) -> None:
        await self._carry("discard", self._path, self._writer.discard)


class _WrappedFiles:
    def __init__(self, files: RenamesFiles, carry: Carry) -> None:
        self._files = files
        self._carry = carry

    async def rename(
        self,
        source: StorePath,
        target: StorePath,
        *,
        token: Token | None,
        expecting: Expectation,
        within: StorePath,
    ) -> None:
        await self._carry(
            "rename",
            target,
            lambda: self._files.rename(
                source, target, token=token, expecting=expecting, within=within
            ),
        )


class _WrappedInOrder:
    """Listing files in order: a call like any other listing below a directory."""

    def __init__(self, listing: ListsInOrder, carry: Carry) -> None:
        self._listing = listing
        self._carry = carry

    async def list_in_order(
        self, path: StorePath, first: StorePath, last: StorePath
    ) -> tuple[list[StorePath], bool] | None:
        return await self._carry(
            "list_tree", path, lambda: self._listing.list_in_order(path, first, last)
        )


class _WrappedBulk:
    def __init__(self, bulk: RenamesInBulk, carry: Carry) -> None:
        self._bulk = bulk
        self._carry = carry

    async def rename_in_bulk(
        self, renames: Sequence[tuple[StorePath, StorePath]], *, within: StorePath
    ) -> int:
        for done, (source, target) in enumerate(renames):
            try:
                if not await self._renamed(source, target, within):
                    return done
            except StoreError:
                return done
        return len(renames)

    async def _renamed(self, source: StorePath, target: StorePath, within: StorePath) -> int:
        return await self._carry(
            "rename",
            target,
            lambda: self._bulk.rename_in_bulk([(source, target)], within=within),
        )


class _WrappedBulkDeletion:
    def __init__(self, deletion: DeletesInBulk, carry: Carry) -> None:
        self.files_max = deletion.files_max
        self._deletion = deletion
        self._carry = carry

    async def delete_files(self, paths: Sequence[StorePath], *, within: StorePath) -> None:
        deleting = (self._delete(path, within) for path in paths)
        for answer in await asyncio.gather(*deleting, return_exceptions=True):
            if answer is not None:
                raise answer

    async def _delete(self, path: StorePath, within: StorePath) -> None:
        await self._carry(
            "delete", path, lambda: self._deletion.delete_files([path], within=within)
        )


class _WrappedDirectories:
    def __init__(self, directories: RenamesDirectories, carry: Carry) -> None:
        self._directories = directories
        self._carry = carry

    async def rename_directory(
        self, source: StorePath, target: StorePath, *, within: StorePath
    ) -> None:
        await self._carry(
            "rename_directory",
            target,
            lambda: self._directories.rename_directory(source, target, within=within),
        )


class _WrappedEmptyRemoval:
    def __init__(self, removing: RemovesEmptyDirectories, carry: Carry) -> None:
        self._removing = removing
        self._carry = carry

    async def remove_empty_directory(self, path: StorePath) -> None:
        await self._carry(
            "remove_empty_directory", path, lambda: self._removing.remove_empty_directory(path)
        )


class _WrappedDirectoryCreation:
    def __init__(self, making: MakesDirectories, carry: Carry) -> None:
        self._making = making
        self._carry = carry

    async def make_directory(self, path: StorePath, *, within: StorePath) -> None:
        await self._carry(
            "make_directory", path, lambda: self._making.make_directory(path, within=within)
        )


class _WrappedUploads:
    def __init__(self, uploads: CompletesUploads, carry: Carry) -> None:
        self.part_bytes = uploads.part_bytes
        self._uploads = uploads
        self._carry = carry

    @property
    def adopting(self) -> AdoptsUploads | None:
        adopting = self._uploads.adopting
        return None if adopting is None else _WrappedAdoption(adopting, self._carry)

    async def start(self, path: StorePath, nonce: Nonce) -> PendingUpload:
        return await self._carry("start", path, lambda: self._uploads.start(path, nonce))

    async def put_part(self, upload: PendingUpload, number: int, data: bytes) -> Part:
        return await self._carry(
            "put_part", upload.path, lambda: self._uploads.put_part(upload, number, data)
        )

    async def complete(self, upload: PendingUpload, *, expecting: Expectation) -> None:
        await self._carry(
            "complete",
            upload.path,
            lambda: self._uploads.complete(upload, expecting=expecting),
        )

    async def abort(self, upload: PendingUpload) -> None:
        await self._carry("abort", upload.path, lambda: self._uploads.abort(upload))

    async def pending(self, prefix: StorePath) -> AsyncIterator[PendingUpload]:
        for upload in await self._carry(
            "pending", prefix, lambda: _all(self._uploads.pending(prefix))
        ):
            yield upload


class _WrappedAdoption:
    def __init__(self, adopting: AdoptsUploads, carry: Carry) -> None:
        self._adopting = adopting
        self._carry = carry
        self.told_as = adopting.told_as
        self.has_bytes_of = adopting.has_bytes_of

    async def stored_parts(self, upload: PendingUpload) -> Sequence[Part] | None:
        return await self._carry(
            "stored_parts", upload.path, lambda: self._adopting.stored_parts(upload)
        )


async def _all(listing: AsyncIterator[T]) -> list[T]:
    return [entry async for entry in listing]


_store: type[Store] = WrappedStore
