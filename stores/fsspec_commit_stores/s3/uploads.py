"""Uploads that any process completes from plain data.

The nonce of an upload is in the metadata that its object will have, so it is seen on the object and
not in a listing of uploads: a listed upload has an empty one.

The token of a part is its etag and the checksum that S3 answered, ``<etag>;CRC32=<base64>``: both
are sent back to complete the upload, so that S3 checks that it puts together what was sent.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from fsspec_commit.errors import StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, Expectation, Part, PendingUpload, Token
from fsspec_commit_stores.http.listings import ANOTHER_PLACE, NAMELESS, Continuations
from fsspec_commit_stores.http.requests import raising_store_errors
from fsspec_commit_stores.s3.answers import is_refusal_of_its_own
from fsspec_commit_stores.s3.contents import condition_of, etag_of, match_of, metadata_of
from fsspec_commit_stores.s3.pages import ENCODED, decoded, is_encoded, text_in
from fsspec_commit_stores.s3.provenance import headers_of, is_marked
from fsspec_commit_stores.s3.requests import Bucket, RequestFailedError
from fsspec_commit_stores.s3.versions import Versions

PART_BYTES = 8 << 20
"""How long parts are where all must be of one length, as Cloudflare R2 wants it: 78 GiB in all."""

_CHECKSUM = "Checksum"
_UNMARKED = "it was answered by an empty 204 without S3's mark, as by a proxy, and"
_UNLISTED = Nonce("")


def token_of_part(answer: Mapping[str, Any]) -> Token:
    """Etag and checksums of a part that was stored."""
    checksums = sorted(
        f";{name.removeprefix(_CHECKSUM)}={value}"
        for name, value in answer.items()
        if name.startswith(_CHECKSUM) and name != "ChecksumType" and value
    )
    return Token(etag_of(answer) + "".join(checksums))


def completed(part: Part) -> dict[str, Any]:
    """One part as the request that completes an upload names it."""
    etag, *checksums = part.token.split(";")
    named = (text.partition("=") for text in checksums)
    return {
        "PartNumber": part.number,
        "ETag": match_of(Token(etag)),
        **{f"{_CHECKSUM}{algorithm}": value for algorithm, _, value in named},
    }


def _object_bytes(upload: PendingUpload) -> int:
    """The size of the object that completing *upload* makes; the service compares it."""
    if upload.object_bytes is not None:
        return upload.object_bytes
    return sum(part.size_bytes or 0 for part in upload.parts)


class _Listed(NamedTuple):
    """An upload as a listing shows it; some servers do not say when it was begun."""

    key: str
    upload_id: str
    begun: datetime | None


class S3Adoption:
    """`AdoptsUploads` on one bucket."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    @raising_store_errors
    async def stored_parts(self, upload: PendingUpload) -> list[Part] | None:
        """Every part that is stored, by number, all pages; ``None`` if there is no such upload.

        Raises:
            StoreError: A page was not given, or is that of another upload.
        """
        method = "list_parts"
        found: dict[int, Part] = {}
        place: dict[str, Any] = {}
        continuations = Continuations(self._bucket, method, upload.path)
        while True:
            try:
                page = await self._bucket.request(
                    method, upload.path, UploadId=upload.upload_id, **place
                )
            except RequestFailedError as error:
                if error.is_not_found("NoSuchUpload", "NoSuchKey"):
                    return None
                raise
            if page.get("UploadId", upload.upload_id) != upload.upload_id:
                raise self._bucket.doubt(method, upload.path, ANOTHER_PLACE)
            # Only checksums of parts are asked for when an upload is completed.
            is_of_parts = page.get("ChecksumType") != "FULL_OBJECT"
            for one in page.get("Parts") or ():
                if not etag_of(one) or "Size" not in one or "PartNumber" not in one:
                    why = "the store listed a part without its number, its etag or its size"
                    raise self._bucket.doubt(method, upload.path, why)
                token = token_of_part(one) if is_of_parts else Token(etag_of(one))
                number = int(one["PartNumber"])
                found[number] = Part(number, token, int(one["Size"]))
            if not page.get("IsTruncated"):
                return [part for _, part in sorted(found.items())]
            place = {"PartNumberMarker": page.get("NextPartNumberMarker")}
            continuations.check(*place.values())

    def told_as(self, stored: Part, etag: str) -> Part | None:
        """The part *stored*, with the checksum in *etag* if the store lists none (SeaweedFS).

        Quotation marks do not matter. ``None`` if it has another etag, or another checksum.
        """
        plain, _, checksum = etag.partition(";")
        known, _, listed = stored.token.partition(";")
        if etag_of({"ETag": plain}) != known or (listed and checksum and listed != checksum):
            return None
        return replace(stored, token=Token(f"{known};{checksum}")) if checksum else stored

    def has_bytes_of(self, stored: Part, sent: Part) -> bool:
        """Whether length and checksum are the same; with KMS, an etag is not that of the bytes."""
        sums = [part.token.partition(";")[2] for part in (stored, sent)]
        return bool(sums[0]) and sums[0] == sums[1] and stored.size_bytes == sent.size_bytes


class S3Uploads:
    """`CompletesUploads` on one bucket."""

    def __init__(self, bucket: Bucket, versions: Versions, *, part_bytes: int | None) -> None:
        self.part_bytes = part_bytes
        self.adopting = S3Adoption(bucket)
        self._bucket = bucket
        self._versions = versions

    async def start(
        self, path: StorePath, nonce: Nonce, *, as_record: bool = False
    ) -> PendingUpload:
        """Begin an upload of *path* with *nonce* in its metadata; of data, unless *as_record*.

        Raises:
            StoreError: It was not begun; or it is not known whether it was, and then an upload may
                be pending that only a listing shows.
        """
        checksum = self._bucket.checksum
        algorithm = {} if checksum is None else {"ChecksumAlgorithm": checksum}
        answer = await self._bucket.send(
            "create_multipart_upload",
            path,
            as_record=as_record,
            **algorithm,
            **metadata_of(nonce),
        )
        if not answer.get("UploadId"):
            why = "the store answered without an upload id"
            raise self._bucket.doubt("create_multipart_upload", path, why)
        return PendingUpload(path=path, upload_id=str(answer["UploadId"]), nonce=nonce)

    async def put_part(self, upload: PendingUpload, number: int, data: bytes) -> Part:
        """Store part *number*; a later part of the same number replaces it.

        Raises:
            StoreError: It was not stored, or it is not known whether it was; storing it again is
                harmless.
        """
        checksum = self._bucket.checksum
        algorithm = {} if checksum is None else {"ChecksumAlgorithm": checksum}
        answer = await self._bucket.send(
            "upload_part",
            upload.path,
            UploadId=upload.upload_id,
            PartNumber=number,
            Body=data,
            **algorithm,
        )
        if not etag_of(answer):
            why = "the store answered without an etag"
            raise self._bucket.doubt("upload_part", upload.path, why)
        return Part(number, token_of_part(answer), len(data))

    async def complete(self, upload: PendingUpload, *, expecting: Expectation) -> None:
        """Make the object visible, whole, on condition of *expecting*.

        Raises:
            StoreError: It was not done, or it is not known whether it was. "No such upload" is a
                refusal: S3 also answers so when the upload has been completed before.
        """
        await self.finish(upload, expecting=expecting)

    async def finish(self, upload: PendingUpload, *, expecting: Expectation) -> Token:
        """Make the object visible, like :meth:`complete`, and return its token."""
        method = "complete_multipart_upload"
        if not isinstance(expecting, Expect):
            await self._versions.check(upload.path, expecting, method=method)
        parts = sorted(upload.parts, key=lambda part: part.number)
        size: dict[str, Any] = {"MpuObjectSize": _object_bytes(upload)}
        answer = await self._bucket.send(
            method,
            upload.path,
            UploadId=upload.upload_id,
            MultipartUpload={"Parts": [completed(part) for part in parts]},
            **(size if self._bucket.knows(method, "MpuObjectSize") else {}),
            **condition_of(expecting),
        )
        # A 200 is sent before the work is done, and can end with nothing in it.
        return self._versions.written(answer, upload.path)

    @raising_store_errors
    async def abort(self, upload: PendingUpload) -> None:
        """Drop the upload and its parts; one that is gone counts as dropped.

        Raises:
            StoreError: It was not done, or it is not known whether it was.
        """
        method = "abort_multipart_upload"
        try:
            answer = await self._bucket.request(method, upload.path, UploadId=upload.upload_id)
        except RequestFailedError as error:
            if error.is_not_found("NoSuchUpload", "NoSuchKey"):
                return
            raise
        # An empty 204 is what anybody on the way can say as well.
        left = None if is_marked(headers_of(answer)) else await self._why_left(upload)
        if left is not None:
            raise self._bucket.doubt(method, upload.path, f"{_UNMARKED} {left}")

    async def _why_left(self, upload: PendingUpload) -> str | None:
        """Why *upload* may still be pending; ``None`` if it is not, or if we may not ask."""
        key = self._bucket.key(upload.path)
        try:
            async with aclosing(self._listed(upload.path, key)) as listed:
                async for one in listed:
                    if (one.key, one.upload_id) == (key, upload.upload_id):
                        return "the upload is listed still; check endpoint_url= and the proxy"
                    if one.key.encode() > key.encode():
                        break
        except RequestFailedError as error:
            if error.answer is not None and is_refusal_of_its_own(error.answer):
                return None
            return f"a listing shows nothing: {error.failure}"
        except StoreError as error:
            return f"a listing shows nothing: {error}"
        return None

    async def pending(self, prefix: StorePath) -> AsyncIterator[PendingUpload]:
        """Every pending upload below the directory *prefix*, all pages.

        Raises:
            StoreError: A page was not given; or it cannot be said where the next one begins.
        """
        key = self._bucket.key(prefix)
        below = f"{key}/" if key else ""
        try:
            async with aclosing(self._listed(prefix, below)) as listed:
                async for one in listed:
                    # Some servers ignore the prefix.
                    if one.key.startswith(below):
                        yield PendingUpload(
                            path=self._bucket.path(one.key),
                            upload_id=one.upload_id,
                            nonce=_UNLISTED,
                            begun=one.begun,
                        )
        except RequestFailedError as error:
            raise error.failure from None

    async def _listed(self, path: StorePath, below: str) -> AsyncGenerator[_Listed, None]:
        """Every upload that is listed for the prefix *below*, all pages.

        Raises:
            RequestFailedError: A page was not given.
            StoreError: It cannot be said where the next one begins, or what is listed.
        """
        place: dict[str, Any] = {}
        continuations = Continuations(self._bucket, "list_multipart_uploads", path)
        repeated: set[_Listed] = set()
        before = ""
        while True:
            page = await self._page(path, below, place, before)
            uploads = page.get("Uploads") or ()
            if not all(text_in(one, "Key") and text_in(one, "UploadId") for one in uploads):
                raise self._bucket.doubt("list_multipart_uploads", path, NAMELESS)
            named = [
                _Listed(_decoded(page, str(one["Key"])), str(one["UploadId"]), _begun(one))
                for one in uploads
            ]
            for one in named:
                if one not in repeated:
                    yield one
            if not page.get("IsTruncated"):
                return
            last = _decoded(page, text_in(page, "NextKeyMarker"))
            following: dict[str, Any] = {"KeyMarker": last}
            if page.get("NextUploadIdMarker"):
                following["UploadIdMarker"] = str(page["NextUploadIdMarker"])
            earlier = {one.key for one in named if one.key.encode() < last.encode()}
            before = max(earlier, key=str.encode, default=before)
            repeated = {one for one in named if one.key == last}
            continuations.check(*following.values())
            place = following

    async def _page(
        self, path: StorePath, below: str, place: Mapping[str, Any], before: str
    ) -> dict[str, Any]:
        """The page at *place*; where the server does not know its own marker, the one after a key.

        Args:
            path: The directory, for messages.
            below: The prefix.
            place: Where the page before said that this one begins.
            before: The last key that was listed whole: the next one is listed again, whole.
        """
        method = "list_multipart_uploads"
        listing: dict[str, Any] = {"Prefix": below, **ENCODED}
        try:
            return await self._bucket.request(method, path, **listing, **place)
        except RequestFailedError as error:
            if error.answer is None or error.answer.status != 400 or "UploadIdMarker" not in place:  # noqa: PLR2004  # bad request
                raise
            failed = error
        if before:
            listing["KeyMarker"] = before
        page = await self._bucket.request(method, path, **listing)
        last = place["KeyMarker"]
        if page.get("IsTruncated") and _decoded(page, text_in(page, "NextKeyMarker")) <= last:
            raise failed
        return page


def _decoded(page: Mapping[str, Any], text: str) -> str:
    """A key of a page; encoded where the answer says so, as botocore leaves it."""
    return decoded(text) if is_encoded(page) else text


def _begun(listed: Mapping[str, Any]) -> datetime | None:
    """When a listed upload was begun; ``None`` if the server does not say, or no time zone."""
    begun = listed.get("Initiated")
    return begun if isinstance(begun, datetime) and begun.tzinfo is not None else None
