"""One request at a time about one container: sent once, classified.

An account answers at two endpoints: that for blobs, which every account has, and that of Data Lake
Storage Gen2, which alone renames. A path means the same at both.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import quote

from fsspec_commit.layout import StorePath
from fsspec_commit_stores.azure.answers import Answer
from fsspec_commit_stores.azure.connections import Connection, UnansweredError
from fsspec_commit_stores.azure.failures import AzureRequest, is_timeout, refused, unanswered
from fsspec_commit_stores.azure.operations import OPERATIONS
from fsspec_commit_stores.http.failures import silent
from fsspec_commit_stores.http.pieces import Pieces
from fsspec_commit_stores.http.requests import (
    FailedRequestError,
    Requests,
    raising_store_errors,
    while_open,
)

_PLAIN = re.compile(r"[A-Za-z0-9._~-]+")
"""What is the same when it is quoted."""
TURNS_MAX = 1_000
"""How often a rename or a deletion may go on from one place, each time by thousands of paths.

Whether a continuation says where to go on, or only with what, is documented nowhere, so the same
one may come again.
"""


class RequestFailedError(FailedRequestError[Answer]):
    """A request to Azure that was not done as asked.

    What somebody else has answered in Azure's place is not kept here: nothing follows from it.
    """

    @property
    def is_missing(self) -> bool:
        """Whether the store said that what was asked for is not there."""
        return self.answer is not None and self.answer.is_missing

    @property
    def is_vague(self) -> bool:
        """Whether the store said that something is not there, and not what."""
        return self.answer is not None and self.answer.is_vague

    def has_code(self, *codes: str) -> bool:
        """Whether the store answered one of *codes*."""
        return self.answer is not None and self.answer.code in codes


class Container(Requests):
    """The requests of one opened store."""

    def __init__(self, connection: Connection, name: str) -> None:
        super().__init__(name, connection.endpoints.blob)
        self._connection = connection

    def path(self, key: str) -> StorePath:
        """The container and the name of a blob, or the container itself."""
        return super().path(key) if key else StorePath(self.name)

    def source(self, path: StorePath) -> str:
        """*path* as the header of a rename names its source."""
        signature = self._connection.credentials.signature
        return f"/{_quoted(path)}" + (f"?{signature}" if signature else "")

    @while_open
    async def request(
        self,
        operation: str,
        path: StorePath,
        headers: Mapping[str, str] | None = None,
        *,
        body: bytes | Pieces | None = None,
        query: Mapping[str, str] | None = None,
        limit_bytes: int | None = None,
    ) -> Answer:
        """Send one request about *path*, once.

        Args:
            operation: One of `OPERATIONS`.
            path: What it is about.
            headers: Besides those of every request.
            body: What is sent; a PUT without a body sends an empty one.
            query: Parameters, unescaped.
            limit_bytes: A longer body of the answer is not read; the answer then has none.

        Raises:
            RequestFailedError: It was not done, or it is not known.
            RuntimeError: The store is closed.
        """
        request = OPERATIONS[operation]
        described = self.described(operation, path)
        if self.contact.is_silent:
            raise RequestFailedError(silent(described), None)
        parameters = [f"{name}={quote(value, safe='')}" for name, value in (query or {}).items()]
        named = {"account": "", "container": self.name, "blob": path}[request.level]
        data = b"" if body is None and request.method == "PUT" else body
        try:
            answer, sent = await self._connection.send(
                request.method,
                described.endpoint,
                f"/{_quoted(named)}",
                "&".join([*([request.query] if request.query else []), *parameters]),
                headers=headers or {},
                body=data,
                limit_bytes=limit_bytes,
            )
        except UnansweredError as error:
            failure = self._unanswered(described, error)
        else:
            self.contact.has_answered = True
            if not answer.is_foreign and request.is_success(answer.status, answer.headers):
                return answer
            told = None if answer.is_foreign else answer
            if answer.is_foreign or answer.is_disbelief:
                self.contact.is_sound = False
            failure = RequestFailedError(refused(described, answer, sent), told)
        # Outside, so that the client's exception, which may hold secrets, is not its context.
        try:
            raise failure
        finally:
            del failure  # It leads back to this frame, and from it to what was sent.

    send = raising_store_errors(request)
    """Send one request for a caller that treats every failure alike: as a `StoreError`."""

    def described(self, operation: str, path: StorePath) -> AzureRequest:
        """The request *operation* about *path*, for messages."""
        request = OPERATIONS[operation]
        endpoints = self._connection.endpoints
        endpoint = endpoints.dfs if request.is_dfs else endpoints.blob
        return AzureRequest(request.verb, path, request.permissions, endpoint)

    def _unanswered(self, request: AzureRequest, error: UnansweredError) -> RequestFailedError:
        self.contact.is_sound = False
        first_tries = self.contact.failed(is_timeout=is_timeout(error))
        return RequestFailedError(unanswered(request, error, first_tries=first_tries), None)


def _quoted(path: str) -> str:
    """A path as it stands in a URL and in a header; the directory of many files is quoted once."""
    directory, slash, name = path.rpartition("/")
    last = name if _PLAIN.fullmatch(name) else quote(name, safe="~")
    return _quoted_directory(directory) + slash + last


@lru_cache(maxsize=1024)
def _quoted_directory(directory: str) -> str:
    return quote(directory, safe="/~")
