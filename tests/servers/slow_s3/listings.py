"""Listings of objects and uploads, a page a request."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_left, bisect_right
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote
from xml.sax.saxutils import escape

from tests.servers.http_service.messages import Failure
from tests.servers.slow_s3.messages import document

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.servers.http_service.messages import Reply
    from tests.servers.slow_s3.messages import Request
    from tests.servers.slow_s3.storage import Bucket

_PAGE_MAX = 1_000
# Behind every key that begins like what it is added to.
_LAST = "\U0010ffff"


def list_objects(bucket: Bucket, request: Request) -> Reply:
    """ListObjectsV2. A token names the key at which the next page begins."""
    shown = _shown(request)
    prefix, delimiter = request.query.get("prefix", ""), request.query.get("delimiter", "")
    room = _page_size(request, "max-keys")
    keys, place = bucket.keys, _start(bucket, request, prefix)
    content: list[str] = []
    prefixes: list[str] = []
    while place < len(keys) and keys[place].startswith(prefix):
        if len(content) + len(prefixes) == room:
            break
        key = keys[place]
        cut = key.find(delimiter, len(prefix)) if delimiter else -1
        if cut < 0:
            content.append(_listed(bucket, key, shown))
            place += 1
        else:
            common = key[: cut + len(delimiter)]
            prefixes.append(f"<CommonPrefixes><Prefix>{shown(common)}</Prefix></CommonPrefixes>")
            place = bisect_right(keys, common + _LAST, lo=place)
    more = place < len(keys) and keys[place].startswith(prefix)
    following = ""
    if more:
        token = base64.urlsafe_b64encode(keys[place].encode()).decode()
        following = f"<NextContinuationToken>{token}</NextContinuationToken>"
    described = _encoding(request) + "".join(
        f"<{name}>{shown(request.query[parameter])}</{name}>"
        for name, parameter in (("Delimiter", "delimiter"), ("StartAfter", "start-after"))
        if parameter in request.query
    )
    return document(
        "ListBucketResult",
        f"<Name>{request.bucket}</Name><Prefix>{shown(prefix)}</Prefix>{described}"
        f"<MaxKeys>{room}</MaxKeys><KeyCount>{len(content) + len(prefixes)}</KeyCount>"
        f"<IsTruncated>{_boolean(more)}</IsTruncated>{following}"
        f"{''.join(content)}{''.join(prefixes)}",
    )


def list_uploads(bucket: Bucket, request: Request) -> Reply:
    """ListMultipartUploads; the prefix is one of characters, as on S3: `a` lists `ab` as well."""
    if request.query.get("delimiter"):
        raise Failure(HTTPStatus.NOT_IMPLEMENTED, "NotImplemented", "delimiter")
    shown = _shown(request)
    prefix, room = request.query.get("prefix", ""), _page_size(request, "max-uploads")
    key, upload_id = (request.query.get(f"{name}-marker", "") for name in ("key", "upload-id"))
    order = bucket.upload_keys
    # Without the id, all uploads of the marker's key are behind us.
    behind = bisect_right(order, (key, upload_id or _LAST)) if key else 0
    place = max(behind, bisect_left(order, (prefix, "")))
    end = bisect_right(order, (prefix + _LAST, "")) if prefix else len(order)
    page = order[place : min(place + room, end)]
    more = place + len(page) < end
    following = ""
    if more and page:
        following = (
            f"<NextKeyMarker>{shown(page[-1][0])}</NextKeyMarker>"
            f"<NextUploadIdMarker>{page[-1][1]}</NextUploadIdMarker>"
        )
    content = "".join(
        f"<Upload><Key>{shown(name)}</Key><UploadId>{number}</UploadId>"
        f"<Initiated>{_iso(bucket.uploads[number].initiated_s)}</Initiated>"
        "<StorageClass>STANDARD</StorageClass></Upload>"
        for name, number in page
    )
    return document(
        "ListMultipartUploadsResult",
        f"<Bucket>{request.bucket}</Bucket><KeyMarker>{shown(key)}</KeyMarker>"
        f"<UploadIdMarker>{upload_id}</UploadIdMarker>{following}<Prefix>{shown(prefix)}</Prefix>"
        f"{_encoding(request)}<MaxUploads>{room}</MaxUploads>"
        f"<IsTruncated>{_boolean(more)}</IsTruncated>{content}",
    )


def _start(bucket: Bucket, request: Request, prefix: str) -> int:
    token = request.query.get("continuation-token")
    if token is None:
        after = bisect_right(bucket.keys, request.query.get("start-after", ""))
        return max(after, bisect_left(bucket.keys, prefix))
    try:
        key = base64.urlsafe_b64decode(token).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidArgument", "continuation-token") from error
    return bisect_left(bucket.keys, key)


def _listed(bucket: Bucket, key: str, shown: Callable[[str], str]) -> str:
    stored = bucket.objects[key]
    return (
        f"<Contents><Key>{shown(key)}</Key><LastModified>{_iso(stored.modified_s)}</LastModified>"
        f"<ETag>&quot;{stored.etag}&quot;</ETag><Size>{stored.size_bytes}</Size>"
        "<StorageClass>STANDARD</StorageClass></Contents>"
    )


def _page_size(request: Request, parameter: str) -> int:
    return min(_PAGE_MAX, request.number(parameter, default=_PAGE_MAX))


def _shown(request: Request) -> Callable[[str], str]:
    """How keys are written: percent-encoded for who asks, since XML cannot hold every one."""
    return quote if request.query.get("encoding-type") == "url" else escape


def _encoding(request: Request) -> str:
    encoded = request.query.get("encoding-type") == "url"
    return "<EncodingType>url</EncodingType>" if encoded else ""


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _iso(moment_s: float) -> str:
    return datetime.fromtimestamp(moment_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
