"""The Azure adapter: every verb is one request to the account, with the user's own adlfs settings.

A destination is a container or a directory in one. An account with a hierarchical namespace (*Data
Lake Storage Gen2*) has directories, and renames; records and files are written at its endpoint for
blobs all the same, whole or not at all. A flat account has neither: what a name says before its
last slash is a directory as long as there is such a name.
"""

import errno
from collections.abc import Awaitable
from functools import partial
from http import HTTPStatus
from typing import Self

from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import (
    Ask,
    Content,
    Directory,
    Entry,
    Expectation,
    OpenOptions,
    Store,
    Token,
)
from fsspec_commit_stores.azure.ahead import BlocksAhead
from fsspec_commit_stores.azure.answers import Answer
from fsspec_commit_stores.azure.contents import (
    condition_of,
    entry_of,
    is_directory,
    metadata_of,
    token_of,
)
from fsspec_commit_stores.azure.listing import BlobListing, PathListing
from fsspec_commit_stores.azure.lookup import look
from fsspec_commit_stores.azure.names import trouble_with
from fsspec_commit_stores.azure.namespaces import is_hierarchical, refuse_what_is_kept
from fsspec_commit_stores.azure.opening import Account, capabilities_of, client_for, is_azure
from fsspec_commit_stores.azure.places import Place, place_of
from fsspec_commit_stores.azure.renaming import Renames
from fsspec_commit_stores.azure.requests import Container, RequestFailedError
from fsspec_commit_stores.azure.uploads import BlockUploads
from fsspec_commit_stores.azure.writing import BLOB, BlobWriter
from fsspec_commit_stores.http.answers import ANOTHER_PART, is_span
from fsspec_commit_stores.http.clients import Client, facts_for
from fsspec_commit_stores.http.store import HttpStore, Listing


class AzureStore(HttpStore):
    """A destination in one container. It belongs to one event loop, like its connections."""

    deletion_operation = "Delete Blob"
    tree_deletion_operation = "Path - Delete"

    def __init__(
        self,
        client: Client[Account],
        place: Place,
        ask: Ask,
        *,
        is_hierarchical: bool,
        single_writer: bool,
    ) -> None:
        self._container = Container(client.made.connection, place.container)
        self._ahead = BlocksAhead()
        endpoint = self._container.endpoint
        self.capabilities = capabilities_of(
            endpoint, is_hierarchical=is_hierarchical, single_writer=single_writer
        )
        self._renames = Renames(self._container) if is_hierarchical else None
        self.files = self.directories = self.directory_creation = self._renames
        self.empty_directories = self._renames
        self.uploads = None if is_hierarchical else BlockUploads(self._container)
        self._blobs = BlobListing(self._container, ask)
        self.bulk_deletion = None if is_hierarchical else self._blobs
        self._listing: Listing = (
            PathListing(self._container, ask) if is_hierarchical else self._blobs
        )
        super().__init__(
            place.root,
            self._container,
            self._listing,
            client,
            is_verified=is_azure(endpoint),
        )

    @classmethod
    async def open(cls, url: str, options: OpenOptions) -> Self:
        """Open ``abfs://…``, ``abfss://…`` or ``az://…`` with adlfs's options.

        The first to open an account in a process asks it whether its namespace is hierarchical.
        Whoever chooses a committer also asks whether the container must keep what is in it.

        Raises:
            RequestError: The URL names no directory in a container, or an option makes no sense.
            UnsafeStoreError: Nothing may be deleted in the container.
            StoreError: The store cannot be reached, refuses the credentials, or does not say what
                it is.
        """
        place = place_of(url)
        client = await client_for(url, place, options)
        try:
            container = Container(client.made.connection, place.container)
            hierarchical = await options.ask(lambda: is_hierarchical(container, place.root))
            if options.choosing:
                asking = partial(refuse_what_is_kept, container, place.root)
                await facts_for(client, options, place.container, asking)
        except BaseException:
            await client.close()
            raise
        return cls(
            client,
            place,
            options.ask,
            is_hierarchical=hierarchical,
            single_writer=options.single_writer,
        )

    async def stat(self, path: StorePath) -> Entry | Directory | None:
        """What stands at *path*: one request; in a flat account one more for what is not a file.

        Raises:
            StoreError: The store did not answer, or does not let us look.
        """
        found = await look(self._container, path)
        if self._renames is not None or isinstance(found, Entry):
            return found
        return Directory(path) if await self._blobs.is_directory(path) else None

    async def read(self, path: StorePath, *, limit_bytes: int) -> Content | None:
        """The whole file at *path*, with its token from the same answer.

        Raises:
            StoreError: It is longer than the limit, and then its content is not read.
        """
        answer = await self._get(path, {}, limit_bytes) if self._container.key(path) else None
        if answer is None:
            return None
        if answer.status != HTTPStatus.OK:
            raise self._container.doubt("Get Blob", path, ANOTHER_PART)
        size_bytes = int(answer.headers["content-length"])
        if size_bytes > limit_bytes:
            why = f"it has {size_bytes} bytes, and at most {limit_bytes} are read"
            raise self._container.refusal("Get Blob", path, why, errno.EFBIG)
        return Content(entry_of(path, answer, len(answer.body)), answer.body)

    async def read_part(self, path: StorePath, start: int, length: int) -> bytes | None:
        """At most *length* bytes from *start*."""
        answer = await self._get(path, {"x-ms-range": f"bytes={start}-{start + length - 1}"})
        if answer is None:
            return None
        if answer.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return b""
        if answer.status != HTTPStatus.PARTIAL_CONTENT:  # a server that ignores ranges
            return answer.body[start : start + length]
        shown = answer.headers.get("content-range", "")
        if not answer.body and shown.endswith("/0"):  # of an empty file, as Azurite answers
            return b""
        if not is_span(shown, len(answer.body), start=start, length=length):
            raise self._container.doubt("Get Blob", path, ANOTHER_PART)
        return answer.body

    def writer(
        self,
        path: StorePath,
        *,
        within: StorePath,  # noqa: ARG002  # listings are paged, so it may be made anew
        nonce: Nonce | None = None,
    ) -> BlobWriter:
        """Write the file *path*, which carries *nonce*; it appears when it is finished."""
        return BlobWriter(self._container, self._ahead, path, nonce)

    async def put(
        self,
        path: StorePath,
        data: bytes,
        *,
        expecting: Expectation,
        within: StorePath | None,  # noqa: ARG002  # listings are paged, so it may be made anew
        nonce: Nonce | None = None,
    ) -> Token:
        """Write a small file whole, atomically on condition of *expecting*.

        In a hierarchical account the service makes the directories above it.

        Raises:
            StoreError: It was not written, or it is not known.
        """
        trouble = trouble_with(path)
        if trouble is not None:
            raise self._container.refusal("Put Blob", path, trouble, errno.EINVAL)
        headers = {**BLOB, **condition_of(expecting), **metadata_of(nonce)}
        answer = await self._container.send("Put Blob", path, headers, body=data)
        return token_of(answer.headers["etag"])

    def delete_file(self, path: StorePath, expecting: Expectation) -> Awaitable[Answer]:
        """Delete one file, atomically on condition of a token; with snapshots it is refused."""
        return self._container.request("Delete Blob", path, condition_of(expecting))

    async def _get(
        self, path: StorePath, headers: dict[str, str], limit_bytes: int | None = None
    ) -> Answer | None:
        """One GET; ``None`` where there is no such file, and an empty answer past its end."""
        try:
            answer = await self._container.request(
                "Get Blob", path, headers, limit_bytes=limit_bytes
            )
        except RequestFailedError as error:
            if error.is_missing:
                return None
            told = error.answer
            if told is not None and told.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                return Answer(told.status, "", told.headers)
            raise error.failure from None
        return None if is_directory(answer) else answer


_store: type[Store] = AzureStore
