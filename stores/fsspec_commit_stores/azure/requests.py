"""One request at a time about one container: sent once, classified.

An account answers at two endpoints: that for blobs, which every account has, and that of Data Lake
Storage Gen2, which alone renames. A path means the same at both.
"""

from collections.abc import Mapping
from urllib.parse import quote

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.azure.answers import Answer
from fsspec_commit_stores.azure.connections import Connection, UnansweredError
from fsspec_commit_stores.azure.failures import (
    Asked,
    is_timeout,
    made,
    refused,
    silent,
    unanswered,
)
from fsspec_commit_stores.azure.operations import OPERATIONS


class RequestFailedError(Exception):
    """A request that was not done as asked: the failure, and the answer if the store gave one.

    What somebody else has answered in its place is none: nothing follows from it.
    """

    def __init__(self, failure: StoreError, answer: Answer | None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.answer = answer

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
        signature = self._connection.credentials.signature
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
            operation: One of `OPERATIONS`.
            path: What it is about.
            headers: Besides those of every request.
            body: What is sent; nothing, where a PUT sends none.
            query: Parameters, unescaped.
            limit_bytes: A longer body of the answer is not read; then it has none.

        Raises:
            RequestFailedError: It was not done, or it is not known.
        """
        request = OPERATIONS[operation]
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
        except UnansweredError as error:
            failure = self._unanswered(asked, error)
        else:
            self._has_answered = True
            if not answer.is_foreign and request.is_success(answer.status, answer.headers):
                return answer
            told = None if answer.is_foreign else answer
            failure = RequestFailedError(refused(asked, answer, sent), told)
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

    def _unanswered(self, asked: Asked, error: UnansweredError) -> RequestFailedError:
        self._first_tries = 0 if self._has_answered else self._first_tries + 1
        # It took the connection, and then said nothing for as long as one waits.
        self._is_silent |= is_timeout(error)
        return RequestFailedError(unanswered(asked, error, first_tries=self._first_tries), None)

    def _asked(self, operation: str, path: StorePath) -> Asked:
        request = OPERATIONS[operation]
        endpoints = self._connection.endpoints
        endpoint = endpoints.dfs if request.is_dfs else endpoints.blob
        return Asked(request.verb, path, request.actions, endpoint)


def _quoted(path: str) -> str:
    """A path as it stands in a URL and in a header."""
    return quote(path, safe="/~")
