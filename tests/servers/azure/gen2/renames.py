"""Path - Create with a source: the rename that the committer lives by.

https://learn.microsoft.com/rest/api/storageservices/datalakestoragegen2/path/create
"""

from __future__ import annotations

import base64
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import unquote

from tests.servers.azure.gen2.conditions import check_source, check_write
from tests.servers.azure.gen2.paths import IN_THE_WAY, check_name
from tests.servers.azure.gen2.reading import check_unheld
from tests.servers.azure.gen2.storage import Directory, File
from tests.servers.http_service.messages import Failure, Reply

if TYPE_CHECKING:
    from tests.servers.azure.gen2.messages import Request
    from tests.servers.azure.gen2.service import Service
    from tests.servers.azure.gen2.storage import Container

_MODES = frozenset({"legacy", "posix"})


def rename(service: Service, container: Container, request: Request) -> Reply:
    """A file or directory with all that is in it gets another name, and keeps its etag.

    What has the name is replaced, unless a condition says otherwise. Of a directory with more
    paths than the service moves in a call, the rest waits for the call with the continuation.
    """
    if request.query.get("mode", "posix") not in _MODES:
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidQueryParameterValue", "mode")
    if request.body:
        raise Failure(HTTPStatus.BAD_REQUEST, "ContentLengthMustBeZero")
    check_name(request.path)
    from_container, source = _source(service, request)
    held, moved = _found(service, from_container, source)
    there = container.find(request.path)
    continued = bool(request.query.get("continuation"))
    if not continued:
        check_source(moved, request)
        check_write(there, request)
        _check_destination(container, request, moved, there)
        check_unheld(held, moved)
        check_unheld(container, there)
    if moved is there:
        return Reply(HTTPStatus.CREATED)
    if isinstance(moved, Directory):
        _check_not_below(request, from_container, source)
        if (reply := _move_part(service, request, from_container, source)) is not None:
            return reply
    if continued and isinstance(there, Directory):
        _move_below(service, request, from_container, source)
        service.storage.change("remove", from_container, (source,))
        return Reply(HTTPStatus.CREATED)
    if there is not None:
        service.storage.change("remove", request.container, (request.path,))
    service.storage.change("move", from_container, source, request.container, request.path)
    return Reply(HTTPStatus.CREATED)


def _found(service: Service, name: str, path: str) -> tuple[Container, File | Directory]:
    held = service.storage.containers.get(name)
    if held is None:
        raise Failure(HTTPStatus.NOT_FOUND, "FilesystemNotFound", "It does not exist.")
    moved = held.find(path)
    if moved is None or not path:
        message = "The source path for a rename operation does not exist."
        raise Failure(HTTPStatus.NOT_FOUND, "SourcePathNotFound", message)
    return held, moved


def _check_not_below(request: Request, container: str, source: str) -> None:
    if request.container == container and request.path.startswith(f"{source}/"):
        message = (
            "The source directory cannot be the same as the destination directory, nor can the "
            "destination be a subdirectory of the source directory."
        )
        raise Failure(HTTPStatus.CONFLICT, "InvalidRenameSourcePath", message)


def _source(service: Service, request: Request) -> tuple[str, str]:
    """Container and path of the source, which may carry a signature of its own behind it."""
    place = unquote(request.headers["x-ms-rename-source"].partition("?")[0])
    # The SDKs say `/container/path`; with a path-style address the account may be before it.
    container, _, path = place.lstrip("/").partition("/")
    if container == request.account and container not in service.storage.containers:
        container, _, path = path.partition("/")
    if not container:
        raise Failure(HTTPStatus.BAD_REQUEST, "InvalidSourceUri", "The source URI is invalid.")
    return container, path.rstrip("/")


def _check_destination(
    container: Container,
    request: Request,
    moved: File | Directory,
    there: File | Directory | None,
) -> None:
    if container.file_above(request.path):
        raise Failure(HTTPStatus.CONFLICT, "InvalidDestinationPath", IN_THE_WAY)
    if container.find(request.path.rpartition("/")[0]) is None:
        message = "The parent directory of the destination path does not exist."
        raise Failure(HTTPStatus.NOT_FOUND, "RenameDestinationParentPathNotFound", message)
    if there is None or there is moved:
        return
    if type(moved) is not type(there):
        message = "The source and destination resource type must be identical."
        raise Failure(HTTPStatus.CONFLICT, "InvalidSourceOrDestinationResourceType", message)
    if isinstance(there, Directory) and there.children:
        # Not in the page's list for this call; what clients report of the service.
        raise Failure(HTTPStatus.CONFLICT, "PathAlreadyExists", "The destination is not empty.")


def _move_part(service: Service, request: Request, container: str, source: str) -> Reply | None:
    """As many files as one call moves, where there are more; None: the rest fits into one."""
    limit = service.settings.paths_per_call
    held = service.storage.containers[container]
    files = [path for path, node in held.walk(source) if isinstance(node, File)]
    if limit is None or len(files) <= limit:
        return None
    for path in files[:limit]:
        _move_one(service, request, container, source, path)
    continuation = base64.b64encode(source.encode()).decode()
    return Reply(HTTPStatus.CREATED, {"x-ms-continuation": continuation})


def _move_below(service: Service, request: Request, container: str, source: str) -> None:
    held = service.storage.containers[container]
    for path, node in list(held.walk(source)):
        if isinstance(node, File):
            _move_one(service, request, container, source, path)
        elif not node.children:
            _make_directory(service, request, request.path + path.removeprefix(source))


def _move_one(service: Service, request: Request, container: str, source: str, path: str) -> None:
    destination = request.path + path.removeprefix(source)
    _make_directory(service, request, destination.rpartition("/")[0])
    service.storage.change("move", container, path, request.container, destination)


def _make_directory(service: Service, request: Request, path: str) -> None:
    if service.storage.containers[request.container].find(path) is None:
        etag, now_s = service.storage.stamp()
        made = Directory(etag, now_s, now_s, {}, {})
        service.storage.change("put", request.container, path, made)
