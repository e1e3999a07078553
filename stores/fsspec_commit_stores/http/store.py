"""The verbs that are alike for S3, GCS and Azure, and how such a store is closed."""

import asyncio
import errno
import weakref
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable
from typing import Any, Protocol

from fsspec_commit.layout import StorePath
from fsspec_commit.store import (
    Capabilities,
    Directory,
    Entry,
    Expect,
    Expectation,
    ListsAtOnce,
    ListsInOrder,
)
from fsspec_commit_stores.http.clients import Client, Close
from fsspec_commit_stores.http.requests import (
    FailedRequestError,
    Requests,
    raising_store_errors,
)


class Listing(ListsAtOnce, Protocol):
    """What such a store needs to list, and to delete what is listed."""

    def tree(self, path: StorePath, without: StorePath | None) -> AsyncIterator[Entry]:
        """Every file below *path* but those below *without*."""

    def children(self, path: StorePath) -> AsyncIterator[Entry | Directory]:
        """What stands directly in *path*."""

    def delete_tree(self, path: StorePath) -> Awaitable[None]:
        """Delete *path* and all below it."""


class HttpStore(ABC):
    """A destination in one bucket or container; it belongs to one loop, like its connections."""

    bulk = direct = None
    in_order: ListsInOrder | None = None
    deletion_operation: str
    """What deletes one file."""
    tree_deletion_operation: str
    """What deletes all below a directory."""

    def __init__(
        self,
        root: StorePath,
        requests: Requests,
        listing: Listing,
        client: Client[Any],
        *,
        is_verified: bool,
    ) -> None:
        """Begin to hold *client*.

        Args:
            root: Bucket and prefix.
            requests: Those to the bucket.
            listing: Lists it.
            client: The connections.
            is_verified: Whether what the service documents holds at the endpoint.
        """
        self.root = root
        self.in_flight_max = client.connections.most
        self.unverified_endpoint = None if is_verified else f"{requests.endpoint}/{requests.name}"
        self._requests = requests
        self._listed = listing
        self.at_once: ListsAtOnce = listing
        self._client = client
        # A job that could not even be aborted is let go of with its store still open.
        loop = asyncio.get_running_loop()
        self._unclosed = weakref.finalize(self, _close_later, client.close, loop)
        self._unclosed.atexit = False

    @abstractmethod
    async def stat(self, path: StorePath) -> Entry | Directory | None:
        """What stands at *path*."""

    @abstractmethod
    def read_part(self, path: StorePath, start: int, length: int) -> Awaitable[bytes | None]:
        """At most *length* bytes from *start*, for a positive *length*; ``None`` without a file."""

    @abstractmethod
    def delete_file(self, path: StorePath, expecting: Expectation) -> Awaitable[object]:
        """Delete one file on condition of *expecting*, which is not ``Expect.ABSENT``.

        Raises:
            FailedRequestError: It was not deleted, or it is not known whether it was.
        """

    async def read_range(self, path: StorePath, *, start: int, length: int) -> bytes | None:
        """At most *length* bytes from *start*; fewer only at the end of the file."""
        if length < 1:
            return b"" if isinstance(await self.stat(path), Entry) else None
        return await self.read_part(path, start, length) if self._requests.key(path) else None

    def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        """Every file below *path*, one page per request.

        Raises:
            StoreError: A page was not given.
        """
        return self._listed.tree(path, without)

    def list_children(self, path: StorePath) -> AsyncIterator[Entry | Directory]:
        """What stands directly in *path*, one page per request.

        Raises:
            StoreError: A page was not given.
        """
        return self._listed.children(path)

    @raising_store_errors
    async def delete(self, path: StorePath, *, expecting: Expectation) -> None:
        """Delete one file, atomically on condition of a token.

        Raises:
            StoreError: It was not deleted, or it is not known whether it was.
        """
        if expecting is Expect.ABSENT:
            why = "nothing can be deleted where nothing is expected"
            raise self._requests.refusal(self.deletion_operation, path, why, errno.EINVAL)
        try:
            await self.delete_file(path, expecting)
        except FailedRequestError as error:
            if expecting is not Expect.ANYTHING or not error.is_missing:
                raise

    async def delete_tree(self, path: StorePath) -> None:
        """Delete the directory *path* and all below it.

        Raises:
            StoreError: It is the destination itself, or outside of it; or files are left, the first
                of which the error names.
        """
        if path == self.root or not path.startswith(f"{self.root}/"):
            why = "it is the destination itself, or outside of it"
            raise self._requests.refusal(self.tree_deletion_operation, path, why, errno.EINVAL)
        await self._listed.delete_tree(path)

    def go_by(self, facts: Capabilities) -> None:  # noqa: B027  # tokens may have one form
        """Do nothing, where tokens have one form."""

    async def close(self) -> None:
        """Leave the connections to the next opening, or close them; once is enough."""
        if self._unclosed.detach() is not None:
            await self._client.let_go(is_sound=self._requests.close())


def _close_later(close: Close, loop: asyncio.AbstractEventLoop) -> None:
    """Close the connections of a store that nobody holds any more, from any thread."""
    closing = close()
    try:
        asyncio.run_coroutine_threadsafe(closing, loop)
    except RuntimeError:
        closing.close()  # The loop has ended, and its connections with it.
