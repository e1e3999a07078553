"""The GCS adapter: every verb one request of the JSON API, with the user's own setting of gcsfs.

A destination is a bucket or a prefix in one. There are no directories: what a key says before its
last slash is one as long as there is such a key, so nothing has to be made and `within` holds of
itself. There are no links. Objects are moved one by one, atomically.

In a bucket with a hierarchical namespace there are folders beside the objects. They are made with
the first object in them and stay, empty, when it goes; no verb shows them.
"""

import asyncio
import errno
import weakref
from collections.abc import AsyncIterator
from functools import partial
from typing import Self

from fsspec_commit.ids import SYSTEM_IDS, Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import (
    Ask,
    Capabilities,
    Content,
    Directory,
    Entry,
    Expect,
    Expectation,
    OpenOptions,
    RenamesFiles,
    Store,
    Token,
)
from fsspec_commit_stores.gcs.buckets import facts_of
from fsspec_commit_stores.gcs.deleting import delete
from fsspec_commit_stores.gcs.inserting import insert
from fsspec_commit_stores.gcs.listing import Listing
from fsspec_commit_stores.gcs.looking import look_at_file
from fsspec_commit_stores.gcs.objects import condition_of, record_of
from fsspec_commit_stores.gcs.opening import (
    POOL,
    Opened,
    Place,
    capabilities_of,
    close,
    opened,
    place_of,
)
from fsspec_commit_stores.gcs.reading import read_part, read_whole
from fsspec_commit_stores.gcs.renaming import GcsFiles
from fsspec_commit_stores.gcs.requests import RequestFailedError
from fsspec_commit_stores.gcs.writing import GcsWriter


class GcsStore:
    """A destination in one bucket.

    Opening sends nothing, but what finds the credentials, and where a committer is to be chosen
    the question what kind of bucket it is. One loop's own, like its session.
    """

    bulk = None
    directories = None
    direct = None
    new_directories = None
    uploads = None

    def __init__(
        self, found: Opened, place: Place, capabilities: Capabilities, ask: Ask, *, concurrency: int
    ) -> None:
        self._opened = found
        self._is_google = found.is_google
        self._root = place.root
        self._capabilities = capabilities
        self._bucket = found.bucket
        self._listing = Listing(self._bucket, ask, deletions_max=concurrency)
        self._files = GcsFiles(self._bucket)
        # A job that could not even be aborted is let go of with its store still open.
        loop = asyncio.get_running_loop()
        self._unclosed = weakref.finalize(self, _close_later, found, loop)
        self._unclosed.atexit = False

    @classmethod
    async def open(cls, url: str, options: OpenOptions) -> Self:
        """Open ``gs://bucket/…`` or ``gcs://bucket/…`` with the options of `gcsfs.GCSFileSystem`.

        Whoever chooses a committer needs to know what kind of bucket it is, so then it is asked;
        nobody else waits for an answer.

        Raises:
            RequestError: The URL names no directory in a bucket, or an option makes no sense.
            UnsafeStoreError: When choosing: what is written there may not be deleted.
            StoreError: There are no credentials where the options say they are; when choosing,
                also that the store cannot be reached or refuses them.
        """
        place = place_of(url)
        found = await opened(url, place, options)
        try:
            facts = capabilities_of(is_google=found.is_google, single_writer=options.single_writer)
            if options.choosing:
                facts = await options.ask(partial(facts_of, found.bucket, facts, url))
            return cls(found, place, facts, options.ask, concurrency=options.concurrency or POOL)
        except BaseException:
            await close(found)
            raise

    @property
    def root(self) -> StorePath:
        """Bucket and prefix."""
        return self._root

    @property
    def capabilities(self) -> Capabilities:
        """What is declared."""
        return self._capabilities

    @property
    def unvouched(self) -> str | None:
        """Endpoint and bucket, where they are not Google's own."""
        return None if self._is_google else f"{self._bucket.endpoint}/{self._bucket.name}"

    @property
    def files(self) -> RenamesFiles | None:
        """Moves of one object."""
        return self._files

    async def stat(self, path: StorePath) -> Entry | Directory | None:
        """What stands at *path*: one request for a file, a listing of one key for anything else.

        Raises:
            StoreError: The store did not answer, or does not let us look.
        """
        there = await look_at_file(self._bucket, path) if self._bucket.key(path) else None
        if there is not None:
            return there
        return Directory(path) if await self._listing.is_directory(path) else None

    async def read(self, path: StorePath, *, limit_bytes: int) -> Content | None:
        """The whole file at *path*, with its token from the same answer, and without its nonce.

        Custom metadata come with `stat` only.

        Raises:
            StoreError: It is longer than the limit, and then its content is not read.
        """
        if not self._bucket.key(path):
            return None
        return await read_whole(self._bucket, path, limit_bytes=limit_bytes)

    async def read_range(self, path: StorePath, *, start: int, length: int) -> bytes | None:
        """At most *length* bytes from *start*; fewer only at the end of the file."""
        if length < 1:
            return b"" if isinstance(await self.stat(path), Entry) else None
        if not self._bucket.key(path):
            return None
        return await read_part(self._bucket, path, start=start, length=length)

    def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        """Every file below *path*, a page a request.

        Raises:
            StoreError: A page was not given.
        """
        return self._listing.tree(path, without)

    def list_children(self, path: StorePath) -> AsyncIterator[Entry | Directory]:
        """What stands directly in *path*, a page a request.

        Raises:
            StoreError: A page was not given.
        """
        return self._listing.children(path)

    def writer(
        self,
        path: StorePath,
        *,
        within: StorePath,  # noqa: ARG002  # no directories
        nonce: Nonce | None = None,
    ) -> GcsWriter:
        """Write the file *path*; it appears when it is finished, and carries *nonce*."""
        return GcsWriter(self._bucket, path, nonce or SYSTEM_IDS.nonce())

    async def put(
        self,
        path: StorePath,
        data: bytes,
        *,
        expecting: Expectation,
        within: StorePath | None,  # noqa: ARG002  # no directories
        nonce: Nonce | None = None,
    ) -> Token:
        """Write a small file whole, atomically on condition of *expecting*.

        Raises:
            StoreError: It was not written, or it is not known.
        """
        try:
            return await insert(
                self._bucket, path, data, resource=record_of(nonce), expecting=expecting
            )
        except RequestFailedError as error:
            failure = error.failure
        raise failure

    async def delete(self, path: StorePath, *, expecting: Expectation) -> None:
        """Delete one file, atomically on condition of a token.

        Where versions are kept or deletion is soft, the content stays in the bucket's history.

        Raises:
            StoreError: It was not deleted, or it is not known.
        """
        if expecting is Expect.ABSENT:
            why = "nothing can be deleted where nothing is expected"
            raise self._bucket.refusal("objects.delete", path, why, errno.EINVAL)
        try:
            await delete(self._bucket, path, **condition_of(expecting))
        except RequestFailedError as error:
            if expecting is Expect.ANYTHING and error.is_missing:
                return
            failure = error.failure
        else:
            return
        raise failure

    async def delete_tree(self, path: StorePath) -> None:
        """Delete every key below *path*.

        Raises:
            StoreError: It is the destination itself, or files are left: names the first of them.
        """
        if path == self._root or not path.startswith(f"{self._root}/"):
            why = "it is the destination itself, or outside of it"
            raise self._bucket.refusal("objects.delete", path, why, errno.EINVAL)
        await self._listing.delete_tree(path)

    def go_by(self, facts: Capabilities) -> None:
        """Nothing: tokens have one form."""

    async def close(self) -> None:
        """Close the connections; once is enough."""
        if self._unclosed.detach() is not None:
            await close(self._opened)


def _close_later(found: Opened, loop: asyncio.AbstractEventLoop) -> None:
    """Close the session of a store that nobody holds any more, from any thread."""
    closing = close(found)
    try:
        asyncio.run_coroutine_threadsafe(closing, loop)
    except RuntimeError:
        closing.close()  # The loop has ended, and its connections with it.


_store: type[Store] = GcsStore
