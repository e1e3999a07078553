"""The GCS adapter: every verb is one request of the JSON API, with the user's own gcsfs settings.

A destination is a bucket or a prefix in one. There are no directories: what a key says before its
last slash is one as long as there is such a key, so nothing has to be made and `within` needs no
check. There are no links. Objects are moved one by one, atomically.

In a bucket with a hierarchical namespace there are folders beside the objects. They are made with
the first object in them and stay, empty, when their objects are gone; no verb shows them.
"""

from collections.abc import Awaitable
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
    Expectation,
    OpenOptions,
    RenamesFiles,
    Store,
    Token,
)
from fsspec_commit_stores.gcs.buckets import facts_of
from fsspec_commit_stores.gcs.chunks import Chunks
from fsspec_commit_stores.gcs.contents import condition_of, record_of
from fsspec_commit_stores.gcs.deleting import delete
from fsspec_commit_stores.gcs.inserting import insert
from fsspec_commit_stores.gcs.listing import Listing
from fsspec_commit_stores.gcs.lookup import look_at_file
from fsspec_commit_stores.gcs.opening import GcsClient, capabilities_of, client_for
from fsspec_commit_stores.gcs.places import place_of
from fsspec_commit_stores.gcs.reading import read_part, read_whole
from fsspec_commit_stores.gcs.renaming import GcsFiles
from fsspec_commit_stores.gcs.requests import Bucket
from fsspec_commit_stores.gcs.writing import GcsWriter
from fsspec_commit_stores.http.clients import Client, facts_for
from fsspec_commit_stores.http.places import Place
from fsspec_commit_stores.http.requests import raising_store_errors
from fsspec_commit_stores.http.store import HttpStore

_DELETIONS_MAX = 64
"""How many files of a tree are deleted at once: the caller does not pace these requests."""


class GcsStore(HttpStore):
    """A destination in one bucket.

    Opening sends nothing but what finds the credentials and, where a committer is to be chosen, the
    question what kind of bucket it is. A store belongs to one event loop, like its session.
    """

    directories = None
    directory_creation = empty_directories = None
    uploads = None
    deletion_operation = tree_deletion_operation = "objects.delete"

    def __init__(
        self,
        client: Client[GcsClient],
        bucket: Bucket,
        place: Place,
        capabilities: Capabilities,
        ask: Ask,
        *,
        deletions_max: int,
    ) -> None:
        self.capabilities = capabilities
        self._bucket = bucket
        self._chunks = Chunks(may_grow=not bucket.is_timed)
        self._listing = Listing(self._bucket, ask, deletions_max=deletions_max)
        self.bulk_deletion = self.in_order = self._listing
        self.files: RenamesFiles | None = GcsFiles(self._bucket)
        super().__init__(
            place.root,
            self._bucket,
            self._listing,
            client,
            is_verified=client.made.is_google,
        )

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
        client = await client_for(url, place, options)
        try:
            bucket = client.made.bucket(place.bucket)
            facts = capabilities_of(
                is_google=client.made.is_google, single_writer=options.single_writer
            )
            if options.choosing:
                asking = partial(facts_of, bucket, facts, url)
                about = place.bucket, options.single_writer
                facts = await facts_for(client, options, about, asking)
            at_once = options.concurrency or _DELETIONS_MAX
            return cls(*(client, bucket, place, facts, options.ask), deletions_max=at_once)
        except BaseException:
            await client.close()
            raise

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

    def read_part(self, path: StorePath, start: int, length: int) -> Awaitable[bytes | None]:
        """At most *length* bytes from *start*."""
        return read_part(self._bucket, path, start=start, length=length)

    def writer(
        self,
        path: StorePath,
        *,
        within: StorePath,  # noqa: ARG002  # no directories
        nonce: Nonce | None = None,
    ) -> GcsWriter:
        """Write the file *path*; it appears when it is finished, and carries *nonce*."""
        return GcsWriter(self._bucket, self._chunks, path, nonce or SYSTEM_IDS.nonce())

    @raising_store_errors
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
        return await insert(
            self._bucket, path, data, resource=record_of(nonce), expecting=expecting
        )

    def delete_file(self, path: StorePath, expecting: Expectation) -> Awaitable[None]:
        """Delete one file, atomically on condition of a token.

        Where versions are kept or deletion is soft, the content stays in the bucket's history.
        """
        return delete(self._bucket, path, **condition_of(expecting))


_store: type[Store] = GcsStore
