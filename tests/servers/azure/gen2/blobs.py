"""Blobs on the Blob endpoint of the same account: put, get, describe, delete.

https://learn.microsoft.com/rest/api/storageservices/operations-on-blobs
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.servers.azure.gen2.conditions import (
    check_existing,
    check_read,
    check_write,
)
from tests.servers.azure.gen2.paths import IN_THE_WAY, check_name
from tests.servers.azure.gen2.reading import (
    check_unheld,
    described,
    file_reply,
    metadata_of,
    stamped,
)
from tests.servers.azure.gen2.storage import Directory, File
from tests.servers.http_service.messages import Failure, Reply

if TYPE_CHECKING:
    from tests.servers.azure.gen2.messages import Request
    from tests.servers.azure.gen2.service import Service
    from tests.servers.azure.gen2.storage import Container

_NAMED = "x-ms-blob-"
_NOT_KEPT = frozenset({"x-ms-blob-type", "x-ms-blob-content-md5"})


def not_found() -> Failure:
    return Failure(HTTPStatus.NOT_FOUND, "BlobNotFound", "The specified blob does not exist.")


def put(service: Service, container: Container, request: Request) -> Reply:
    """Put Blob: the whole of it appears at once, its directories with it.

    https://learn.microsoft.com/rest/api/storageservices/put-blob
    """
    kind = request.headers.get("x-ms-blob-type")
    if kind is None:
        raise Failure(HTTPStatus.BAD_REQUEST, "MissingRequiredHeader", "x-ms-blob-type")
    if kind != "BlockBlob":
        # Page blobs are not supported with a hierarchical namespace; append blobs not by us.
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidBlobType", kind)
    check_md5(request, request.headers.get("x-ms-blob-content-md5"))
    check_place(container, request)
    etag, now_s = service.storage.stamp()
    metadata, headers = metadata_of(request), blob_headers(request)
    made = File(etag, now_s, now_s, metadata, headers, blocks=(("", request.body),))
    service.storage.change("put", request.container, request.path, made)
    return written(request, etag, now_s)


def get(service: Service, container: Container, request: Request) -> Reply:
    """https://learn.microsoft.com/rest/api/storageservices/get-blob."""
    del service
    node = _node(container, request)
    _check_condition_of_read(request)
    check_read(node, request)
    if isinstance(node, Directory):
        return Reply(headers=described(node))
    return file_reply(node, request)


def properties(service: Service, container: Container, request: Request) -> Reply:
    """https://learn.microsoft.com/rest/api/storageservices/get-blob-properties."""
    del service
    node = _node(container, request)
    _check_condition_of_read(request)
    check_read(node, request)
    size_bytes = node.size_bytes if isinstance(node, File) else 0
    return Reply(headers=described(node), length_bytes=size_bytes)


def set_metadata(service: Service, container: Container, request: Request) -> Reply:
    """https://learn.microsoft.com/rest/api/storageservices/set-blob-metadata."""
    node = _node(container, request)
    check_existing(node, request)
    check_unheld(container, node)
    etag, now_s = service.storage.stamp()
    arguments = (request.container, request.path, (etag, now_s), metadata_of(request), None)
    service.storage.change("describe", *arguments)
    return written(request, etag, now_s, HTTPStatus.OK)


def delete(service: Service, container: Container, request: Request) -> Reply:
    """Delete Blob: of directories only one that is empty.

    https://learn.microsoft.com/rest/api/storageservices/delete-blob
    """
    node = _node(container, request)
    check_existing(node, request)
    if isinstance(node, Directory) and node.children:
        message = "This operation is not permitted on a non-empty directory."
        raise Failure(HTTPStatus.CONFLICT, "DirectoryIsNotEmpty", message)
    check_unheld(container, node)
    service.storage.change("remove", request.container, (request.path,))
    return Reply(HTTPStatus.ACCEPTED, {"x-ms-delete-type-permanent": "true"})


def check_place(container: Container, request: Request) -> None:
    """Raises: Failure: a blob may not be written there, or not with these conditions."""
    check_name(request.path)
    there = container.find(request.path)
    check_write(there, request)
    if isinstance(there, Directory) or container.file_above(request.path):
        raise Failure(HTTPStatus.CONFLICT, "ResourceTypeMismatch", IN_THE_WAY)
    check_unheld(container, there)


def check_md5(request: Request, of_blob: str | None = None) -> None:
    """Raises: Failure: the body is not what the client has sent."""
    del of_blob  # Kept by the service, and not compared with a body that it does not describe.
    wanted = request.headers.get("content-md5")
    if wanted is None:
        return
    if request.content_md5 != wanted:
        message = (
            "The MD5 value specified in the request did not match with the MD5 value calculated."
        )
        raise Failure(HTTPStatus.BAD_REQUEST, "Md5Mismatch", message)


def blob_headers(request: Request) -> dict[str, str]:
    """What the blob comes back with: `x-ms-blob-content-type` and its like."""
    return {
        name.removeprefix(_NAMED): value
        for name, value in request.headers.items()
        if name.startswith((f"{_NAMED}content-", f"{_NAMED}cache-")) and name not in _NOT_KEPT
    }


def written(request: Request, etag: str, now_s: float, status: int = HTTPStatus.CREATED) -> Reply:
    headers = {**stamped(etag, now_s), "x-ms-request-server-encrypted": "true"}
    if request.body:
        headers["Content-MD5"] = request.content_md5
    return Reply(status, headers)


def _node(container: Container, request: Request) -> File | Directory:
    node = container.find(request.path)
    if node is None or not request.path:
        raise not_found()
    return node


def _check_condition_of_read(request: Request) -> None:
    # Only a write may be conditional on nothing being there.
    if request.headers.get("if-none-match") == "*":
        raise Failure(HTTPStatus.BAD_REQUEST, "UnsupportedHeader", "If-None-Match: *")
