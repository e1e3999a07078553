"""Path - List.

https://learn.microsoft.com/rest/api/storageservices/datalakestoragegen2/filesystem
"""

from __future__ import annotations

import base64
import binascii
import json
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, Any

from tests.servers.azure.gen2.paths import not_found
from tests.servers.azure.gen2.reading import stamped
from tests.servers.azure.gen2.storage import Directory, File
from tests.servers.http_service.messages import Failure, Reply, http_date

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.azure.gen2.messages import Request
    from tests.servers.azure.gen2.service import Service
    from tests.servers.azure.gen2.storage import Container

_PAGE_MAX = 5_000


def list_paths(service: Service, container: Container, request: Request) -> Reply:
    """What is in a directory, or with `recursive` all below it, by pages.

    The continuation says behind which path the next page begins, so one that is deleted in the
    meantime does not disturb the listing.

    https://learn.microsoft.com/rest/api/storageservices/datalakestoragegen2/path/list
    """
    if request.query.get("recursive", "").lower() not in {"true", "false"}:
        raise Failure(HTTPStatus.BAD_REQUEST, "MissingRequiredQueryParameter", "recursive")
    directory = request.query.get("directory", "").strip("/")
    top = container.find(directory)
    if not isinstance(top, Directory):
        raise not_found()
    size = min(request.number("maxResults", default=_PAGE_MAX), _PAGE_MAX)
    if size < 1:
        raise Failure(HTTPStatus.BAD_REQUEST, "OutOfRangeQueryParameterValue", "maxResults")
    size = min(size, service.settings.page_max)
    after = _decoded(request.query.get("continuation", ""))
    below = container.walk(directory) if request.flag("recursive") else _children(directory, top)
    key = after.split("/")
    # In the order of the tree a path is compared name by name.
    rest = (found for found in below if not after or found[0].split("/") > key)
    page = list(islice(rest, size + 1))
    headers = {"Content-Type": "application/json;charset=utf-8"}
    if len(page) > size:
        page.pop()
        headers["x-ms-continuation"] = base64.b64encode(page[-1][0].encode()).decode()
    root = container.root
    headers |= stamped(root.etag, root.modified_s)
    content = json.dumps({"paths": [_entry(path, node) for path, node in page]})
    return Reply(headers=headers, pieces=(content.encode(),))


def _children(directory: str, top: Directory) -> Iterator[tuple[str, File | Directory]]:
    before = f"{directory}/" if directory else ""
    return ((before + name, top.children[name]) for name in top.names())


def _entry(path: str, node: File | Directory) -> dict[str, Any]:
    is_directory = isinstance(node, Directory)
    entry = {
        "name": path,
        "contentLength": "0" if isinstance(node, Directory) else str(node.size_bytes),
        "etag": node.etag,
        "lastModified": http_date(int(node.modified_s)),
        "owner": "$superuser",
        "group": "$superuser",
        "permissions": "rwxr-x---" if is_directory else "rw-r-----",
    }
    return {**entry, "isDirectory": "true"} if is_directory else entry


def _decoded(continuation: str) -> str:
    try:
        return base64.b64decode(continuation, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidQueryParameterValue", "x") from error
