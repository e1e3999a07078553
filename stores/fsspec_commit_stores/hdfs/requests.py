"""What is asked of a cluster, whichever client carries it: every request sent once, classified."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry, Token


@dataclass(frozen=True, slots=True)
class Status:
    """What the NameNode knows of one path."""

    is_directory: bool
    size_bytes: int
    modified_ms: int

    @property
    def token(self) -> Token:
        """Which content it is, in one form for both clients, so that one resumes the other's job.

        A rename keeps both parts. The file's number would tell more, and hdfs-native does not
        show it.
        """
        return Token(f"{self.modified_ms:x}-{self.size_bytes:x}")

    def entry(self, path: StorePath) -> Entry:
        """The file as the store shows it."""
        return Entry(path=path, size_bytes=self.size_bytes, token=self.token)


class Pages(Protocol):
    """The names in one directory, some thousand a request.

    Attributes:
        is_whole: Whether the last answer has said that no name is left.
    """

    is_whole: bool

    async def following(self) -> Sequence[tuple[str, Status]]:
        """Names that were not given yet, each with its status; none at the end, or for a file.

        The next call asks again for what was not answered.
        """


class OpenFile(Protocol):
    """A file being written on the cluster."""

    async def write(self, data: bytes) -> None:
        """Append *data*."""

    async def close(self) -> None:
        """Have all of it acknowledged."""

    async def drop(self) -> None:
        """Stop; what becomes of the file is not known."""


class Requests(Protocol):
    """The requests that both clients have; each raises `RequestFailedError`.

    Attributes:
        server: Whom they go to, for messages.
        creates_at_once: Whether `create` has created the file when it returns.
        lists_at_once: Whether a page is one answer; a client that pages by itself does not say.
    """

    server: str
    creates_at_once: bool
    lists_at_once: bool

    async def status(self, path: StorePath) -> Status | None:
        """What stands at *path*."""

    def children(self, path: StorePath) -> Pages:
        """What stands directly in *path*; nothing is sent yet."""

    async def read(self, path: StorePath, start: int, length: int) -> bytes:
        """At most *length* bytes from *start*."""

    async def create(self, path: StorePath) -> OpenFile:
        """Create the file *path* exclusively, in a directory that must be there."""

    async def make_directory(self, path: StorePath) -> None:
        """Make one directory in one that must be there."""

    async def make_directories(self, path: StorePath) -> None:
        """Make a directory and all above it; it may be there already."""

    async def rename(self, source: StorePath, target: StorePath, *, replacing: bool) -> None:
        """Rename, without moving into a directory that is there; replace a file if *replacing*."""

    async def delete(self, path: StorePath, *, recursive: bool) -> None:
        """Delete; a missing path is no error."""

    async def close(self) -> None:
        """Let go of the connections."""
