"""What both endpoints say of a file or directory, and its bytes."""

from __future__ import annotations

import base64
import re
from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.servers.azure.gen2.storage import Directory, File
from tests.servers.http_service.messages import Failure, Reply, http_date

if TYPE_CHECKING:
    from tests.servers.azure.gen2.messages import Request
    from tests.servers.azure.gen2.storage import Container, Node

_RANGE = re.compile(r"bytes=(\d+)-(\d*)")


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
        **{f"x-ms-meta-{name}": value for name, value in metadata.items()},
        **{name: value for name, value in node.headers.items() if name != "content-type"},
        **({"x-ms-properties": properties} if properties else {}),
        "ETag": f'"{node.etag}"',
        "Last-Modified": http_date(int(node.modified_s)),
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
    asked = request.headers.get("x-ms-range") or request.headers.get("range")
    # Anything else than one range of bytes is answered in full.
    found = None if asked is None else _RANGE.fullmatch(asked)
    if found is None:
        return Reply(headers=headers, pieces=tuple(content for _, content in file.blocks))
    size_bytes = file.size_bytes
    first = int(found[1])
    last = min(int(found[2]) if found[2] else size_bytes - 1, size_bytes - 1)
    if first >= size_bytes or last < first:
        raise Failure(
            HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
            "InvalidRange",
            "The range specified is invalid for the current size of the resource.",
        )
    headers["Content-Range"] = f"bytes {first}-{last}/{size_bytes}"
    return Reply(HTTPStatus.PARTIAL_CONTENT, headers, (file.content[first : last + 1],))


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
