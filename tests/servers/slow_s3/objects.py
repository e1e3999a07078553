"""Objects: put, get, head, delete, with the conditions of S3."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import unquote
from xml.sax.saxutils import escape

from tests.servers.http_service.messages import (
    RANGE,
    Failure,
    Reply,
    bounds,
    http_date,
    names_etag,
    parsed_xml,
)
from tests.servers.slow_s3.messages import NAMESPACE, document
from tests.servers.slow_s3.storage import StoredObject

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from tests.servers.http_service.messages import Pieces
    from tests.servers.slow_s3.messages import Request
    from tests.servers.slow_s3.storage import Bucket

_KEPT = frozenset(
    {"content-type", "content-encoding", "content-disposition", "cache-control", "expires"}
)
_KEYS_OF_A_DELETE = 1_000
_OF_A_RENAME = frozenset(
    {"x-amz-rename-source", "x-amz-rename-source-if-match", "if-match", "if-none-match"}
)


def kept_headers(request: Request) -> dict[str, str]:
    """What comes back with the object: user metadata, and what browsers understand."""
    return {
        name: value
        for name, value in request.headers.items()
        if name.startswith("x-amz-meta-")
        or (name in _KEPT and not (name == "content-encoding" and value == "aws-chunked"))
    }


def check_write(bucket: Bucket, request: Request) -> None:
    """Raises: Failure: what stands there is not what the request expects."""
    wanted, unwanted = request.headers.get("if-match"), request.headers.get("if-none-match")
    if wanted is None and unwanted is None:
        return
    there = bucket.objects.get(request.key)
    if unwanted is not None and there is not None:
        raise _precondition_failed("If-None-Match")
    if wanted is not None:
        if there is None:
            raise Failure(HTTPStatus.NOT_FOUND, "NoSuchKey", "The key does not exist.")
        if not names_etag(wanted, there.etag):
            raise _precondition_failed("If-Match")


def put_object(bucket: Bucket, request: Request) -> Reply:
    check_write(bucket, request)
    stored = StoredObject(request.pieces, request.size_bytes, request.md5, kept_headers(request))
    bucket.put(request.key, stored)
    return Reply(headers={"ETag": f'"{stored.etag}"'})


def get_object(bucket: Bucket, request: Request) -> Reply:
    stored = bucket.get(request.key)
    _check_read(stored, request)
    headers = _described(stored)
    asked = RANGE.fullmatch(request.headers.get("range", ""))
    if asked is None:
        return Reply(headers=headers, pieces=stored.pieces)
    found = bounds(asked, stored.size_bytes)
    if found is None:
        status = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
        raise Failure(status, "InvalidRange", "The range is not satisfiable.")
    begin, end = found
    headers["Content-Range"] = f"bytes {begin}-{end - 1}/{stored.size_bytes}"
    return Reply(HTTPStatus.PARTIAL_CONTENT, headers, _cut(stored.pieces, begin, end))


def head_object(bucket: Bucket, request: Request) -> Reply:
    stored = bucket.get(request.key)
    _check_read(stored, request)
    return Reply(headers=_described(stored), length_bytes=stored.size_bytes)


def delete_object(bucket: Bucket, request: Request) -> Reply:
    check_write(bucket, request)
    bucket.delete(request.key)
    return Reply(HTTPStatus.NO_CONTENT)


def rename_object(bucket: Bucket, request: Request) -> Reply:
    """API_RenameObject: within one directory bucket; the whole object moves, with its metadata.

    "If you retry a request that completed successfully using the same client token and the same
    parameters, the retry succeeds without performing any further actions."
    """
    if not request.bucket.endswith("--x-s3"):
        raise Failure(HTTPStatus.NOT_IMPLEMENTED, "NotImplemented", "not a directory bucket")
    token = request.headers.get("x-amz-client-token", "")
    source = unquote(request.headers.get("x-amz-rename-source", "")).removeprefix("/")
    if not source or source.endswith("/") or request.key.endswith("/"):
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidArgument", "x-amz-rename-source")
    asked = {name: value for name, value in request.headers.items() if name in _OF_A_RENAME}
    if token and token in bucket.renames:
        if bucket.renames[token] != (request.key, asked):
            raise Failure(HTTPStatus.BAD_REQUEST, "IdempotencyParameterMismatch")
        return Reply()
    stored = bucket.get(source)
    wanted = request.headers.get("x-amz-rename-source-if-match")
    if wanted is not None and not names_etag(wanted, stored.etag):
        raise _precondition_failed("x-amz-rename-source-if-match")
    check_write(bucket, request)
    bucket.delete(source)
    bucket.put(request.key, stored)
    if token:
        bucket.renames[token] = request.key, asked
    return Reply()


def delete_objects(bucket: Bucket, request: Request) -> Reply:
    root = parsed(request.body)
    keys = [key.text or "" for key in root.iter(f"{{{NAMESPACE}}}Key")]
    if not keys or len(keys) > _KEYS_OF_A_DELETE:
        raise Failure(HTTPStatus.BAD_REQUEST, "MalformedXML", f"{len(keys)} keys")
    for key in keys:
        bucket.delete(key)
    if root.findtext(f"{{{NAMESPACE}}}Quiet") == "true":
        return document("DeleteResult", "")
    done = (f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
    return document("DeleteResult", "".join(done))


def parsed(body: bytes) -> Element:
    """The XML of a request, its elements in the namespace of S3 whether they say so or not.

    Raises:
        Failure: it is none.
    """
    root = parsed_xml(body, "MalformedXML")
    for element in root.iter():
        if not element.tag.startswith("{"):
            element.tag = f"{{{NAMESPACE}}}{element.tag}"
    return root


def _described(stored: StoredObject) -> dict[str, str]:
    return {
        "content-type": "binary/octet-stream",
        **stored.headers,
        "ETag": f'"{stored.etag}"',
        "Last-Modified": http_date(int(stored.modified_s)),
        "Accept-Ranges": "bytes",
    }


def _check_read(stored: StoredObject, request: Request) -> None:
    wanted = request.headers.get("if-match")
    if wanted is not None and not names_etag(wanted, stored.etag):
        raise _precondition_failed("If-Match")
    unwanted = request.headers.get("if-none-match")
    if unwanted is not None and names_etag(unwanted, stored.etag):
        raise Failure(HTTPStatus.NOT_MODIFIED, "NotModified")


def _precondition_failed(condition: str) -> Failure:
    message = f"At least one of the preconditions did not hold: {condition}"
    return Failure(HTTPStatus.PRECONDITION_FAILED, "PreconditionFailed", message)


def _cut(pieces: Pieces, first: int, end: int) -> Pieces:
    found, place = [], 0
    for piece in pieces:
        part = piece[max(0, first - place) : max(0, end - place)]
        if part:
            found.append(part)
        place += len(piece)
    return tuple(found)
