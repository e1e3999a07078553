"""Paths on the DFS endpoint: create, append, flush, read, describe, delete.

https://learn.microsoft.com/rest/api/storageservices/datalakestoragegen2/path
"""

from __future__ import annotations

import base64
import binascii
from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.servers.azure.gen2.conditions import check_existing, check_read, check_write
from tests.servers.azure.gen2.reading import check_unheld, described, file_reply, stamped
from tests.servers.azure.gen2.storage import Directory, File
from tests.servers.http_service.messages import Failure, Reply

if TYPE_CHECKING:
    from tests.servers.azure.gen2.messages import Request
    from tests.servers.azure.gen2.service import Service
    from tests.servers.azure.gen2.storage import Container

IN_THE_WAY = (
    "The specified path, or an element of the path, exists and its resource type is invalid for "
    "this operation."
)
_DEPTH_MAX = 63
_LENGTH_MAX = 1_024


def not_found() -> Failure:
    return Failure(HTTPStatus.NOT_FOUND, "PathNotFound", "The specified path does not exist.")


def check_name(path: str) -> None:
    """Raises: Failure: no path may have this name.

    https://learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata
    """
    names = path.split("/")
    if not path or "" in names or "." in names or ".." in names:
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidUri", "The request URI is invalid.")
    # With a hierarchical namespace 63 segments, those of the container and the account included.
    if len(path) > _LENGTH_MAX or len(names) > _DEPTH_MAX - 2:
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidUri", "The request URI is too long.")


def create(service: Service, container: Container, request: Request) -> Reply:
    """Path - Create: directories above it are made with it, a file is there at once, of no bytes.

    https://learn.microsoft.com/rest/api/storageservices/datalakestoragegen2/path/create
    """
    kind = request.query["resource"]
    if kind not in {"file", "directory"}:
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidQueryParameterValue", "resource")
    if request.body:
        raise Failure(HTTPStatus.BAD_REQUEST, "ContentLengthMustBeZero")
    check_name(request.path)
    there = container.find(request.path)
    check_write(there, request)
    if container.file_above(request.path):
        raise Failure(HTTPStatus.CONFLICT, "PathConflict", IN_THE_WAY)
    etag, now_s = service.storage.stamp()
    metadata, headers = properties_of(request), content_headers(request)
    if kind == "directory":
        if isinstance(there, File):
            raise Failure(HTTPStatus.CONFLICT, "PathConflict", IN_THE_WAY)
        if there is not None:
            # A directory that is there keeps what is in it.
            arguments = (request.container, request.path, (etag, now_s), metadata, headers)
            service.storage.change("describe", *arguments)
            return _created(etag, now_s)
        made: File | Directory = Directory(etag, now_s, now_s, metadata, headers)
    else:
        if isinstance(there, Directory):
            raise Failure(HTTPStatus.CONFLICT, "PathConflict", IN_THE_WAY)
        check_unheld(container, there)
        made = File(etag, now_s, now_s, metadata, headers, by_dfs=True)
    service.storage.change("put", request.container, request.path, made)
    return _created(etag, now_s)


def append(service: Service, container: Container, request: Request) -> Reply:
    """Path - Update, append: the data can be read when it has been flushed.

    https://learn.microsoft.com/rest/api/storageservices/datalakestoragegen2/path/update
    """
    file = _file(container, request)
    _check_writable(file)
    check_unheld(container, file if file.size_bytes else None)
    position = request.number("position")
    if not request.body:
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidHeaderValue", "Content-Length")
    if position < file.size_bytes:
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidRange", "position")
    service.storage.change("append", request.container, request.path, position, request.body)
    return Reply(HTTPStatus.ACCEPTED, {"x-ms-request-server-encrypted": "true"})


def flush(service: Service, container: Container, request: Request) -> Reply:
    """Path - Update, flush: `position` is the length of the file after it."""
    file = _file(container, request)
    _check_writable(file)
    if request.body:
        raise Failure(HTTPStatus.BAD_REQUEST, "ContentLengthMustBeZero")
    check_existing(file, request)
    return _flushed(service, request, file, request.number("position"))


def read(service: Service, container: Container, request: Request) -> Reply:
    """https://learn.microsoft.com/rest/api/storageservices/datalakestoragegen2/path/read."""
    del service
    node = _node(container, request)
    if isinstance(node, Directory):
        raise Failure(HTTPStatus.CONFLICT, "ResourceTypeMismatch", IN_THE_WAY)
    check_read(node, request)
    return file_reply(node, request)


def properties(service: Service, container: Container, request: Request) -> Reply:
    """https://learn.microsoft.com/rest/api/storageservices/datalakestoragegen2/path/get-properties."""
    del service
    node = _node(container, request)
    check_read(node, request)
    headers = described(node)
    if request.query.get("action") == "getAccessControl":
        headers["x-ms-acl"] = "user::rwx,group::r-x,other::---"
    size_bytes = node.size_bytes if isinstance(node, File) else 0
    return Reply(headers=headers, length_bytes=size_bytes)


def delete(service: Service, container: Container, request: Request) -> Reply:
    """Path - Delete: a directory only with `recursive`, in as many calls as the service asks for.

    https://learn.microsoft.com/rest/api/storageservices/datalakestoragegen2/path/delete
    """
    node = container.find(request.path)
    if node is None or not request.path:
        raise not_found()
    if "continuation" not in request.query or not request.query["continuation"]:
        check_existing(node, request)
    reply = Reply(HTTPStatus.OK)
    if isinstance(node, Directory) and node.children:
        if not request.flag("recursive"):
            message = (
                "The recursive query parameter value must be true to delete a non-empty directory."
            )
            raise Failure(HTTPStatus.CONFLICT, "DirectoryNotEmpty", message)
        below = list(container.walk(request.path))
        for _, found in below:
            check_unheld(container, found)
        limit = service.settings.paths_per_call
        if limit is not None and len(below) > limit:
            # The deepest first, so that what is left is a tree.
            gone = tuple(path for path, _ in reversed(below[-limit:]))
            service.storage.change("remove", request.container, gone)
            reply.headers["x-ms-continuation"] = base64.b64encode(request.path.encode()).decode()
            return reply
    check_unheld(container, node)
    service.storage.change("remove", request.container, (request.path,))
    return reply


def properties_of(request: Request) -> dict[str, str]:
    """User-defined properties: names and values in base 64, separated by commas."""
    given = request.headers.get("x-ms-properties", "")
    found = {}
    for pair in given.split(",") if given.strip() else ():
        name, _, value = pair.strip().partition("=")
        try:
            found[name.lower()] = base64.b64decode(value, validate=True).decode("latin-1")
        except binascii.Error as error:
            raise Failure(HTTPStatus.BAD_REQUEST, "InvalidHeaderValue", name) from error
    return found


def content_headers(request: Request) -> dict[str, str]:
    """What the file comes back with: `x-ms-content-type` and its like."""
    return {
        name.removeprefix("x-ms-"): value
        for name, value in request.headers.items()
        if name.startswith(("x-ms-content-", "x-ms-cache-control")) and name != "x-ms-content-md5"
    }


def _flushed(service: Service, request: Request, file: File, length: int) -> Reply:
    end = file.size_bytes
    while end < length and end in file.appended:
        end += len(file.appended[end])
    if end != length:
        message = (
            "The uploaded data is not contiguous or the position query parameter value is not "
            "equal to the length of the file after appending the uploaded data."
        )
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidFlushPosition", message)
    etag, now_s = service.storage.stamp()
    service.storage.change("flush", request.container, request.path, length, etag, now_s)
    headers = {**stamped(etag, now_s), "x-ms-request-server-encrypted": "false"}
    return Reply(HTTPStatus.OK, headers)


def _created(etag: str, now_s: float) -> Reply:
    headers = {**stamped(etag, now_s), "x-ms-request-server-encrypted": "true"}
    return Reply(HTTPStatus.CREATED, headers)


def _node(container: Container, request: Request) -> File | Directory:
    node = container.find(request.path)
    if node is None:
        raise not_found()
    return node


def _file(container: Container, request: Request) -> File:
    node = _node(container, request)
    if isinstance(node, Directory):
        raise Failure(HTTPStatus.CONFLICT, "ResourceTypeMismatch", IN_THE_WAY)
    return node


def _check_writable(file: File) -> None:
    # https://learn.microsoft.com/azure/storage/blobs/data-lake-storage-known-issues#blob-storage-apis
    if not file.by_dfs:
        message = (
            "The resource was created or modified by the Blob Service API and cannot be written to "
            "by the Data Lake Storage Service API."
        )
        raise Failure(HTTPStatus.CONFLICT, "InvalidFlushOperation", message)
