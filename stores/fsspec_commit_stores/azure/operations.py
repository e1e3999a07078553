"""Every request that is ever sent to an account: how, what must be allowed, what is a success.

A success is what the operation's page documents, and nothing else: its status, and the headers that
it always carries. A login page has a status of 200 as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

_ETAG = frozenset({"etag"})
_CONTENT = frozenset({"etag", "content-length"})


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the service: how it is sent, what it does to a path, what it needs.

    Attributes:
        method: The HTTP method.
        query: The part of the query that says which operation it is.
        verb: What it does, for messages.
        permissions: What must be allowed for it: of a role, and of a shared access signature.
        statuses: What it answers when it was done.
        told: Headers that such an answer always carries, in lower case.
        is_dfs: Whether it goes to the endpoint of Data Lake Storage.
        level: What the URL names.
    """

    method: str
    query: str
    verb: str
    permissions: str
    statuses: frozenset[int] = frozenset({HTTPStatus.OK})
    told: frozenset[str] = frozenset()
    is_dfs: bool = False
    level: Literal["account", "container", "blob"] = "blob"

    def is_success(self, status: int, headers: Mapping[str, str]) -> bool:
        """Whether an answer of the service says that it was done, with all that the page promises.

        A weak etag is that of a proxy which has changed the content; no condition can name it.
        """
        for name in self.told:
            if not headers.get(name):
                return False
        return status in self.statuses and headers.get("etag", "")[:2] != "W/"


_READ = "blobs/read (of a signature: r)"
_LIST = "blobs/read (of a signature: l)"
_WRITE = "blobs/write (of a signature: c and w)"
_DELETE = "blobs/delete (of a signature: d)"
_ASK = "ask for the kind of the account of"
_KIND = "restype=account&comp=properties"
_WHOLE_OR_PART = frozenset({HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT})
_CREATED = frozenset({HTTPStatus.CREATED})
OPERATIONS = {
    "Get Blob Properties": Operation("HEAD", "", "look at", _READ, told=_CONTENT),
    "Get Blob": Operation("GET", "", "read", _READ, _WHOLE_OR_PART, told=_CONTENT),
    "Put Blob": Operation("PUT", "", "write", _WRITE, _CREATED, told=_ETAG),
    "Delete Blob": Operation("DELETE", "", "delete", _DELETE, frozenset({HTTPStatus.ACCEPTED})),
    "Put Block": Operation("PUT", "comp=block", "upload a part of", _WRITE, _CREATED),
    "Put Block List": Operation(
        "PUT", "comp=blocklist", "complete the upload of", _WRITE, _CREATED, told=_ETAG
    ),
    "Get Block List": Operation(
        "GET", "comp=blocklist&blocklisttype=uncommitted", "look at the upload of", _READ
    ),
    "List Blobs": Operation("GET", "restype=container&comp=list", "list", _LIST, level="container"),
    "Get Container Properties": Operation(
        "HEAD", "restype=container", "look at the container of", _READ, level="container"
    ),
    "Get Account Information": Operation("GET", _KIND, _ASK, _READ, level="container"),
    "Get Account Information of the account": Operation("GET", _KIND, _ASK, _READ, level="account"),
    "Filesystem - Get Properties": Operation(
        "HEAD", "resource=filesystem", _ASK, _READ, is_dfs=True, level="container"
    ),
    "Path - List": Operation(
        "GET", "resource=filesystem", "list", _LIST, is_dfs=True, level="container"
    ),
    "Path - Create": Operation(
        "PUT", "resource=directory", "make the directory", _WRITE, _CREATED, is_dfs=True
    ),
    # Its page names an etag, which the service leaves out.
    "Path - Rename": Operation(
        "PUT",
        "",
        "rename",
        "blobs/move/action (of a signature: m, or r, w and d)",
        _CREATED,
        is_dfs=True,
    ),
    "Path - Delete": Operation(
        "DELETE",
        "recursive=true",
        "delete all below",
        _DELETE,
        frozenset({HTTPStatus.OK, HTTPStatus.ACCEPTED}),
        is_dfs=True,
    ),
    "Path - Delete of an empty directory": Operation(
        "DELETE",
        "recursive=false",
        "delete the empty directory",
        _DELETE,
        frozenset({HTTPStatus.OK, HTTPStatus.ACCEPTED}),
        is_dfs=True,
    ),
}
"""By the names of their pages."""
