"""One request at a time to one bucket: sent once, classified.

Sent through the session of gcsfs and with its credentials, but not by it: it would try again six
times, for half a minute, and tell of what it was answered by types that mean something else.
"""

import errno
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from io import BytesIO
from typing import TypeVar
from urllib.parse import quote, urlencode, urlsplit

import aiohttp
import msgspec
from yarl import URL

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store.json_forms import decode_json
from fsspec_commit_stores.gcs.answers import CHECK_THE_WAY, Answer, answer_of, why_not_believed
from fsspec_commit_stores.gcs.authorization import Authorization
from fsspec_commit_stores.gcs.failures import (
    Asked,
    answered,
    is_timeout,
    made,
    not_renewed,
    silent,
    unanswered,
)
from fsspec_commit_stores.gcs.marks import is_marked

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request:
    """A method of the JSON API: what it does to a path, what it needs."""

    verb: str
    permissions: str


_READING = "storage.objects.get (and storage.objects.list, to tell what is missing)"
REQUESTS = {
    "buckets.get": Request("look at the bucket of", "storage.buckets.get"),
    "buckets.getStorageLayout": Request("ask for the layout of", "storage.objects.list"),
    "objects.get": Request("look at", _READING),
    "objects.get media": Request("read", _READING),
    "objects.insert": Request(
        "write", "storage.objects.create (and storage.objects.delete, to replace)"
    ),
    "objects.delete": Request("delete", "storage.objects.delete"),
    "objects.list": Request("list", "storage.objects.list"),
    "objects.move": Request(
        "rename",
        "storage.objects.move (or storage.objects.get and storage.objects.delete), "
        "storage.objects.create, and storage.objects.delete to replace",
    ),
}
"""Every method that is ever called, and what IAM must allow for it.

https://cloud.google.com/storage/docs/access-control/iam-json
"""

_FIRST_ANSWER_TIMEOUT_S = 20.0
_ANSWER_TIMEOUT_S = 60.0
_CONNECTING_TIMEOUT_S = 8.0
_AGENT = "fsspec-commit"


@dataclass(frozen=True, slots=True)
class Given:
    """One request as it is sent.

    Attributes:
        name: Of the method, for messages.
        method: Of HTTP.
        target: Path and query below the endpoint, quoted.
        headers: Beside those that say who asks.
        body: What is sent.
        done: The statuses that are no error.
        limit_bytes: How much of the answer's body is read; an answer that is longer is refused.
    """

    name: str
    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    done: tuple[int, ...] = (HTTPStatus.OK,)
    limit_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """What came back, as far as it was read; names of headers are in lower case.

    A status that is no error says nothing of who has answered: that a mark says, or a body of the
    form that is documented for the request.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_marked(self) -> bool:
        """Whether the service has answered, by its mark."""
        return is_marked(self.headers)


class RequestFailedError(Exception):
    """A request that was not done as asked: the failure, and the answer if there was one."""

    def __init__(self, failure: StoreError, answer: Answer | None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.answer = answer

    @property
    def is_missing(self) -> bool:
        """Whether the store said that the object is not there, and did not mean the bucket."""
        told = self._told(HTTPStatus.NOT_FOUND)
        return told is not None and not told.is_bucket_missing

    @property
    def is_unexpected(self) -> bool:
        """Whether something else stood there than was expected."""
        return self._told(HTTPStatus.PRECONDITION_FAILED) is not None

    @property
    def is_unauthorized(self) -> bool:
        """Whether the store did not believe who asks, and so did nothing."""
        return self._told(HTTPStatus.UNAUTHORIZED) is not None

    @property
    def is_past_the_end(self) -> bool:
        """Whether the store has no bytes of the object where some were asked for."""
        return self._told(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE) is not None

    @property
    def is_somebody_elses_404(self) -> bool:
        """Whether something was said to be missing, not by the store as far as one sees."""
        told = self.answer
        return told is not None and told.status == HTTPStatus.NOT_FOUND and not told.is_from_store

    def _told(self, status: int) -> Answer | None:
        """The answer, if it is the store's own and has *status*."""
        told = self.answer
        return told if told is not None and told.is_from_store and told.status == status else None


class Bucket:
    """The requests of one opened store.

    Attributes:
        name: The bucket.
        endpoint: Where requests go, without user and path, for messages.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        authorization: Authorization,
        name: str,
        *,
        location: str,
        user_project: str | None = None,
        timeout: aiohttp.ClientTimeout | None = None,
    ) -> None:
        """Send through *session*.

        Args:
            session: Of aiohttp.
            authorization: Says who asks.
            name: The bucket.
            location: Where requests go: scheme, host and port.
            user_project: Who pays, where it is not the bucket's owner.
            timeout: The user's own; else as long as one waits for a byte.
        """
        self.name = name
        self._location = location.rstrip("/")
        self.endpoint = endpoint_of(location)
        self._session = session
        self._authorization = authorization
        self._user_project = user_project
        self._timeout = timeout
        self._first_tries = 0
        self._has_answered = False
        self._is_silent = False

    def path(self, key: str) -> StorePath:
        """Bucket and key."""
        return StorePath(f"{self.name}/{key}")

    def key(self, path: StorePath) -> str:
        """The key of a path, which begins with the bucket; empty for the bucket itself."""
        return path[len(self.name) + 1 :]

    def bucket_target(self, below: str = "", **query: object) -> str:
        """Path and query of a request about the bucket, or what is *below* it."""
        return self._target(f"/storage/v1/b/{_quoted(self.name)}{below}", query)

    def object_target(self, path: StorePath, below: str = "", **query: object) -> str:
        """Path and query of a request about the object at *path*, or what is *below* it."""
        return self.bucket_target(f"{self.object_part('', path)}{below}", **query)

    def object_part(self, verb: str, path: StorePath) -> str:
        """The part of a URL's path that names the object at *path*, after *verb*."""
        return f"{verb}/o/{_quoted(self.key(path))}"

    def upload_target(self, path: StorePath, **query: object) -> str:
        """Path and query of a request that brings the object at *path*."""
        below = f"/upload/storage/v1/b/{_quoted(self.name)}/o"
        return self._target(below, {**query, "name": self.key(path)})

    async def request(self, given: Given, path: StorePath) -> Answered:
        """Send one request about *path*, once; once more where the token had to be renewed.

        Raises:
            RequestFailedError: It was not done, or it is not known.
            RuntimeError: The store is closed.
        """
        asked = self._asked(given.name, path)
        if self._is_silent and not self._has_answered:
            raise RequestFailedError(silent(asked), None)
        if self._session.closed:
            raise RuntimeError("the store is closed")
        failed: RequestFailedError
        try:
            who = await self._authorization.headers()
        # Credentials are of many kinds, and the user's own may be one of them; so far nothing is
        # sent to the store, whatever it is that they raise.
        except Exception as error:  # noqa: BLE001
            failure = not_renewed(asked, error, has_answered=self._has_answered)
            failed = RequestFailedError(failure, None)
        else:
            sent = await self._sent(given, asked, who)
            if isinstance(sent, RequestFailedError) and sent.is_unauthorized:
                # Certainly without effect, and not a question of what was asked.
                sent = await self._again(given, asked, who, sent)
            if isinstance(sent, Answered):
                return sent
            failed = sent
        # Outside, so that the exception of the client, which may hold secrets, is no context of it.
        raise failed

    async def send(self, given: Given, path: StorePath) -> Answered:
        """The same for who treats every failure alike.

        Raises:
            StoreError: It was not done, or it is not known.
        """
        try:
            return await self.request(given, path)
        except RequestFailedError as error:
            failure = error.failure
        raise failure

    def decoded(self, answered: Answered, name: str, path: StorePath, form: type[T]) -> T:
        """What an answer carries, in the form that is documented for the request.

        Raises:
            StoreError: It carries something else, so what was done is not known.
        """
        try:
            return decode_json(answered.body, form)
        except (msgspec.MsgspecError, RecursionError):
            pass
        why = f"the answer has not the form of the store's; {CHECK_THE_WAY}"
        raise self.doubt(name, path, why)

    def refusal(self, name: str, path: StorePath, why: str, number: int) -> StoreError:
        """A refusal of our own, before anything was sent."""
        return made(self._asked(name, path), why, Reply.REFUSED, number)

    def doubt(self, name: str, path: StorePath, why: str) -> StoreError:
        """An answer that does not say what was done."""
        return self.failure(name, path, why, Reply.UNKNOWN)

    def failure(self, name: str, path: StorePath, why: str, reply: Reply) -> StoreError:
        """What an answer says that is no error by its status."""
        return made(self._asked(name, path), why, reply)

    async def _again(
        self, given: Given, asked: Asked, who: dict[str, str], refused: RequestFailedError
    ) -> Answered | RequestFailedError:
        """What is answered to another token than that of *who*, which was *refused*."""
        try:
            renewed = await self._authorization.renewed(who)
        except Exception as error:  # noqa: BLE001  # as in `request`
            failure = not_renewed(asked, error, has_answered=False)
            # Who gives out tokens may be back soon; of all else the store's answer says more.
            return RequestFailedError(failure, None) if failure.reply is Reply.NOT_DONE else refused
        return refused if renewed is None else await self._sent(given, asked, renewed)

    async def _sent(
        self, given: Given, asked: Asked, who: Mapping[str, str]
    ) -> Answered | RequestFailedError:
        url = URL(self._location + given.target, encoded=True)
        headers = {
            "User-Agent": _AGENT,
            "Accept-Encoding": "identity",
            **given.headers,
            **who,
        }
        try:
            async with self._session.request(
                given.method,
                url,
                headers=headers,
                # A longer one as a stream: sent in pieces, so that the loop is not held up.
                data=BytesIO(given.body) if given.body else None,
                timeout=self._patience(),
                allow_redirects=False,
                raise_for_status=False,
            ) as response:
                self._has_answered = True
                self._first_tries = 0
                told = {header.lower(): value for header, value in response.headers.items()}
                if response.status not in given.done:
                    answer = answer_of(response.status, told, await response.read())
                    return RequestFailedError(answered(asked, answer), answer)
                if given.limit_bytes is None:
                    return Answered(response.status, told, await response.read())
                body = await _read(response, given.limit_bytes)
        # Of many kinds, also of what is below aiohttp: `unanswered` tells them apart.
        except Exception as error:  # noqa: BLE001
            self._first_tries = 0 if self._has_answered else self._first_tries + 1
            # It took the connection, and then said nothing for as long as one waits.
            self._is_silent |= is_timeout(error)
            failure = unanswered(asked, error, first_tries=self._first_tries)
            return RequestFailedError(failure, None)
        whole = Answered(response.status, told, body or b"")
        if body is None:
            return RequestFailedError(_too_long(asked, whole, given.limit_bytes), None)
        return whole

    def _patience(self) -> aiohttp.ClientTimeout:
        if self._timeout is not None:
            return self._timeout
        read_s = _ANSWER_TIMEOUT_S if self._has_answered else _FIRST_ANSWER_TIMEOUT_S
        return aiohttp.ClientTimeout(
            total=None, sock_connect=_CONNECTING_TIMEOUT_S, sock_read=read_s
        )

    def _asked(self, name: str, path: StorePath) -> Asked:
        request = REQUESTS[name]
        return Asked(request.verb, path, request.permissions, self.endpoint)

    def _target(self, below: str, query: Mapping[str, object]) -> str:
        wanted = {**query, "userProject": self._user_project}
        text = urlencode(
            {name: value for name, value in wanted.items() if value is not None}, quote_via=quote
        )
        return f"{below}?{text}" if text else below


def endpoint_of(location: str) -> str:
    """Scheme, host and port of a URL; never a password in it."""
    parts = urlsplit(location)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


async def _read(response: aiohttp.ClientResponse, limit_bytes: int) -> bytes | None:
    """The body; ``None``, and hardly read, when it is longer than *limit_bytes*."""
    if response.content_length is not None and response.content_length > limit_bytes:
        response.close()
        return None
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > limit_bytes:
            response.close()
            return None
    return bytes(body)


def _too_long(asked: Asked, answered: Answered, limit_bytes: int | None) -> StoreError:
    if not answered.is_marked:
        return made(asked, f"{why_not_believed(answered.status)}; {CHECK_THE_WAY}", Reply.UNKNOWN)
    size = answered.headers.get("content-length", "more")
    why = f"it has {size} bytes, and at most {limit_bytes} are read"
    return made(asked, why, Reply.REFUSED, errno.EFBIG)


def _quoted(text: str) -> str:
    """One segment of a URL's path: a slash in a name is no separator there.

    https://cloud.google.com/storage/docs/request-endpoints#encoding
    """
    return quote(text, safe="")
