"""The abilities of a :class:`~fsspec_commit.testing.wrapped.WrappedStore`: their calls, carried.

What each guarantees is said by the protocol with the same methods in :mod:`fsspec_commit.store`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from fsspec_commit.errors import StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import (
    AdoptsUploads,
    CompletesUploads,
    DeletesInBulk,
    Directory,
    Entry,
    Expectation,
    ListsAtOnce,
    ListsInOrder,
    MakesDirectories,
    Part,
    PendingUpload,
    RemovesEmptyDirectories,
    RenamesDirectories,
    RenamesFiles,
    RenamesInBulk,
    Token,
    Unusable,
)

T = TypeVar("T")


class Carry(Protocol):
    """Carries one call to the store: it may count it, delay it, or lose it or its answer."""

    async def __call__(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        """Make *call*, a *verb* on *path*, and return its answer; or make it later, or never."""


class WrappedFiles:
    """Renaming files."""

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
        """Rename one file."""
        await self._carry(
            "rename",
            target,
            lambda: self._files.rename(
                source, target, token=token, expecting=expecting, within=within
            ),
        )


class WrappedInOrder:
    """Listing files in order: a call like any other listing below a directory."""

    def __init__(self, listing: ListsInOrder, carry: Carry) -> None:
        self._listing = listing
        self._carry = carry

    async def list_in_order(
        self, path: StorePath, first: StorePath, last: StorePath
    ) -> tuple[list[StorePath], bool] | None:
        """The files in the directories *first* to *last* of *path*."""
        return await self._carry(
            "list_tree", path, lambda: self._listing.list_in_order(path, first, last)
        )


class WrappedAtOnce:
    """Listing a directory as of one moment: a call like any other listing of it."""

    def __init__(self, listing: ListsAtOnce, carry: Carry) -> None:
        self._listing = listing
        self._carry = carry

    async def list_at_once(self, path: StorePath) -> list[Entry | Directory | Unusable] | None:
        """Everything directly in the directory *path*, if one answer shows it."""
        return await self._carry("list_children", path, lambda: self._listing.list_at_once(path))


class WrappedBulk:
    """Renaming many files; each of them is a call, and they are made in turn."""

    def __init__(self, bulk: RenamesInBulk, carry: Carry) -> None:
        self._bulk = bulk
        self._carry = carry

    async def rename_in_bulk(
        self, renames: Sequence[tuple[StorePath, StorePath]], *, within: StorePath
    ) -> int:
        """Rename sources to targets in turn, until one fails."""
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


class WrappedBulkDeletion:
    """Deleting many files; each of them is a call, and all are made at once."""

    def __init__(self, deletion: DeletesInBulk, carry: Carry) -> None:
        self.files_max = deletion.files_max
        self._deletion = deletion
        self._carry = carry

    async def delete_files(self, paths: Sequence[StorePath], *, within: StorePath) -> None:
        """Delete files; the first error is raised when all calls have ended."""
        deleting = (self._delete(path, within) for path in paths)
        for answer in await asyncio.gather(*deleting, return_exceptions=True):
            if answer is not None:
                raise answer

    async def _delete(self, path: StorePath, within: StorePath) -> None:
        await self._carry(
            "delete", path, lambda: self._deletion.delete_files([path], within=within)
        )


class WrappedDirectories:
    """Renaming directories."""

    def __init__(self, directories: RenamesDirectories, carry: Carry) -> None:
        self._directories = directories
        self._carry = carry

    async def rename_directory(
        self, source: StorePath, target: StorePath, *, within: StorePath
    ) -> None:
        """Rename one directory."""
        await self._carry(
            "rename_directory",
            target,
            lambda: self._directories.rename_directory(source, target, within=within),
        )


class WrappedEmptyRemoval:
    """Removing empty directories."""

    def __init__(self, removing: RemovesEmptyDirectories, carry: Carry) -> None:
        self._removing = removing
        self._carry = carry
        self.are_made_by_writes = removing.are_made_by_writes

    async def remove_empty_directory(self, path: StorePath) -> None:
        """Remove one directory, if nothing is in it."""
        await self._carry(
            "remove_empty_directory", path, lambda: self._removing.remove_empty_directory(path)
        )


class WrappedDirectoryCreation:
    """Making directories."""

    def __init__(self, making: MakesDirectories, carry: Carry) -> None:
        self._making = making
        self._carry = carry

    async def make_directory(self, path: StorePath, *, within: StorePath) -> None:
        """Make one directory."""
        await self._carry(
            "make_directory", path, lambda: self._making.make_directory(path, within=within)
        )


class WrappedUploads:
    """Multipart uploads."""

    def __init__(self, uploads: CompletesUploads, carry: Carry) -> None:
        self.part_bytes = uploads.part_bytes
        self._uploads = uploads
        self._carry = carry

    @property
    def adopting(self) -> AdoptsUploads | None:
        """Adopting the uploads of other programs."""
        adopting = self._uploads.adopting
        return None if adopting is None else WrappedAdoption(adopting, self._carry)

    async def start(self, path: StorePath, nonce: Nonce) -> PendingUpload:
        """Begin an upload."""
        return await self._carry("start", path, lambda: self._uploads.start(path, nonce))

    async def put_part(self, upload: PendingUpload, number: int, data: bytes) -> Part:
        """Send one part of *upload*."""
        return await self._carry(
            "put_part", upload.path, lambda: self._uploads.put_part(upload, number, data)
        )

    async def complete(self, upload: PendingUpload, *, expecting: Expectation) -> None:
        """Make *upload* the file at its path."""
        await self._carry(
            "complete",
            upload.path,
            lambda: self._uploads.complete(upload, expecting=expecting),
        )

    async def abort(self, upload: PendingUpload) -> None:
        """Drop *upload*."""
        await self._carry("abort", upload.path, lambda: self._uploads.abort(upload))

    async def pending(self, prefix: StorePath) -> AsyncIterator[PendingUpload]:
        """Uploads below *prefix* that are neither completed nor dropped."""
        for upload in await self._carry(
            "pending", prefix, lambda: all_of_listing(self._uploads.pending(prefix))
        ):
            yield upload


class WrappedAdoption:
    """Adopting the uploads of other programs."""

    def __init__(self, adopting: AdoptsUploads, carry: Carry) -> None:
        self._adopting = adopting
        self._carry = carry
        self.told_as = adopting.told_as
        self.has_bytes_of = adopting.has_bytes_of

    async def stored_parts(self, upload: PendingUpload) -> Sequence[Part] | None:
        """The parts that the store holds of *upload*."""
        return await self._carry(
            "stored_parts", upload.path, lambda: self._adopting.stored_parts(upload)
        )


async def all_of_listing(listing: AsyncIterator[T]) -> list[T]:
    """All that *listing* yields."""
    return [entry async for entry in listing]
