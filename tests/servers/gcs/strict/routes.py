"""Which method of the API an address is: for the server, and for the proxy in front of any server.

https://cloud.google.com/storage/docs/request-endpoints#json-api
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Mapping


class Route(NamedTuple):
    """The method's name in the API reference, and the decoded parts of the path by name."""

    operation: str
    path: dict[str, str]


BATCH = "batch"
_API, _UPLOAD, _DOWNLOAD = "storage/v1/", "upload/storage/v1/", "download/storage/v1/"
_OBJECT = "b/{bucket}/o/{object}"
_ROUTES = (
    ("POST", "b", "buckets.insert"),
    ("GET", "b/{bucket}", "buckets.get"),
    ("PATCH", "b/{bucket}", "buckets.patch"),
    ("GET", "b/{bucket}/storageLayout", "buckets.getStorageLayout"),
    ("GET", "b/{bucket}/o", "objects.list"),
    ("GET", _OBJECT, "objects.get"),
    ("DELETE", _OBJECT, "objects.delete"),
    ("POST", _OBJECT + "/moveTo/o/{destination}", "objects.move"),
    ("POST", _OBJECT + "/rewriteTo/b/{destinationBucket}/o/{destination}", "objects.rewrite"),
)
_BY_SHAPE = {
    (method, len(template.split("/"))): [
        (one.split("/"), operation)
        for other, one, operation in _ROUTES
        if (other, len(one.split("/"))) == (method, len(template.split("/")))
    ]
    for method, template, _ in _ROUTES
}


def route(method: str, raw_path: str, query: Mapping[str, str]) -> Route | None:
    """None: there is no such method. Names come percent-encoded, a slash in them as %2F."""
    path = raw_path.lstrip("/")
    # Old clients put a word before the path of an upload that is resumable.
    path = path.removeprefix("resumable/")
    if method == "POST" and path in {"batch/storage/v1", "batch"}:
        return Route(BATCH, {})
    if path.startswith(_UPLOAD):
        return _upload(method, path.removeprefix(_UPLOAD), query)
    for prefix in (_API, _DOWNLOAD):
        if path.startswith(prefix):
            found = _find(method, path.removeprefix(prefix))
            wants_data = found is not None and found.operation == "objects.get"
            if wants_data and (query.get("alt") == "media" or prefix == _DOWNLOAD):
                return Route("objects.download", found.path if found else {})
            return found if prefix == _API else None
    return None


def _find(method: str, path: str) -> Route | None:
    parts = path.split("/")
    for template, operation in _BY_SHAPE.get((method, len(parts)), ()):
        names = {}
        for pattern, part in zip(template, parts, strict=True):
            if pattern.startswith("{"):
                names[pattern.strip("{}")] = unquote(part)
            elif pattern != part:
                break
        else:
            return Route(operation, names)
    return None


def _upload(method: str, path: str, query: Mapping[str, str]) -> Route | None:
    """The three methods of a resumable upload have no names in the reference; these are ours."""
    parts = path.split("/")
    if len(parts) != len(("b", "bucket", "o")) or (parts[0], parts[2]) != ("b", "o"):
        return None
    names = {"bucket": unquote(parts[1])}
    if "upload_id" in query:
        uploads = {"PUT": "uploads.put", "POST": "uploads.put", "DELETE": "uploads.delete"}
        operation = uploads.get(method)
        return None if operation is None else Route(operation, names)
    if method != "POST":
        return None
    is_resumable = query.get("uploadType") == "resumable"
    return Route("uploads.start" if is_resumable else "objects.insert", names)
