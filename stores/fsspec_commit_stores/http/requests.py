"""What the requests of one opened store share, whatever they ask and however they are signed."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar
from urllib.parse import urlsplit

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.http.failures import RequestDescription, store_error

A = TypeVar("A")
P = ParamSpec("P")
R = TypeVar("R", bound="Requests")
T = TypeVar("T")


class FailedRequestError(Exception, Generic[A]):
    """A request that was not done as asked.

    Attributes:
        failure: What is to be raised in the end; without a secret, like all it is made of.
        answer: What the store answered, if it did.
    """

    def __init__(self, failure: StoreError, answer: A | None = None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.answer = answer

    def __reduce__(self) -> tuple[type[StoreError], tuple[str]]:
        """Pickle what it says, and not the answer, which may repeat secrets.

        Some libraries, such as Dask, pickle an exception together with its context, suppressed or
        not, and this error is the context where its failure is raised.
        """
        return StoreError, (str(self),)

    @property
    @abstractmethod
    def is_missing(self) -> bool:
        """Whether the store said that what was asked for is not there."""


def raising_store_errors(
    call: Callable[P, Awaitable[T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    """Make *call* raise the failures of its requests as they are to be raised in the end.

    They are raised outside of what caught them, so that no client's exception, which may hold
    secrets, is their context.
    """

    @wraps(call)
    async def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await call(*args, **kwargs)
        except FailedRequestError as error:
            failure = error.failure
        try:
            raise failure
        finally:
            del failure  # It leads back to this frame, and from it to what was sent.

    return run


def while_open(
    call: Callable[Concatenate[R, P], Awaitable[T]],
) -> Callable[Concatenate[R, P], Coroutine[Any, Any, T]]:
    """Have *call*, which sends a request, counted while the request is under way.

    Once the store is closed, *call* raises a ``RuntimeError``: the connections may belong to
    another store by now.
    """

    @wraps(call)
    async def run(requests: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if requests.is_closed:
            raise RuntimeError("the store is closed")
        requests.under_way += 1
        try:
            return await call(requests, *args, **kwargs)
        finally:
            requests.under_way -= 1

    return run


async def unless_missing(request: Awaitable[T]) -> T | None:
    """The answer to *request*; ``None`` when the store says that there is no such thing.

    Raises:
        FailedRequestError: It was not done for another reason, or it is not known whether it was.
    """
    try:
        return await request
    except FailedRequestError as error:
        if not error.is_missing:
            raise
    return None


class Contact:
    """Whether an endpoint has ever answered: until it has, its address may be wrong.

    Attributes:
        has_answered: Whether there has been any answer.
        is_sound: Whether every request was answered, by a server that accepted the credentials.
    """

    def __init__(self) -> None:
        self.has_answered = False
        self.is_sound = True
        self._first_tries = 0
        self._is_silent = False

    @property
    def is_silent(self) -> bool:
        """Whether the endpoint is not to be waited for once more.

        It took a connection, then said nothing until the timeout, and has never answered at all.
        """
        return self._is_silent and not self.has_answered

    def failed(self, *, is_timeout: bool) -> int:
        """Record a request that was not answered; return the first tries so far, or 0."""
        self._is_silent |= is_timeout
        self._first_tries = 0 if self.has_answered else self._first_tries + 1
        return self._first_tries


class Requests(ABC):
    """The requests of one opened store.

    Attributes:
        name: Its bucket or container.
        endpoint: Where they go, without user and path.
        contact: Whether anybody answers there.
        under_way: How many requests are not answered yet.
        is_closed: Whether no more are sent.
    """

    def __init__(self, name: str, endpoint: str) -> None:
        self.name = name
        self.endpoint = endpoint
        self.contact = Contact()
        self.under_way = 0
        self.is_closed = False

    def close(self) -> bool:
        """Send nothing more; say whether another store may go on with the connections."""
        self.is_closed = True
        return self.contact.is_sound and not self.under_way

    def path(self, key: str) -> StorePath:
        """The bucket and *key*."""
        return StorePath(f"{self.name}/{key}")

    def key(self, path: StorePath) -> str:
        """The key of a path, which begins with the bucket; empty for the bucket itself."""
        return path[len(self.name) + 1 :]

    def refusal(self, operation: str, path: StorePath, why: str, number: int) -> StoreError:
        """A refusal of our own: nothing was sent, or nothing changed."""
        return store_error(self.described(operation, path), why, Reply.REFUSED, number)

    def doubt(self, operation: str, path: StorePath, why: str) -> StoreError:
        """The failure of a request whose answer does not say what was done."""
        return self.failure(operation, path, why, Reply.UNKNOWN)

    def failure(
        self,
        operation: str,
        path: StorePath,
        why: str,
        reply: Reply,
        *,
        is_overload: bool = False,
    ) -> StoreError:
        """The failure that an answer reports although its status is not an error."""
        described = self.described(operation, path)
        return store_error(described, why, reply, is_overload=is_overload)

    @abstractmethod
    def described(self, operation: str, path: StorePath) -> RequestDescription:
        """The request *operation* about *path*, for messages."""


def endpoint_of(url: str) -> str:
    """Scheme, host and port of a URL; never a password in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
