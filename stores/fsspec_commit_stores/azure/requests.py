"""One request at a time about one container: sent once, classified.

An account answers at two endpoints: that for blobs, which every account has, and that of Data Lake
Storage Gen2, which alone renames. A path means the same at both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal
from urllib.parse import quote

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.azure.answers import Answer
from fsspec_commit_stores.azure.connections import Connection
from fsspec_commit_stores.azure.failures import (
    FAILURES,
    Asked,
    is_timeout,
    made,
    refused,
    silent,
    unanswered,
)


@dataclass(frozen=True, slots=True)
class Request:
    """An operation of the service: how it is sent, what it does to a path, what it needs.

    Attributes:
        method: The HTTP method.
        query: What of the query says which operation it is.
        verb: What it does, for messages.
        actions: What must be allowed for it: of a role, and of a shared access signature.
        is_dfs: Whether it goes to the endpoint of Data Lake Storage.
        level: What the URL names.
    """

    method: str
    query: str
    verb: str
    actions: str
    is_dfs: bool = False
    level: Literal["account", "container", "blob"] = "blob"


_READ = "blobs/read (of a signature: r)"
_LIST = "blobs/read (of a signature: l)"
_WRITE = "blobs/write (of a signature: c and w)"
_DELETE = "blobs/delete (of a signature: d)"
_ASK = "ask for the kind of the account of"
_KIND = "restype=account&comp=properties"
REQUESTS = {
    "Get Blob Properties": Request("HEAD", "", "look at", _READ),
    "Get Blob": Request("GET", "", "read", _READ),
    "Put Blob": Request("PUT", "", "write", _WRITE),
    "Delete Blob": Request("DELETE", "", "delete", _DELETE),
    "Put Block": Request("PUT", "comp=block", "upload a part of", _WRITE),
    "Put Block List": Request("PUT", "comp=blocklist", "complete the upload of", _WRITE),
    "Get Block List": Request(
        "GET", "comp=blocklist&blocklisttype=uncommitted", "look at the upload of", _READ
    ),
    "List Blobs": Request("GET", "restype=container&comp=list", "list", _LIST, level="container"),
    "Get Container Properties": Request(
        "HEAD", "restype=container", "look at the container of", _READ, level="container"
    ),
    "Get Account Information": Request("GET", _KIND, _ASK, _READ, level="container"),
    "Get Account Information of the account": Request("GET", _KIND, _ASK, _READ, level="account"),
    "Filesystem - Get Properties": Request(
        "HEAD",
        "resource=filesystem",
        _ASK,
        _READ,
        is_dfs=True,
        level="container",
    ),
    "Path - List": Request(
        "GET", "resource=filesystem", "list", _LIST, is_dfs=True, level="container"
    ),
    "Path - Create": Request(
        "PUT", "resource=directory", "make the directory", _WRITE, is_dfs=True
    ),
    "Path - Rename": Request(
        "PUT", "", "rename", "blobs/move/action (of a signature: m, or r, w and d)", is_dfs=True
    ),
    "Path - Delete": Request("DELETE", "recursive=true", "delete all below", _DELETE, is_dfs=True),
}
"""Every request that is ever sent, by the name of its page, and what must be allowed for it."""


class RequestFailedError(Exception):
    """A request that was not done as asked: the failure, and the answer if there was one."""

    def __init__(self, failure: StoreError, answer: Answer | None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.answer = answer

    @property
    def is_missing(self) -> bool:
        """Whether the store said that what was asked for is not there."""
        return self.answer is not None and self.answer.is_missing

    def has_code(self, *codes: str) -> bool:
        """Whether the store answered one of *codes*."""
        return self.answer is not None and self.answer.code in codes


class Container:
    """The requests of one opened store.

    Attributes:
        name: The container.
    """

    def __init__(self, connection: Connection, name: str) -> None:
        self.name = name
        self._connection = connection
        self._first_tries = 0
        self._has_answered = False
        self._is_silent = False

    @property
    def endpoint(self) -> str:
        """Where the account answers for blobs."""
        return self._connection.endpoints.blob

    def path(self, name: str) -> StorePath:
        """Container and blob name."""
        return StorePath(f"{self.name}/{name}" if name else self.name)

    def blob(self, path: StorePath) -> str:
        """The blob name of a path, which begins with the container; empty for the container."""
        return path[len(self.name) + 1 :]

    def source(self, path: StorePath) -> str:
        """*path* as a header names what is to be renamed."""
        signature = self._connection.signature
        return f"/{_quoted(path)}" + (f"?{signature}" if signature else "")

    async def request(
        self,
        operation: str,
        path: StorePath,
        headers: Mapping[str, str] | None = None,
        *,
        body: bytes | None = None,
        query: Mapping[str, str] | None = None,
        limit_bytes: int | None = None,
    ) -> Answer:
        """Send one request about *path*, once.

        Args:
            operation: One of `REQUESTS`.
            path: What it is about.
            headers: Besides those of every request.
            body: What is sent; nothing, where a PUT sends none.
            query: Parameters, unescaped.
            limit_bytes: A longer body of the answer is not read; then it has none.

        Raises:
            RequestFailedError: It was not done, or it is not known.
        """
        request = REQUESTS[operation]
        asked = self._asked(operation, path)
        if self._is_silent and not self._has_answered:
            raise RequestFailedError(silent(asked), None)
        parameters = [f"{name}={quote(value, safe='')}" for name, value in (query or {}).items()]
        named = {"account": "", "container": self.name, "blob": path}[request.level]
        data = b"" if body is None and request.method == "PUT" else body
        try:
            answer, sent = await self._connection.send(
                request.method,
                f"{asked.endpoint}/{_quoted(named)}",
                "&".join([*([request.query] if request.query else []), *parameters]),
                headers or {},
                data,
                limit_bytes=limit_bytes,
            )
        except FAILURES as error:
            failure = self._unanswered(asked, error)
        else:
            self._has_answered = True
            if HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
                return answer
            failure = RequestFailedError(refused(asked, answer, sent), answer)
        # Outside, so that the exception of the client, which may hold secrets, is no context of it.
        raise failure

    async def send(
        self,
        operation: str,
        path: StorePath,
        headers: Mapping[str, str] | None = None,
        *,
        body: bytes | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Answer:
        """The same for who treats every failure alike.

        Raises:
            StoreError: It was not done, or it is not known.
        """
        try:
            return await self.request(operation, path, headers, body=body, query=query)
        except RequestFailedError as error:
            failure = error.failure
        raise failure

    def refusal(self, operation: str, path: StorePath, why: str, number: int) -> StoreError:
        """A refusal of our own: nothing was sent, or nothing changed."""
        return made(self._asked(operation, path), why, Reply.REFUSED, number)

    def doubt(self, operation: str, path: StorePath, why: str) -> StoreError:
        """An answer that does not say what was done."""
        return made(self._asked(operation, path), why, Reply.UNKNOWN)

    def _unanswered(self, asked: Asked, error: BaseException) -> RequestFailedError:
        self._first_tries = 0 if self._has_answered else self._first_tries + 1
        # It took the connection, and then said nothing for as long as one waits.
        self._is_silent |= is_timeout(error)
        return RequestFailedError(unanswered(asked, error, first_tries=self._first_tries), None)

    def _asked(self, operation: str, path: StorePath) -> Asked:
        request = REQUESTS[operation]
        endpoints = self._connection.endpoints
        endpoint = endpoints.dfs if request.is_dfs else endpoints.blob
        return Asked(request.verb, path, request.actions, endpoint)


def _quoted(path: str) -> str:
    """A path as it stands in a URL and in a header."""
    return quote(path, safe="/~")
