"""The S3 adapter: every verb one request through the client of the user's own s3fs.

A destination is a bucket or a prefix in one. There are no directories: what stands in a key before
its last slash counts as one as long as there is such a key, so none has to be made and `within`
always holds. There are no links, and no renames but in directory buckets.
"""

import errno
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Self

from fsspec_commit.ids import Nonce
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
    Store,
    Token,
)
from fsspec_commit_stores.http.answers import ANOTHER_PART, UNMEASURED, is_span
from fsspec_commit_stores.http.clients import Client, facts_for
from fsspec_commit_stores.http.places import Place
from fsspec_commit_stores.http.store import HttpStore
from fsspec_commit_stores.s3.clients import S3Client, client_for
from fsspec_commit_stores.s3.contents import condition_of, metadata_of, nonce_of
from fsspec_commit_stores.s3.deleting import delete
from fsspec_commit_stores.s3.listing import Listing
from fsspec_commit_stores.s3.lookup import check_shown
from fsspec_commit_stores.s3.opening import (
    capabilities_of,
    checksum_of,
    parameters_of,
    part_bytes_of,
)
from fsspec_commit_stores.s3.places import is_directory_bucket, is_verified, place_of
from fsspec_commit_stores.s3.provenance import is_aws
from fsspec_commit_stores.s3.renaming import S3Renames
from fsspec_commit_stores.s3.requests import Bucket, RequestFailedError
from fsspec_commit_stores.s3.uploads import PART_BYTES, S3Uploads
from fsspec_commit_stores.s3.versions import Versions
from fsspec_commit_stores.s3.writing import S3Writer


class S3Store(HttpStore):
    """A destination in one bucket.

    Opening sends nothing but what it takes to find the credentials and, where a committer is to be
    chosen, the question whether the bucket keeps versions. It belongs to one loop, like its client.
    """

    directories = None
    directory_creation = empty_directories = None
    deletion_operation = "delete_object"
    tree_deletion_operation = "delete_objects"

    def __init__(
        self,
        client: Client[S3Client],
        place: Place,
        capabilities: Capabilities,
        ask: Ask,
        *,
        part_bytes: int | None,
    ) -> None:
        sdk = client.made.sdk
        self._capabilities = capabilities
        self._bucket = Bucket(
            sdk,
            place.bucket,
            parameters=parameters_of(client.made.filesystem),
            checksum=checksum_of(sdk),
            call=client.made.call,
        )
        self._is_directory_bucket = is_directory_bucket(place.bucket)
        kept = False if self._is_directory_bucket else None
        self._versions = Versions(self._bucket, kept=kept)
        self._listing = Listing(
            self._bucket,
            self._versions,
            ask,
            is_sorted=not self._is_directory_bucket,
            keeps_directories=not is_aws(self._bucket.endpoint),
        )
        self.bulk_deletion = self._listing.deletions
        self.in_order = None if self._is_directory_bucket else self._listing
        self.uploads = S3Uploads(self._bucket, self._versions, part_bytes=part_bytes)
        self.files = S3Renames(self._bucket) if self._is_directory_bucket else None
        super().__init__(
            place.root,
            self._bucket,
            self._listing,
            client,
            is_verified=is_verified(place.bucket, self._bucket.endpoint),
        )
        # The caller's own s3fs may have been given fewer connections.
        self.in_flight_max = min(self.in_flight_max, sdk.meta.config.max_pool_connections)

    @classmethod
    async def open(cls, url: str, options: OpenOptions) -> Self:
        """Open ``s3://bucket/…`` or ``s3a://bucket/…`` with the options of `s3fs.S3FileSystem`.

        Whoever chooses a committer needs to know whether the bucket keeps versions, so then it is
        asked; nobody else waits for an answer.

        Raises:
            RequestError: The URL names no directory in a bucket, or an option makes no sense.
            StoreError: There are no credentials where the options say they are; when choosing,
                also: the store cannot be reached or refuses them.
        """
        place = place_of(url)
        wanted_bytes = part_bytes_of(url, options)
        client = await client_for(url, place, options)
        try:
            endpoint = str(client.made.sdk.meta.endpoint_url)
            grows = is_verified(place.bucket, endpoint)
            part_bytes = wanted_bytes or (None if grows else PART_BYTES)
            facts = capabilities_of(place.bucket, endpoint, single_writer=options.single_writer)
            store = cls(*(client, place, facts, options.ask), part_bytes=part_bytes)
        except BaseException:
            await client.close()
            raise
        versions = store._versions
        if options.choosing and versions.kept is None:
            try:
                versions.kept = await facts_for(client, options, "versions", versions.ask)
            except BaseException:
                store._bucket.contact.is_sound = False
                await store.close()
                raise
        return store

    @property
    def capabilities(self) -> Capabilities:
        """What is declared; whether tokens are unique is known from the first token on."""
        facts, kept = self._capabilities, self._versions.kept
        is_open = facts.unique_tokens is None
        is_promise = facts.evidence.get("unique_tokens") == "assumed"
        # What is known is more than a promise.
        if (is_open and kept is not None) or (is_promise and kept):
            facts = self._capabilities = facts.known("declared", unique_tokens=kept)
        return facts

    async def stat(self, path: StorePath) -> Entry | Directory | None:
        """What stands at *path*: one request for a file, a listing of one key for anything else.

        Raises:
            StoreError: The store did not answer, or does not let us look.
        """
        key = self._bucket.key(path)
        if key:
            try:
                answer = await self._bucket.look(path)
            except RequestFailedError as error:
                if not error.is_missing:
                    raise error.failure from None
            else:
                await self._check_shown("head_object", path, answer)
                return await self._entry("head_object", path, answer)
        return Directory(path) if await self._listing.is_directory(path) else None

    async def read(self, path: StorePath, *, limit_bytes: int) -> Content | None:
        """The whole file at *path*, with its token from the same answer.

        Raises:
            StoreError: It is longer than the limit, and then its content is not read.
        """
        answer = await self._get(path) if self._bucket.key(path) else None
        if answer is None:
            return None
        if not 0 <= answer.get("ContentLength", -1) <= limit_bytes:
            answer["Body"].close()
            await self._check_shown("get_object", path, answer)
            size_bytes = self._size_bytes("get_object", path, answer)
            why = f"it has {size_bytes} bytes, and at most {limit_bytes} are read"
            raise self._bucket.refusal("get_object", path, why, errno.EFBIG)
        data = await self._body(path, answer)
        entry = await self._entry("get_object", path, answer)
        return Content(entry, data)

    async def read_part(self, path: StorePath, start: int, length: int) -> bytes | None:
        """At most *length* bytes from *start*."""
        answer = await self._get(path, Range=f"bytes={start}-{start + length - 1}")
        if answer is None:
            return None
        if "Body" not in answer:
            return b""
        data = await self._body(path, answer)
        if answer["ResponseMetadata"]["HTTPStatusCode"] == HTTPStatus.OK:
            self._size_bytes("get_object", path, answer)
            return data[start : start + length]  # from a server that ignores ranges
        shown = str(answer.get("ContentRange", ""))
        if not is_span(shown, len(data), start=start, length=length):
            raise self._bucket.doubt("get_object", path, ANOTHER_PART)
        return data

    def writer(
        self,
        path: StorePath,
        *,
        within: StorePath,  # noqa: ARG002  # no directories
        nonce: Nonce | None = None,
    ) -> S3Writer:
        """Write the file *path*; it appears when it is finished."""
        as_record = self.files is None  # what is renamed is data
        return S3Writer(
            self._bucket, self._versions, self.uploads, path, nonce, as_record=as_record
        )

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
            StoreError: It was not written, or it is not known whether it was.
        """
        if not isinstance(expecting, Expect):
            await self._versions.check(path, expecting, method="put_object")
        answer = await self._bucket.send(
            "put_object",
            path,
            as_record=True,
            Body=data,
            **condition_of(expecting),
            **metadata_of(nonce),
        )
        return self._versions.written(answer, path)

    async def delete_file(self, path: StorePath, expecting: Expectation) -> None:
        """Delete one file, atomically on condition of a token; a version id is looked at before.

        Where versions are kept, the version stays in the bucket's history.
        """
        if not isinstance(expecting, Expect):
            await self._versions.check(path, expecting, method="delete_object")
        await delete(self._bucket, path, condition_of(expecting))

    def go_by(self, facts: Capabilities) -> None:
        """Name versions in tokens, or not, as the driver of the job does.

        A process that may not ask whether the bucket keeps versions would take it for one without,
        and would take an old file that is still there for another one than was listed.
        """
        is_known = facts.unique_tokens is not None
        self._versions.kept = facts.tells_contents_apart if is_known else None

    async def _get(self, path: StorePath, **parameters: Any) -> dict[str, Any] | None:
        """One GET; ``None`` when there is no such file, an answer without a body past its end."""
        try:
            return await self._bucket.request("get_object", path, **parameters)
        except RequestFailedError as error:
            if error.is_missing:
                return None
            told = error.answer
            past_the_end = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
            if told is not None and told.status == past_the_end and not told.is_foreign:
                return {}
            raise error.failure from None

    async def _body(self, path: StorePath, answer: Mapping[str, Any]) -> bytes:
        # Read before it is checked: answers that are not read could keep all the connections, while
        # each waits for one on which to check it.
        data = await self._bucket.body(answer, path)
        await self._check_shown("get_object", path, answer)
        return data

    async def _check_shown(self, method: str, path: StorePath, answer: Mapping[str, Any]) -> None:
        # A directory bucket cannot list a single name; AWS, which alone has these, marks answers.
        if not self._is_directory_bucket:
            await check_shown(self._bucket, method, path, answer)

    async def _entry(self, method: str, path: StorePath, answer: Mapping[str, Any]) -> Entry:
        return Entry(
            path=path,
            size_bytes=self._size_bytes(method, path, answer),
            token=await self._versions.read(answer, path),
            nonce=nonce_of(answer),
        )

    def _size_bytes(self, method: str, path: StorePath, answer: Mapping[str, Any]) -> int:
        if "ContentLength" not in answer:
            # A body that ends with the connection may have been cut off by whoever ended it.
            raise self._bucket.doubt(method, path, UNMEASURED)
        return int(answer["ContentLength"])


_store: type[Store] = S3Store
