"""A store whose calls all go through one function: the basis of fault injection and recording."""

from collections.abc import AsyncIterator
from typing import Self, TypeVar

from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import (
    Capabilities,
    CompletesUploads,
    Content,
    DeletesInBulk,
    Directory,
    Entry,
    Expect,
    Expectation,
    ListsAtOnce,
    ListsInOrder,
    MakesDirectories,
    OpenOptions,
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
from fsspec_commit.testing.wrapped_abilities import (
    Carry,
    WrappedAtOnce,
    WrappedBulk,
    WrappedBulkDeletion,
    WrappedDirectories,
    WrappedDirectoryCreation,
    WrappedEmptyRemoval,
    WrappedFiles,
    WrappedInOrder,
    WrappedUploads,
    all_of_listing,
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


class WrappedStore:
    """A store with every call but `close` carried by *carry*.

    A listing is one call, completed before its first entry is yielded. `direct` is not wrapped.
    """

    def __init__(self, store: Store, carry: Carry) -> None:
        self.store = store
        self._carry = carry

    @classmethod
    async def open(cls, url: str, options: OpenOptions) -> Self:
        """Refuse: a wrapped store is made from one that is already open."""
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
        return None if files is None else WrappedFiles(files, self._carry)

    @property
    def bulk(self) -> RenamesInBulk | None:
        """Renaming many files; each of them is a call."""
        bulk = self.store.bulk
        return None if bulk is None else WrappedBulk(bulk, self._carry)

    @property
    def bulk_deletion(self) -> DeletesInBulk | None:
        """Deleting many files; each of them is a call, and all are made at once."""
        deletion = self.store.bulk_deletion
        return None if deletion is None else WrappedBulkDeletion(deletion, self._carry)

    @property
    def in_order(self) -> ListsInOrder | None:
        """Listing files in order."""
        listing = self.store.in_order
        return None if listing is None else WrappedInOrder(listing, self._carry)

    @property
    def at_once(self) -> ListsAtOnce | None:
        """Listing a directory as of one moment."""
        listing = self.store.at_once
        return None if listing is None else WrappedAtOnce(listing, self._carry)

    @property
    def directories(self) -> RenamesDirectories | None:
        """Renaming directories."""
        directories = self.store.directories
        return None if directories is None else WrappedDirectories(directories, self._carry)

    @property
    def empty_directories(self) -> RemovesEmptyDirectories | None:
        """Removing empty directories."""
        removing = self.store.empty_directories
        return None if removing is None else WrappedEmptyRemoval(removing, self._carry)

    @property
    def directory_creation(self) -> MakesDirectories | None:
        """Making directories."""
        making = self.store.directory_creation
        return None if making is None else WrappedDirectoryCreation(making, self._carry)

    @property
    def uploads(self) -> CompletesUploads | None:
        """Multipart uploads."""
        uploads = self.store.uploads
        return None if uploads is None else WrappedUploads(uploads, self._carry)

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
            "list_tree", path, lambda: all_of_listing(self.store.list_tree(path, without=without))
        ):
            yield entry

    async def list_children(self, path: StorePath) -> AsyncIterator[Entry | Directory | Unusable]:
        """Everything directly in the directory *path*."""
        for child in await self._carry(
            "list_children", path, lambda: all_of_listing(self.store.list_children(path))
        ):
            yield child

    def writer(
        self, path: StorePath, *, within: StorePath, nonce: Nonce | None = None
    ) -> Writer[Entry]:
        """A writer for the file *path*; the calls that are carried are the writer's own."""
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


_store: type[Store] = WrappedStore
