"""What both endpoints say of a file or directory, and its bytes."""

from __future__ import annotations

import base64
from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.servers.azure.gen2.storage import Directory, File
from tests.servers.http_service.messages import RANGE, Failure, Reply, bounds, http_date

if TYPE_CHECKING:
    from tests.servers.azure.gen2.messages import Request
    from tests.servers.azure.gen2.storage import Container, Node

META = "x-ms-meta-"


def stamped(etag: str, modified_s: float) -> dict[str, str]:
    """The headers that say what stands there since when."""
    return {"ETag": f'"{etag}"', "Last-Modified": http_date(int(modified_s))}


def metadata_of(request: Request) -> dict[str, str]:
    return {
        name.removeprefix(META): value
        for name, value in request.headers.items()
        if name.startswith(META)
    }


def described(node: File | Directory) -> dict[str, str]:
    """The headers of https://learn.microsoft.com/rest/api/storageservices/get-blob-properties.

    A directory is known on the Blob endpoint by its metadata `hdi_isfolder`.
    https://learn.microsoft.com/azure/storage/blobs/data-lake-storage-multi-protocol-access
    """
    is_directory = isinstance(node, Directory)
    metadata = {**node.metadata, "hdi_isfolder": "true"} if is_directory else node.metadata
    properties = ",".join(
        f"{name}={base64.b64encode(value.encode('latin-1')).decode()}"
        for name, value in metadata.items()
    )
    return {
        "Content-Type": node.headers.get("content-type", "application/octet-stream"),
        **{f"{META}{name}": value for name, value in metadata.items()},
        **{name: value for name, value in node.headers.items() if name != "content-type"},
        **({"x-ms-properties": properties} if properties else {}),
        **stamped(node.etag, node.modified_s),
        "x-ms-creation-time": http_date(int(node.created_s)),
        "x-ms-blob-type": "BlockBlob",
        "x-ms-resource-type": "directory" if is_directory else "file",
        "x-ms-owner": "$superuser",
        "x-ms-group": "$superuser",
        "x-ms-permissions": "rwxr-x---" if is_directory else "rw-r-----",
        "x-ms-lease-state": "available",
        "x-ms-lease-status": "unlocked",
        "x-ms-server-encrypted": "true",
        "Accept-Ranges": "bytes",
    }


def file_reply(file: File, request: Request) -> Reply:
    """All of it, or the range that is asked for.

    https://learn.microsoft.com/rest/api/storageservices/specifying-the-range-header-for-blob-service-operations
    """
    headers = described(file)
    said = request.headers.get("x-ms-range") or request.headers.get("range", "")
    asked = RANGE.fullmatch(said)
    # Anything else than one range of bytes, from a first one on, is answered in full.
    if asked is None or not asked[1]:
        return Reply(headers=headers, pieces=tuple(content for _, content in file.blocks))
    found = bounds(asked, file.size_bytes)
    if found is None:
        raise Failure(
            HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
            "InvalidRange",
            "The range specified is invalid for the current size of the resource.",
        )
    begin, end = found
    headers["Content-Range"] = f"bytes {begin}-{end - 1}/{file.size_bytes}"
    return Reply(HTTPStatus.PARTIAL_CONTENT, headers, (file.content[begin:end],))


def check_unheld(container: Container, node: Node | None) -> None:
    """Raises: Failure: a legal hold or a policy keeps it as it is.

    https://learn.microsoft.com/azure/storage/blobs/immutable-container-level-worm-policies
    """
    if node is None or isinstance(node, Directory):
        return
    if container.legal_hold:
        raise Failure(HTTPStatus.CONFLICT, "BlobImmutableDueToLegalHold")
    if container.immutable:
        raise Failure(HTTPStatus.CONFLICT, "BlobImmutableDueToPolicy")
