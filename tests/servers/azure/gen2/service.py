"""Which operation a request is, and what must hold before it is done."""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.servers.azure.gen2 import blobs, blocks, containers, path_listings, paths, renames
from tests.servers.azure.gen2.authorization import mismatch
from tests.servers.azure.gen2.messages import common_headers, refusal
from tests.servers.http_service.messages import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.servers.azure.gen2.authorization import Account
    from tests.servers.azure.gen2.messages import Request
    from tests.servers.azure.gen2.storage import Container, Storage
    from tests.servers.http_service.messages import Reply

_PAGE_MAX = 5_000


@dataclass
class Settings:
    """What a test may ask of the service.

    Attributes:
        denied: Operations that are answered 403 `AuthorizationPermissionMismatch`.
        paths_per_call: How many paths one delete or rename of a directory gets through; None: all.
        page_max: How many paths a listing gives at once, whatever the client asks for.
    """

    denied: frozenset[str] = frozenset()
    paths_per_call: int | None = None
    page_max: int = _PAGE_MAX


class Service:
    def __init__(self, storage: Storage, account: Account) -> None:
        self.storage = storage
        self.account = account
        self.settings = Settings()

    def answer(self, request: Request, *, is_throttled: bool) -> Reply:
        """Do it, or say why not."""
        try:
            if is_throttled:
                raise _BUSY
            reply = self._answer(request)
        except Failure as failure:
            reply = refusal(failure, request)
        reply.headers.update(common_headers(request))
        return reply

    def _answer(self, request: Request) -> Reply:
        if request.account != self.account.name:
            raise Failure(HTTPStatus.BAD_REQUEST, "InvalidUri", "No such account.")
        operation = request.operation
        if operation is None or operation not in _OPERATIONS:
            # https://learn.microsoft.com/rest/api/storageservices/common-rest-api-error-codes
            raise Failure(HTTPStatus.BAD_REQUEST, "UnsupportedQueryParameter", request.target)
        _check_headers(request)
        self.account.authorize(request, operation)
        if operation in self.settings.denied:
            raise mismatch()
        if request.container:
            containers.check_container_name(request.container)
        if (on_account := _ON_ACCOUNT.get(operation)) is not None:
            return on_account(self, request)
        container = self.storage.containers.get(request.container)
        if container is None:
            code = "FilesystemNotFound" if request.on_dfs else "ContainerNotFound"
            raise Failure(HTTPStatus.NOT_FOUND, code, "It does not exist.")
        return _ON_CONTAINER[operation](self, container, request)


# https://learn.microsoft.com/azure/storage/common/scalability-targets-standard-account
_BUSY = Failure(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "ServerBusy",
    "Operations per second is over the account limit.",
)
_VERSION = re.compile(r"20\d\d-\d\d-\d\d")
# The first with the DFS endpoint.
_OLDEST_VERSION = "2018-11-09"


def _check_headers(request: Request) -> None:
    """https://learn.microsoft.com/rest/api/storageservices/versioning-for-the-azure-storage-services."""
    version = request.headers.get("x-ms-version", request.query.get("sv"))
    if version is None:
        raise Failure(HTTPStatus.BAD_REQUEST, "MissingRequiredHeader", "x-ms-version")
    if _VERSION.fullmatch(version) is None or version < _OLDEST_VERSION:
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidHeaderValue", f"x-ms-version: {version}")
    has_body = {"content-length", "transfer-encoding"} & request.headers.keys()
    if request.wire_method in {"PUT", "PATCH", "POST"} and not has_body:
        raise Failure(HTTPStatus.LENGTH_REQUIRED, "MissingContentLengthHeader")


_ON_ACCOUNT: dict[str, Callable[[Service, Request], Reply]] = {
    "account.information": containers.account_information,
    "container.create": containers.create,
}
_ON_CONTAINER: dict[str, Callable[[Service, Container, Request], Reply]] = {
    "container.properties": containers.properties,
    "blob.list": containers.list_blobs,
    "blob.put": blobs.put,
    "blob.get": blobs.get,
    "blob.properties": blobs.properties,
    "blob.set_metadata": blobs.set_metadata,
    "blob.delete": blobs.delete,
    "block.put": blocks.put_block,
    "blocklist.put": blocks.put_block_list,
    "path.list": path_listings.list_paths,
    "path.create": paths.create,
    "path.rename": renames.rename,
    "path.append": paths.append,
    "path.flush": paths.flush,
    "path.read": paths.read,
    "path.properties": paths.properties,
    "path.access_control": paths.properties,
    "path.delete": paths.delete,
}
_OPERATIONS = _ON_ACCOUNT.keys() | _ON_CONTAINER.keys()
