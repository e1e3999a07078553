"""Multipart uploads: begin, store parts, complete, abort."""

from __future__ import annotations

import hashlib
from http import HTTPStatus
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from tests.servers.http_service.messages import Failure, Reply
from tests.servers.slow_s3.messages import NAMESPACE, document
from tests.servers.slow_s3.objects import check_write, kept_headers, parsed
from tests.servers.slow_s3.storage import StoredObject, StoredPart

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from tests.servers.slow_s3.messages import Request
    from tests.servers.slow_s3.storage import Bucket, Upload

_CHECKSUM = "x-amz-checksum-"
_CHECKSUMS = ("CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256")
_PARTS_MAX = 10_000
_PARTS_LISTED_MAX = 1000
_SIZE_BYTES_MIN = 5 << 20  # of every part but the last
EQUAL_PARTS = "equal-parts-"
"""What the name of a bucket begins with that takes parts of one length only, as R2 does."""


def create_upload(bucket: Bucket, request: Request) -> Reply:
    upload = bucket.begin(request.key, kept_headers(request))
    content = (
        f"<Bucket>{escape(request.bucket)}</Bucket><Key>{escape(request.key)}</Key>"
        f"<UploadId>{upload.upload_id}</UploadId>"
    )
    return document("InitiateMultipartUploadResult", content)


def upload_part(bucket: Bucket, request: Request) -> Reply:
    upload = bucket.upload(request.key, request.query["uploadId"])
    number = request.number("partNumber", default=0)
    if not 1 <= number <= _PARTS_MAX:
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidArgument", "partNumber")
    checksums = {
        name: value
        for name, value in request.headers.items()
        if name.startswith(_CHECKSUM) and name != f"{_CHECKSUM}algorithm"
    }
    part = StoredPart(request.pieces, request.size_bytes, request.md5, checksums)
    upload.parts[number] = part
    return Reply(headers={"ETag": f'"{part.etag}"', **checksums})


def complete_upload(bucket: Bucket, request: Request) -> Reply:
    upload = bucket.upload(request.key, request.query["uploadId"])
    parts = _named_parts(upload, parsed(request.body))
    if request.bucket.startswith(EQUAL_PARTS):
        _check_equal([part.size_bytes for part in parts])
    check_write(bucket, request)
    # MD5 of the parts' MD5, as S3 does it.
    digest = hashlib.md5(bytes.fromhex("".join(part.etag for part in parts)), usedforsecurity=False)
    etag = f"{digest.hexdigest()}-{len(parts)}"
    size_bytes = sum(part.size_bytes for part in parts)
    pieces = tuple(piece for part in parts for piece in part.pieces)
    bucket.put(request.key, StoredObject(pieces, size_bytes, etag, upload.headers))
    bucket.end(upload)
    content = (
        f"<Location>/{escape(request.bucket)}/{escape(request.key)}</Location>"
        f"<Bucket>{escape(request.bucket)}</Bucket><Key>{escape(request.key)}</Key>"
        f"<ETag>&quot;{etag}&quot;</ETag>"
    )
    return document("CompleteMultipartUploadResult", content)


def list_parts(bucket: Bucket, request: Request) -> Reply:
    upload = bucket.upload(request.key, request.query["uploadId"])
    after = request.number("part-number-marker", default=0)
    room = request.number("max-parts", default=_PARTS_LISTED_MAX)
    left = [number for number in sorted(upload.parts) if number > after]
    shown = left[:room]
    following = f"<NextPartNumberMarker>{shown[-1]}</NextPartNumberMarker>" if shown else ""
    content = "".join(
        f"<Part><PartNumber>{number}</PartNumber><ETag>&quot;{part.etag}&quot;</ETag>"
        f"<Size>{part.size_bytes}</Size>{_listed(part.checksums)}</Part>"
        for number, part in ((number, upload.parts[number]) for number in shown)
    )
    return document(
        "ListPartsResult",
        f"<Bucket>{escape(request.bucket)}</Bucket><Key>{escape(request.key)}</Key>"
        f"<UploadId>{upload.upload_id}</UploadId><PartNumberMarker>{after}</PartNumberMarker>"
        f"{following}<MaxParts>{room}</MaxParts>"
        f"<IsTruncated>{'true' if len(left) > room else 'false'}</IsTruncated>{content}",
    )


def _listed(checksums: dict[str, str]) -> str:
    given = ((name, checksums.get(f"{_CHECKSUM}{name.lower()}")) for name in _CHECKSUMS)
    return "".join(f"<Checksum{name}>{value}</Checksum{name}>" for name, value in given if value)


def abort_upload(bucket: Bucket, request: Request) -> Reply:
    bucket.end(bucket.upload(request.key, request.query["uploadId"]))
    return Reply(HTTPStatus.NO_CONTENT)


def _named_parts(upload: Upload, root: Element) -> list[StoredPart]:
    """The parts that are to be put together.

    Raises:
        Failure: there are none, or not in order, or another one is stored than is named.
    """
    named = root.findall(f"{{{NAMESPACE}}}Part")
    found: list[StoredPart] = []
    before = 0
    for one in named:
        number = int(one.findtext(f"{{{NAMESPACE}}}PartNumber") or 0)
        if number <= before:
            raise Failure(HTTPStatus.BAD_REQUEST, "InvalidPartOrder", str(number))
        part = upload.parts.get(number)
        if part is None or not _is_named(part, one):
            raise Failure(HTTPStatus.BAD_REQUEST, "InvalidPart", str(number))
        found.append(part)
        before = number
    if not found:
        raise Failure(HTTPStatus.BAD_REQUEST, "MalformedXML", "no part")
    if any(part.size_bytes < _SIZE_BYTES_MIN for part in found[:-1]):
        raise Failure(HTTPStatus.BAD_REQUEST, "EntityTooSmall", "a part but the last")
    return found


def _check_equal(sizes: list[int]) -> None:
    """Refuse parts that differ, but for a last one that is shorter."""
    if len(set(sizes[:-1])) > 1 or sizes[-1] > sizes[0]:
        why = "All non-trailing parts must have the same length."
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidPart", why)


def _is_named(part: StoredPart, named: Element) -> bool:
    etag = (named.findtext(f"{{{NAMESPACE}}}ETag") or "").strip('"')
    if etag != part.etag:
        return False
    for algorithm in _CHECKSUMS:
        checksum = named.findtext(f"{{{NAMESPACE}}}Checksum{algorithm}")
        stored = part.checksums.get(f"{_CHECKSUM}{algorithm.lower()}")
        if checksum is not None and checksum != stored:
            return False
    return True
