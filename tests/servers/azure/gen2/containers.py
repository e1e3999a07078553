"""Containers and the account on the Blob endpoint, and the listing of blobs.

https://learn.microsoft.com/rest/api/storageservices/operations-on-containers
"""

from __future__ import annotations

import re
from bisect import bisect_right
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote
from xml.sax.saxutils import escape

from tests.servers.azure.gen2.messages import document
from tests.servers.azure.gen2.reading import META, metadata_of, stamped
from tests.servers.azure.gen2.storage import Directory, File
from tests.servers.http_service.messages import Failure, Reply, http_date

if TYPE_CHECKING:
    from tests.servers.azure.gen2.messages import Request
    from tests.servers.azure.gen2.service import Service
    from tests.servers.azure.gen2.storage import Container

_NAME = re.compile(r"[a-z0-9](?:-?[a-z0-9]){2,62}")
_NOT_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_PAGE_MAX = 5_000


def check_container_name(name: str) -> None:
    """https://learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata."""
    if _NAME.fullmatch(name) is None:
        message = "The specified resource name contains invalid characters."
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidResourceName", message)


def account_information(service: Service, request: Request) -> Reply:
    """https://learn.microsoft.com/rest/api/storageservices/get-account-information."""
    del service, request
    headers = {"x-ms-sku-name": "Standard_LRS", "x-ms-account-kind": "StorageV2"}
    return Reply(headers={**headers, "x-ms-is-hns-enabled": "true"})


def create(service: Service, request: Request) -> Reply:
    """https://learn.microsoft.com/rest/api/storageservices/create-container."""
    if request.container in service.storage.containers:
        message = "The specified container already exists."
        raise Failure(HTTPStatus.CONFLICT, "ContainerAlreadyExists", message)
    etag, now_s = service.storage.stamp()
    service.storage.change("create", request.container, etag, now_s, metadata_of(request))
    return Reply(HTTPStatus.CREATED, stamped(etag, now_s))


def properties(service: Service, container: Container, request: Request) -> Reply:
    """https://learn.microsoft.com/rest/api/storageservices/get-container-properties."""
    del service, request
    root = container.root
    return Reply(
        headers={
            **{f"{META}{name}": value for name, value in root.metadata.items()},
            **stamped(root.etag, root.modified_s),
            "x-ms-lease-state": "available",
            "x-ms-lease-status": "unlocked",
            "x-ms-has-immutability-policy": str(container.immutable).lower(),
            "x-ms-has-legal-hold": str(container.legal_hold).lower(),
        }
    )


def list_blobs(service: Service, container: Container, request: Request) -> Reply:
    """List Blobs: directories are among them; with a delimiter they are prefixes instead.

    https://learn.microsoft.com/rest/api/storageservices/list-blobs
    """
    query = request.query
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    if delimiter not in {"", "/"}:
        # Nothing else is supported with a hierarchical namespace.
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidQueryParameterValue", "delimiter")
    size = request.number("maxresults", default=_PAGE_MAX)
    if size < 1:
        raise Failure(HTTPStatus.BAD_REQUEST, "OutOfRangeQueryParameterValue", "maxresults")
    size = min(size, _PAGE_MAX, service.settings.page_max)
    include = query.get("include", "")
    if include not in {"", "metadata"}:
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidQueryParameterValue", "include")
    found = _found(container, prefix, delimiter)
    names = sorted(found)
    begin = bisect_right(names, query["marker"]) if query.get("marker") else 0
    page = names[begin : begin + size]
    entries = "".join(
        _entry(name, found[name], with_metadata=include == "metadata") for name in page
    )
    marker = escape(page[-1]) if len(names) > begin + size else ""
    return document(
        f'<EnumerationResults ServiceEndpoint="" ContainerName="{request.container}">'
        f"<Prefix>{escape(prefix)}</Prefix><MaxResults>{size}</MaxResults>"
        f"<Delimiter>{escape(delimiter)}</Delimiter><Blobs>{entries}</Blobs>"
        f"<NextMarker>{marker}</NextMarker></EnumerationResults>"
    )


def _found(container: Container, prefix: str, delimiter: str) -> dict[str, File | Directory]:
    """By name; with a delimiter directories have it behind their names."""
    above, _, _ = prefix.rpartition("/")
    if not delimiter:
        return {path: node for path, node in container.walk(above) if path.startswith(prefix)}
    top = container.find(above)
    children = top.children if isinstance(top, Directory) else {}
    before = f"{above}/" if above else ""
    return {
        before + name + ("/" if isinstance(node, Directory) else ""): node
        for name, node in children.items()
        if (before + name).startswith(prefix)
    }


def _entry(name: str, node: File | Directory, *, with_metadata: bool) -> str:
    if name.endswith("/"):
        return f"<BlobPrefix>{_named(name)}</BlobPrefix>"
    size_bytes = node.size_bytes if isinstance(node, File) else 0
    kind = "directory" if isinstance(node, Directory) else "file"
    content_type = escape(node.headers.get("content-type", "application/octet-stream"))
    # An etag has no quotes here, unlike in a header.
    properties = (
        f"<Creation-Time>{http_date(int(node.created_s))}</Creation-Time>"
        f"<Last-Modified>{http_date(int(node.modified_s))}</Last-Modified>"
        f"<Etag>{node.etag}</Etag><ResourceType>{kind}</ResourceType>"
        f"<Content-Length>{size_bytes}</Content-Length><Content-Type>{content_type}</Content-Type>"
        "<BlobType>BlockBlob</BlobType><LeaseStatus>unlocked</LeaseStatus>"
        "<LeaseState>available</LeaseState><ServerEncrypted>true</ServerEncrypted>"
    )
    metadata = ""
    if with_metadata:
        folder = {"hdi_isfolder": "true"} if isinstance(node, Directory) else {}
        pairs = {**node.metadata, **folder}.items()
        inner = "".join(f"<{key}>{escape(value)}</{key}>" for key, value in pairs)
        metadata = f"<Metadata>{inner}</Metadata>"
    return f"<Blob>{_named(name)}<Properties>{properties}</Properties>{metadata}</Blob>"


def _named(name: str) -> str:
    """XML has no way to write some characters: a name with one of them is percent-encoded."""
    if _NOT_IN_XML.search(name) is None:
        return f"<Name>{escape(name)}</Name>"
    return f'<Name Encoded="true">{quote(name)}</Name>'
