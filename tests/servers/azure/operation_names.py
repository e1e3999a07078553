"""What a request to Azure asks for: for the proxy's rules, and for the server of our own.

Both endpoints of an account have one address here, because that is what the clients make of one
that is not Azure's own. What only one of the two interfaces has tells them apart, and where a
request could be of either, what the client accepts: JSON is spoken on the DFS endpoint, XML on the
Blob endpoint.

https://learn.microsoft.com/rest/api/storageservices/datalakestoragegen2/operation-groups
https://learn.microsoft.com/rest/api/storageservices/blob-service-rest-api
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Level = Literal["account", "container", "path"]

_DFS_PARAMETERS = frozenset(
    {
        "resource",
        "action",
        "recursive",
        "mode",
        "continuation",
        "position",
        "directory",
        "paginated",
    }
)
_OVERRIDE = "x-http-method-override"
# A request that has one of these is no other than what says so.
_TELLING = frozenset({"comp", "restype", "action", "resource"})

# Of two the first that fits: method, level, query parameters that must be there.
_Row = tuple[str, Level, Mapping[str, str | None], str]
_DFS: tuple[_Row, ...] = (
    ("PUT", "path", {"resource": None}, "path.create"),
    ("PATCH", "path", {"action": "append"}, "path.append"),
    ("PATCH", "path", {"action": "flush"}, "path.flush"),
    ("GET", "path", {}, "path.read"),
    ("HEAD", "path", {"action": "getAccessControl"}, "path.access_control"),
    ("HEAD", "path", {"action": "getStatus"}, "path.properties"),
    ("HEAD", "path", {}, "path.properties"),
    ("DELETE", "path", {}, "path.delete"),
    ("HEAD", "container", {"resource": "filesystem"}, "filesystem.properties"),
    ("GET", "container", {"resource": "filesystem"}, "path.list"),
)
_BLOB: tuple[_Row, ...] = (
    ("GET", "account", {"restype": "account", "comp": "properties"}, "account.information"),
    ("HEAD", "account", {"restype": "account", "comp": "properties"}, "account.information"),
    ("GET", "container", {"restype": "account", "comp": "properties"}, "account.information"),
    ("HEAD", "container", {"restype": "account", "comp": "properties"}, "account.information"),
    ("GET", "path", {"restype": "account", "comp": "properties"}, "account.information"),
    ("GET", "container", {"restype": "container", "comp": "list"}, "blob.list"),
    ("PUT", "container", {"restype": "container"}, "container.create"),
    ("GET", "container", {"restype": "container"}, "container.properties"),
    ("HEAD", "container", {"restype": "container"}, "container.properties"),
    ("PUT", "path", {"comp": "block"}, "block.put"),
    ("PUT", "path", {"comp": "blocklist"}, "blocklist.put"),
    ("GET", "path", {"comp": "blocklist"}, "blocklist.get"),
    ("PUT", "path", {"comp": "metadata"}, "blob.set_metadata"),
    ("PUT", "path", {}, "blob.put"),
    ("GET", "path", {}, "blob.get"),
    ("HEAD", "path", {}, "blob.properties"),
    ("DELETE", "path", {}, "blob.delete"),
)


def method_of(method: str, headers: Mapping[str, str]) -> str:
    """What is asked for, where a client cannot say PATCH (Java's own HTTP client)."""
    return headers.get(_OVERRIDE, method) if method in {"PUT", "POST"} else method


def is_dfs(query: Mapping[str, str], headers: Mapping[str, str]) -> bool:
    """Whether the request is one to the DFS endpoint."""
    if "comp" in query or "restype" in query or "x-ms-blob-type" in headers:
        return False
    return (
        not _DFS_PARAMETERS.isdisjoint(query)
        or "x-ms-rename-source" in headers
        or "json" in headers.get("accept", "")
    )


def operation_name(
    method: str, level: Level, query: Mapping[str, str], headers: Mapping[str, str]
) -> str | None:
    """Such as ``path.rename`` or ``blob.put``; None: neither interface has such a request.

    Header names are in lower case.
    """
    method = method_of(method, headers)
    on_dfs = is_dfs(query, headers)
    if on_dfs and (level, method) == ("path", "PUT") and "x-ms-rename-source" in headers:
        return "path.rename"
    if "x-ms-copy-source" in headers:
        return None
    for row_method, row_level, parameters, name in _DFS if on_dfs else _BLOB:
        if (
            (row_method, row_level) == (method, level)
            and not _TELLING & query.keys() - parameters.keys()
            and all(
                parameter in query and value in {None, query[parameter]}
                for parameter, value in parameters.items()
            )
        ):
            return name
    return None
