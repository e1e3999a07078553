"""Blocks: staged under a blob's name, and made into it by a list.

https://learn.microsoft.com/rest/api/storageservices/understanding-block-blobs--append-blobs--and-page-blobs
"""

from __future__ import annotations

import base64
import binascii
from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.servers.azure.gen2.blobs import (
    blob_headers,
    check_md5,
    check_place,
    written,
)
from tests.servers.azure.gen2.paths import IN_THE_WAY, check_name
from tests.servers.azure.gen2.reading import metadata_of
from tests.servers.azure.gen2.storage import Directory, File
from tests.servers.http_service.messages import Failure, Reply, parsed_xml

if TYPE_CHECKING:
    from tests.servers.azure.gen2.messages import Request
    from tests.servers.azure.gen2.service import Service
    from tests.servers.azure.gen2.storage import Container

_ID_MAX_BYTES = 64
_BLOCKS_MAX = 50_000
_KINDS = frozenset({"Committed", "Uncommitted", "Latest"})


def put_block(service: Service, container: Container, request: Request) -> Reply:
    """Put Block: it belongs to the name, not to who writes it; ids of a name are of one length.

    https://learn.microsoft.com/rest/api/storageservices/put-block
    """
    block_id = request.query.get("blockid", "")
    try:
        size = len(base64.b64decode(block_id, validate=True))
    except binascii.Error:
        size = 0
    if not 0 < size <= _ID_MAX_BYTES:
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidQueryParameterValue", "blockid")
    if not request.body:
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidHeaderValue", "Content-Length")
    check_md5(request)
    check_name(request.path)
    there = container.find(request.path)
    if isinstance(there, Directory) or container.file_above(request.path):
        raise Failure(HTTPStatus.CONFLICT, "ResourceTypeMismatch", IN_THE_WAY)
    known = [*container.staged.get(request.path, {}), *_committed(there)]
    if known and len(known[0]) != len(block_id):
        message = "The specified blob or block content is invalid."
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidBlobOrBlock", message)
    service.storage.change("stage", request.container, request.path, block_id, request.body)
    return Reply(HTTPStatus.CREATED, {"x-ms-request-server-encrypted": "true"})


def put_block_list(service: Service, container: Container, request: Request) -> Reply:
    """Put Block List: the blob is these blocks; staged ones that it does not name are dropped.

    https://learn.microsoft.com/rest/api/storageservices/put-block-list
    """
    check_md5(request)
    named = _parsed(request.body)
    check_place(container, request)
    there = container.find(request.path)
    assert not isinstance(there, Directory)
    committed = _committed(there)
    staged = container.staged.get(request.path, {})
    blocks = []
    for kind, block_id in named:
        content = None
        if kind in {"Uncommitted", "Latest"}:
            content = staged.get(block_id)
        if content is None and kind in {"Committed", "Latest"}:
            content = committed.get(block_id)
        if content is None:
            message = "The specified block list is invalid."
            raise Failure(HTTPStatus.BAD_REQUEST, "InvalidBlockList", message)
        blocks.append((block_id, content))
    etag, now_s = service.storage.stamp()
    metadata, headers = metadata_of(request), blob_headers(request)
    made = File(etag, now_s, now_s, metadata, headers, blocks=tuple(blocks))
    service.storage.change("put", request.container, request.path, made)
    return written(request, etag, now_s)


def _committed(node: File | Directory | None) -> dict[str, bytes]:
    """Those of Put Block List; what was written otherwise has none that can be named.

    https://learn.microsoft.com/azure/storage/blobs/data-lake-storage-known-issues#blob-storage-apis
    """
    blocks = node.blocks if isinstance(node, File) else ()
    return {block_id: content for block_id, content in blocks if block_id}


def _parsed(body: bytes) -> list[tuple[str, str]]:
    root = parsed_xml(body, "InvalidXmlDocument")
    named = [(element.tag, (element.text or "").strip()) for element in root]
    if root.tag != "BlockList" or any(kind not in _KINDS for kind, _ in named):
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidXmlDocument", root.tag)
    if len(named) > _BLOCKS_MAX:
        raise Failure(HTTPStatus.BAD_REQUEST, "BlockListTooLong", str(len(named)))
    return named
