"""Conditional headers, which both endpoints have alike.

https://learn.microsoft.com/rest/api/storageservices/specifying-conditional-headers-for-blob-service-operations
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.servers.azure.gen2.storage import Directory
from tests.servers.http_service.messages import Failure, names_etag

if TYPE_CHECKING:
    from tests.servers.azure.gen2.messages import Request
    from tests.servers.azure.gen2.storage import Node

_NOT_MET = "The condition specified using HTTP conditional header(s) is not met."
_SOURCE_NOT_MET = "The source condition specified using HTTP conditional header(s) is not met."


def check_write(node: Node | None, request: Request) -> None:
    """Before something is created, replaced or changed: what is there is what was expected.

    Raises:
        Failure: it is not. Something that is there where nothing should be is a conflict, 409; any
            other condition that does not hold is answered 412, `If-Match` of nothing included.
    """
    unwanted = request.headers.get("if-none-match")
    if unwanted == "*" and node is not None:
        code = "PathAlreadyExists" if request.on_dfs else "BlobAlreadyExists"
        # As Hadoop's client reads it ("AbfsDfsClient.createPath").
        kind = "directory" if isinstance(node, Directory) else "file"
        headers = {"x-ms-existing-resource-type": kind} if request.on_dfs else {}
        raise Failure(HTTPStatus.CONFLICT, code, "The specified path already exists.", headers)
    if node is not None and unwanted is not None and names_etag(unwanted, node.etag):
        raise Failure(HTTPStatus.PRECONDITION_FAILED, "ConditionNotMet", _NOT_MET)
    _check_expected(node, request, "", "ConditionNotMet", _NOT_MET)


def check_source(node: Node, request: Request) -> None:
    """The same of what is renamed, by the headers `x-ms-source-if-…`."""
    unwanted = request.headers.get("x-ms-source-if-none-match")
    if unwanted is not None and names_etag(unwanted, node.etag):
        raise Failure(HTTPStatus.PRECONDITION_FAILED, "SourceConditionNotMet", _SOURCE_NOT_MET)
    _check_expected(node, request, "x-ms-source-", "SourceConditionNotMet", _SOURCE_NOT_MET)


def check_existing(node: Node, request: Request) -> None:
    """Before something that is there is deleted."""
    unwanted = request.headers.get("if-none-match")
    if unwanted is not None and names_etag(unwanted, node.etag):
        raise Failure(HTTPStatus.PRECONDITION_FAILED, "ConditionNotMet", _NOT_MET)
    _check_expected(node, request, "", "ConditionNotMet", _NOT_MET)


def check_read(node: Node, request: Request) -> None:
    """Before something is read: what the client has already is answered 304."""
    unwanted = request.headers.get("if-none-match")
    if unwanted is not None and names_etag(unwanted, node.etag):
        raise Failure(HTTPStatus.NOT_MODIFIED, "ConditionNotMet")
    _check_expected(node, request, "", "ConditionNotMet", _NOT_MET)


def _check_expected(
    node: Node | None, request: Request, prefix: str, code: str, message: str
) -> None:
    wanted = request.headers.get(f"{prefix}if-match")
    if wanted is not None and (node is None or not names_etag(wanted, node.etag)):
        raise Failure(HTTPStatus.PRECONDITION_FAILED, code, message)
