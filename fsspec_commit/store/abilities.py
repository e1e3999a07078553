"""What an adapter implements: each verb one native request, classified, never retried or paced.

A verb either returns, and then its effect is complete and seen by every client, or raises
:class:`~fsspec_commit.errors.StoreError` whose ``reply`` says what is known of the effect. An
ability a store lacks is ``None``, so that types follow the facts; a guarantee never has a default
implementation.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, Self, TypeVar, runtime_checkable

from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store.capabilities import Capabilities
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

T = TypeVar("T")
W_co = TypeVar("W_co", covariant=True)
Durability = Literal["none", "marker", "full"]


class Ask(Protocol):
    """Puts a question to a store, and repeats it until it is answered or refused.

    ``await ask(question)`` gives what ``await question()`` gives.
    """

    async def __call__(self, question: Callable[[], Awaitable[T]], /) -> T:
        """The answer of *question*, which changes nothing and is repeated unless it is refused.

        Raises:
            StoreError: It was refused, or not answered in the end.
        """


async def ask_once(question: Callable[[], Awaitable[T]], /) -> T:
    """What *question* answers to the first try."""
    return await question()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOptions:
    """How a caller wants a store opened.

    Attributes:
        storage_options: fsspec's options for this protocol; may hold secrets, is never stored.
        durability: What data a local disk is told to flush before a file counts as written.
        single_writer: The caller promises one job at a time, so facts that only concurrency
            needs may be assumed.
        concurrency: The most calls in flight; ``None`` leaves it to the adapter.
        choosing: A committer is about to be chosen, so the store may be asked what it is. Who
            goes by a choice that was made needs no answer.
        ask: Repeats what nobody else can repeat, since no verb repeats a request: what an adapter
            asks while it opens, and the pages of a listing after the first.
    """

    storage_options: Mapping[str, object] = field(default_factory=dict, repr=False)
    durability: Durability = "none"
    single_writer: bool = False
    concurrency: int | None = None
    choosing: bool = False
    ask: Ask = field(default=ask_once, repr=False)


class Writer(Protocol[W_co]):
    """A file being written through the loop; abandoned unless finished.

    One whose `StoreError` says `can_go_on` has lost nothing of what it was given: it is asked
    again, by a `write` of nothing or by `finish`.
    """

    async def write(self, data: bytes) -> None:
        """Append *data*."""

    async def finish(self) -> W_co:
        """Close the file; what it is called is the caller's affair from now on."""

    async def discard(self) -> None:
        """Leave nothing of it; safe to call at any time, also after an error."""


class DirectWriter(Protocol[W_co]):
    """A file being written on the caller's own thread, without a loop."""

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append *data*; raise ``OSError`` as a plain file would."""

    def finish(self) -> W_co:
        """Close the file; what it is called is the caller's affair from now on."""

    def discard(self) -> None:
        """Leave nothing of it; safe to call at any time, also after an error."""


class WritesDirectly(Protocol):
    """Bytes can go to the store on the caller's thread: local disks and memory."""

    def writer(self, path: StorePath, *, within: StorePath) -> DirectWriter[Entry]:
        """Create the file at *path*; directories below *within* are made as needed.

        *within* itself must exist: an attempt of a job that is gone must not bring its area back.
        """


class RenamesFiles(Protocol):
    """Rename of one file is atomic; never a copy."""

    async def rename(
        self,
        source: StorePath,
        target: StorePath,
        *,
        token: Token | None,
        expecting: Expectation,
        within: StorePath,
    ) -> None:
        """Rename the file *source* to *target*; its content stays what it was.

        So does its token, where ``token_survives_rename``; elsewhere the nonce it was written
        with, by which a rename whose answer was lost is recognised.

        ``Expect.ABSENT`` refuses an existing target atomically. A token refuses any other content
        at the target: atomically where the store can, otherwise checked just before. Directories
        of *target* below *within* are made as needed; a file in their way is refused by name.
        *token*, when given and where the store can, pins the source's content.
        """


class RenamesInBulk(Protocol):
    """Many files are renamed by one call, each atomically: where a rename costs less than a call.

    Only for stores on which renames wait for nothing, and so gain nothing from being many in
    flight.
    """

    async def rename_in_bulk(
        self, renames: Sequence[tuple[StorePath, StorePath]], *, within: StorePath
    ) -> int:
        """Rename sources to targets in turn, each as ``Expect.ABSENT`` would, until one fails.

        Never raises :class:`~fsspec_commit.errors.StoreError`: what is the matter with the one
        that failed, whoever asked finds out by :meth:`RenamesFiles.rename`.

        Returns:
            How many are done; of the next one nothing is said, and none after it was tried.
        """


class RenamesDirectories(Protocol):
    """Rename of a whole directory is atomic."""

    async def rename_directory(
        self, source: StorePath, target: StorePath, *, within: StorePath
    ) -> None:
        """Rename the directory *source* to *target*, refusing a target that exists.

        Directories of *target* below *within* are made as needed.
        """


class MakesDirectories(Protocol):
    """Directories can be made before the files that need them.

    For stores on which a rename into a missing directory costs a request that fails. It saves
    requests only: renames make what is missing all the same.
    """

    async def make_directory(self, path: StorePath, *, within: StorePath) -> None:
        """Make the directory *path* and those above it below *within*; one that is there is done.

        A file in the way is refused by name. The caller knows that *within* exists. Many are made
        at once, and none fails because another makes a directory that both need.
        """


class CompletesUploads(Protocol):
    """An upload is finished later, by any process, from plain data."""

    @property
    def part_bytes(self) -> int | None:
        """How long every part but the last is to be; ``None`` where parts may differ."""

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
    """What every store gives.

    Paths are :data:`~fsspec_commit.layout.StorePath` below :attr:`root`. Listings never follow
    symbolic links, and a link inside the destination is refused wherever a verb meets one.
    """

    @classmethod
    async def open(cls, url: str, options: OpenOptions) -> Self:
        """Open the store of *url*, a whole destination; may ask the store what it is.

        Raises:
            StoreError: It cannot be reached, or the credentials are refused.
            RequestError: *url* or an option makes no sense for this store.
        """

    @property
    def root(self) -> StorePath:
        """The destination as this store names it."""

    @property
    def capabilities(self) -> Capabilities:
        """What this store declares of itself."""

    @property
    def unverified_endpoint(self) -> str | None:
        """The endpoint and bucket, if what that server guarantees has to be probed.

        What the adapter leaves open is then probed before a committer is chosen, and the result
        holds for everything served there. ``None`` if the adapter's declaration is enough.
        """

    @property
    def direct(self) -> WritesDirectly | None:
        """Writing on the caller's own thread."""

    @property
    def files(self) -> RenamesFiles | None:
        """Renaming files."""

    @property
    def bulk(self) -> RenamesInBulk | None:
        """Renaming many files by one call; only beside :attr:`files`, and never needed."""

    @property
    def directories(self) -> RenamesDirectories | None:
        """Renaming directories."""

    @property
    def directory_creation(self) -> MakesDirectories | None:
        """Making directories; only beside :attr:`files`, and never needed."""

    @property
    def uploads(self) -> CompletesUploads | None:
        """Multipart uploads that another process completes."""

    async def stat(self, path: StorePath) -> Entry | Directory | None:
        """What stands at *path*."""

    async def read(self, path: StorePath, *, limit_bytes: int) -> Content | None:
        """The whole file at *path*, if there is one.

        Raises:
            StoreError: It is longer than *limit_bytes* (``Reply.REFUSED``), or was replaced while
                it was read (``Reply.NOT_DONE``); never a part or a mixture.
        """

    async def read_range(self, path: StorePath, *, start: int, length: int) -> bytes | None:
        """At most *length* bytes from *start*; ``None`` when there is no such file."""

    def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        """Every file below the directory *path*, in any order; nothing when it is missing.

        The directory *without* and all below it are left out, and not walked where that is
        possible: a listing for data need not read other jobs' work areas.
        """

    def list_children(self, path: StorePath) -> AsyncIterator[Entry | Directory | Unusable]:
        """What stands directly in the directory *path*; nothing when it is missing.

        Also what is neither a file nor a directory, so that it does not hide the rest.
        """

    def writer(
        self, path: StorePath, *, within: StorePath, nonce: Nonce | None = None
    ) -> Writer[Entry]:
        """Write the file *path*; directories below *within* are made as needed.

        The file carries *nonce* in its metadata where its token does not survive a rename, or a
        change of these, and `stat` shows it from then on, under every name that the file gets.
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

        On disks it is flushed before it can be seen. Directories below *within* are made as
        needed, and *within* itself must exist where there are directories; ``None`` makes all.
        """

    async def delete(self, path: StorePath, *, expecting: Expectation) -> None:
        """Delete one file; a missing one is done, unless a token was expected."""

    async def delete_tree(self, path: StorePath) -> None:
        """Delete a directory and all below it, never through a symbolic link."""

    def go_by(self, facts: Capabilities) -> None:
        """Make tokens as *facts* say: those of the job that is worked on from now on.

        All processes of a job are given the same, so that their tokens are of one form, whatever
        each of them may ask of the store. Where there is one form only, nothing is to do.
        """

    async def close(self) -> None:
        """Let go of what was opened; never of what the caller opened."""


__all__ = [
    "CompletesUploads",
    "DirectWriter",
    "Durability",
    "Expect",
    "MakesDirectories",
    "OpenOptions",
    "RenamesDirectories",
    "RenamesFiles",
    "RenamesInBulk",
    "Store",
    "Writer",
    "WritesDirectly",
]
