"""What an adapter implements: each verb is one native request, classified, never retried or paced.

A verb either returns, and then its effect is complete and seen by every client, or raises a
:class:`~fsspec_commit.errors.StoreError` whose ``reply`` says what is known of the effect. An
ability that a store lacks is ``None``, so that types follow the facts; no guarantee has a default
implementation.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol, Self, TypeVar, runtime_checkable

from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store.bulk import DeletesInBulk, RenamesInBulk
from fsspec_commit.store.capabilities import Capabilities
from fsspec_commit.store.directories import (
    MakesDirectories,
    RemovesEmptyDirectories,
    RenamesDirectories,
)
from fsspec_commit.store.opening import OpenOptions
from fsspec_commit.store.values import (
    Content,
    Directory,
    Entry,
    Expect,
    Expectation,
    Part,
    PendingUpload,
    Token,
    Unusable,
)

W_co = TypeVar("W_co", covariant=True)


class Writer(Protocol[W_co]):
    """A file that is written on the event loop; abandoned unless finished.

    If its `StoreError` says ``can_go_on``, nothing that was written is lost: call ``write(b"")``
    or ``finish()`` to continue.
    """

    async def write(self, data: bytes) -> None:
        """Append *data*."""

    async def finish(self) -> W_co:
        """Close the file; from now on the caller may rename it."""

    async def discard(self) -> None:
        """Remove what was written; safe to call at any time, also after an error."""


class DirectWriter(Protocol[W_co]):
    """A file that is written on the caller's thread, without an event loop."""

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append *data*; raise ``OSError`` like a plain file."""

    def finish(self) -> W_co:
        """Close the file; from now on the caller may rename it."""

    def discard(self) -> None:
        """Remove what was written; safe to call at any time, also after an error."""


class WritesDirectly(Protocol):
    """Bytes can go to the store on the caller's thread: local disks and memory."""

    def writer(self, path: StorePath, *, within: StorePath) -> DirectWriter[Entry]:
        """Create the file at *path*; directories below *within* are made as needed.

        *within* itself must exist: an attempt of a removed job must not create its area anew.
        """


class RenamesFiles(Protocol):
    """One file can be renamed atomically, without a copy."""

    async def rename(
        self,
        source: StorePath,
        target: StorePath,
        *,
        token: Token | None,
        expecting: Expectation,
        within: StorePath,
    ) -> None:
        """Rename the file *source* to *target*, without a change to its content.

        With ``token_survives_rename`` its token stays as well; elsewhere the nonce that it was
        written with does. By these, a rename whose answer was lost is recognised.

        Directories of *target* below *within* are made as needed; if a file is in their way, the
        refusal names it.

        Args:
            source: The file.
            target: Its new path.
            token: Which content is to be renamed, where the store can check that.
            expecting: ``Expect.ABSENT`` refuses an existing target, atomically. A token refuses
                any other content at the target: atomically where the store can, otherwise by a
                check just before.
            within: A directory that exists.
        """


class ListsInOrder(Protocol):
    """Files are listed by pages in the order of their paths, starting at any path."""

    async def list_in_order(
        self, path: StorePath, first: StorePath, last: StorePath
    ) -> tuple[list[StorePath], bool] | None:
        """The files in the directories *first* to *last* of *path*: by one request, in order.

        Returns:
            The first of them, and whether these are all; ``None`` if the answer is not in order.
        """


class ListsAtOnce(Protocol):
    """A directory can be listed as of one moment, where one answer shows all that is in it."""

    async def list_at_once(self, path: StorePath) -> list[Entry | Directory | Unusable] | None:
        """Everything directly in the directory *path*; nothing if it is missing.

        By one request: others may act before the next page is asked for, however few names are on
        the first. What is read after the names, such as each file's token, may be later.

        Returns:
            What :meth:`Store.list_children` shows; ``None`` if one answer does not show all of it.
        """


class AdoptsUploads(Protocol):
    """An upload that another program has begun can be completed, by its id alone."""

    async def stored_parts(self, upload: PendingUpload) -> Sequence[Part] | None:
        """Every part that is stored, by number, all pages, with its size and the token to use.

        ``None`` if there is no such upload: it was completed or aborted, or is of another path.
        """

    def told_as(self, stored: Part, etag: str) -> Part | None:
        """The part *stored* as it is to be completed; ``None`` if *etag* is another part's.

        *etag* is what the other program was answered for the part, with or without a checksum in
        the form of this store's tokens: completing may need a checksum that is not listed.
        """

    def has_bytes_of(self, stored: Part, sent: Part) -> bool:
        """Whether *stored* holds the bytes of *sent*, though the two tokens may differ.

        A checksum shows it. False where the store names none.
        """


class CompletesUploads(Protocol):
    """An upload can be completed later, by any process, from plain data."""

    @property
    def part_bytes(self) -> int | None:
        """The length of every part but the last; ``None`` if parts may differ in length."""

    @property
    def adopting(self) -> AdoptsUploads | None:
        """Completing what others have begun; ``None`` if only this adapter can begin an upload."""

    async def start(self, path: StorePath, nonce: Nonce) -> PendingUpload:
        """Begin an upload of *path* that carries *nonce* in its metadata; nothing is visible."""

    async def put_part(self, upload: PendingUpload, number: int, data: bytes) -> Part:
        """Store part *number*, counted from 1."""

    async def complete(self, upload: PendingUpload, *, expecting: Expectation) -> None:
        """Make the object visible, whole."""

    async def abort(self, upload: PendingUpload) -> None:
        """Drop the upload and its parts."""

    def pending(self, prefix: StorePath) -> AsyncIterator[PendingUpload]:
        """Every pending upload below the directory *prefix*, all pages."""


@runtime_checkable
class Store(Protocol):
    """What every adapter implements.

    Paths are :data:`~fsspec_commit.layout.StorePath` below :attr:`root`. Listings never follow
    symbolic links, and a link inside the destination is refused wherever a verb meets one.
    """

    @classmethod
    async def open(cls, url: str, options: OpenOptions) -> Self:
        """Open the store of the destination *url*; this may send requests.

        Raises:
            StoreError: The store cannot be reached, or refuses the credentials.
            RequestError: *url* or an option makes no sense for this store.
        """

    @property
    def root(self) -> StorePath:
        """The destination as this store names it."""

    @property
    def capabilities(self) -> Capabilities:
        """What this store is declared to do."""

    @property
    def in_flight_max(self) -> int | None:
        """How many calls it can carry at once, where more calls may get more done.

        Up to this many are in flight if that helps, unless the caller asks for another number.
        ``None`` where a few dozen are all that is of use, as on disks.
        """

    @property
    def unverified_endpoint(self) -> str | None:
        """The endpoint and bucket, if what that server guarantees has to be probed.

        What the adapter leaves open is then probed before a committer is chosen, and the result
        holds for everything served there. ``None`` if the adapter's declaration is enough.
        """

    @property
    def direct(self) -> WritesDirectly | None:
        """Writing on the caller's thread."""

    @property
    def files(self) -> RenamesFiles | None:
        """Renaming files."""

    @property
    def bulk(self) -> RenamesInBulk | None:
        """Renaming many files in one call; optional, and only together with :attr:`files`."""

    @property
    def bulk_deletion(self) -> DeletesInBulk | None:
        """Deleting many files in one call; optional, and only where there are no directories."""

    @property
    def in_order(self) -> ListsInOrder | None:
        """Listing files in order; optional, and only where listings are paged."""

    @property
    def at_once(self) -> ListsAtOnce | None:
        """Listing a directory as of one moment; optional: a commit sends fewer requests then."""

    @property
    def directories(self) -> RenamesDirectories | None:
        """Renaming directories."""

    @property
    def empty_directories(self) -> RemovesEmptyDirectories | None:
        """Removing empty directories; optional, and only together with :attr:`directories`."""

    @property
    def directory_creation(self) -> MakesDirectories | None:
        """Making directories; optional, and only together with :attr:`files`."""

    @property
    def uploads(self) -> CompletesUploads | None:
        """Multipart uploads that another process completes."""

    async def stat(self, path: StorePath) -> Entry | Directory | None:
        """The file or directory at *path*, if there is one."""

    async def read(self, path: StorePath, *, limit_bytes: int) -> Content | None:
        """The whole file at *path*, if there is one.

        Never a part of a file, or a mixture of two.

        Raises:
            StoreError: The file is longer than *limit_bytes* (``Reply.REFUSED``), or was replaced
                while it was read (``Reply.NOT_DONE``).
        """

    async def read_range(self, path: StorePath, *, start: int, length: int) -> bytes | None:
        """At most *length* bytes from *start*; ``None`` if there is no such file."""

    def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        """Every file below the directory *path*, in any order; none if it is missing.

        The directory *without* and everything below it are left out, and are not listed if that
        can be avoided: a listing of data need not read the work areas of jobs.
        """

    def list_children(self, path: StorePath) -> AsyncIterator[Entry | Directory | Unusable]:
        """Everything directly in the directory *path*; nothing if it is missing.

        That includes what is neither a file nor a directory, as an :class:`Unusable`. Nothing is
        promised of the moments at which two names are shown, except by :attr:`at_once`.
        """

    def writer(
        self, path: StorePath, *, within: StorePath, nonce: Nonce | None = None
    ) -> Writer[Entry]:
        """Write the file *path*; directories below *within* are made as needed, as by :meth:`put`.

        Where a rename, or a change of metadata, changes a file's token, the file carries *nonce* in
        its metadata: :meth:`stat` shows it under every name that the file is given.
        """

    async def put(
        self,
        path: StorePath,
        data: bytes,
        *,
        expecting: Expectation,
        within: StorePath | None,
        nonce: Nonce | None = None,
    ) -> Token:
        """Write a small file whole: a reader sees all of it or none.

        On disks the file is flushed before it is visible. Directories below *within* are made as
        needed. *within* itself must exist, for a late record must not bring a job's area back. This
        is not so where there are no directories, or listings are paged, and so areas are not
        removed by one rename: there *within* may be made anew, and what is in it means nothing.
        ``None`` makes all directories.
        """

    async def delete(self, path: StorePath, *, expecting: Expectation) -> None:
        """Delete one file. A missing one counts as deleted, unless a token was expected."""

    async def delete_tree(self, path: StorePath) -> None:
        """Delete a directory and everything below it, never through a symbolic link."""

    def go_by(self, facts: Capabilities) -> None:
        """Make tokens in the form that *facts* imply: the capabilities in a job's record.

        All processes of a job are given the same facts, so that their tokens have one form. That
        form may depend on ``unique_tokens`` and its evidence, and on nothing else. An adapter whose
        tokens have only one form does nothing.
        """

    async def close(self) -> None:
        """Close what this store has opened, but nothing that the caller opened."""


__all__ = [
    "AdoptsUploads",
    "CompletesUploads",
    "DeletesInBulk",
    "DirectWriter",
    "Expect",
    "ListsAtOnce",
    "ListsInOrder",
    "MakesDirectories",
    "RemovesEmptyDirectories",
    "RenamesDirectories",
    "RenamesFiles",
    "RenamesInBulk",
    "Store",
    "Writer",
    "WritesDirectly",
]
