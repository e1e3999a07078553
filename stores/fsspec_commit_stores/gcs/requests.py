"""One request at a time to one bucket: sent once, classified.

Sent through the session of gcsfs and with its credentials, but not by gcsfs: it would try again six
times, for half a minute, and report answers by exception types that mean something else.
"""

import errno
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import quote

import aiohttp
import msgspec
from yarl import URL

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store.json_forms import decode_json
from fsspec_commit_stores.gcs.answers import CHECK_THE_WAY, Answer, answer_of, why_not_believed
from fsspec_commit_stores.gcs.credentials import Authorization
from fsspec_commit_stores.gcs.failures import (
    GcsRequest,
    answered,
    is_timeout,
    not_renewed,
    unanswered,
)
from fsspec_commit_stores.gcs.operations import OPERATIONS
from fsspec_commit_stores.gcs.provenance import is_marked
from fsspec_commit_stores.http.exchanges import MESSAGE_BYTES_MAX
from fsspec_commit_stores.http.failures import let_go_of_frames, silent, store_error
from fsspec_commit_stores.http.pieces import MemoryBody, Pieces
from fsspec_commit_stores.http.requests import (
    FailedRequestError,
    Requests,
    endpoint_of,
    raising_store_errors,
    while_open,
)
from fsspec_commit_stores.http.sessions import Session, WholeAnswer

T = TypeVar("T")


_FIRST_ANSWER_TIMEOUT_S = 20.0
_ANSWER_TIMEOUT_S = 60.0
_CONNECTING_TIMEOUT_S = 8.0
_FIRST_PATIENCE, _PATIENCE = (
    aiohttp.ClientTimeout(total=None, sock_connect=_CONNECTING_TIMEOUT_S, sock_read=read_s)
    for read_s in (_FIRST_ANSWER_TIMEOUT_S, _ANSWER_TIMEOUT_S)
)
_AGENT = "fsspec-commit"
_PLAIN = re.compile(r"[A-Za-z0-9._~-]+")
"""What is the same when it is quoted."""


@dataclass(frozen=True, slots=True)
class Given:
    """One request as it is sent.

    Attributes:
        name: Of the method, for messages.
        method: Of HTTP.
        target: Path and query below the endpoint, quoted.
        headers: Besides those that authenticate the request.
        body: What is sent.
        done: The statuses that are not an error.
        limit_bytes: How much of the answer's body is read; an answer that is longer is refused.
    """

    name: str
    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | Pieces = b""
    done: tuple[int, ...] = (HTTPStatus.OK,)
    limit_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """What came back, as far as it was read; names of headers are in lower case.

    A status that is not an error does not tell who has answered: a mark does, or a body of the form
    that is documented for the request.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_marked(self) -> bool:
        """Whether the service has answered, by its mark."""
        return is_marked(self.headers)


class RequestFailedError(FailedRequestError[Answer]):
    """A request to GCS that was not done as asked."""

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
        """Whether the store did not accept the credentials, and so did nothing."""
        return self._told(HTTPStatus.UNAUTHORIZED) is not None

    @property
    def is_past_the_end(self) -> bool:
        """Whether the store has no bytes of the object where some were asked for."""
        return self._told(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE) is not None

    @property
    def is_somebody_elses_404(self) -> bool:
        """Whether the answer is a 404 that is not known to be the store's own."""
        told = self.answer
        return told is not None and told.status == HTTPStatus.NOT_FOUND and not told.is_from_store

    def _told(self, status: int) -> Answer | None:
        """The answer, if it is the store's own and has *status*."""
        told = self.answer
        return told if told is not None and told.is_from_store and told.status == status else None


class Bucket(Requests):
    """The requests of one opened store."""

    def __init__(
        self,
        session: Session,
        authorization: Authorization,
        name: str,
        *,
        location: str,
        user_project: str | None = None,
        timeout: aiohttp.ClientTimeout | None = None,
    ) -> None:
        """Send through *session*.

        Args:
            session: Of aiohttp, and how its requests are sent.
            authorization: Authenticates requests.
            name: The bucket.
            location: Where requests go: scheme, host and port.
            user_project: Who pays, where it is not the bucket's owner.
            timeout: The user's own; otherwise only connecting and each wait for bytes are limited.
        """
        super().__init__(name, endpoint_of(location))
        url = URL(location.rstrip("/"))
        self._host, self._above = f"{url.scheme}://{url.raw_authority}", url.raw_path.rstrip("/")
        self._in_target = _quoted(name)
        self._session = session
        self._authorization = authorization
        self._user_project = user_project
        self._timeout = timeout

    def bucket_target(self, below: str = "", **query: object) -> str:
        """Path and query of a request about the bucket, or what is *below* it."""
        return self._target(f"/storage/v1/b/{self._in_target}{below}", query)

    def object_target(self, path: StorePath, below: str = "", **query: object) -> str:
        """Path and query of a request about the object at *path*, or what is *below* it."""
        return self.bucket_target(f"{self.object_part('', path)}{below}", **query)

    def object_part(self, verb: str, path: StorePath) -> str:
        """The part of a URL's path that names the object at *path*, after *verb*."""
        return f"{verb}/o/{_quoted(self.key(path))}"

    def upload_target(self, path: StorePath, **query: object) -> str:
        """Path and query of a request that uploads the object at *path*."""
        below = f"/upload/storage/v1/b/{self._in_target}/o"
        return self._target(below, {**query, "name": self.key(path)})

    @while_open
    async def request(self, given: Given, path: StorePath) -> Answered:
        """Send one request about *path*, once; once more where the token had to be renewed.

        Raises:
            RequestFailedError: It was not done, or it is not known.
            RuntimeError: The store is closed.
        """
        described = self.described(given.name, path)
        if self.contact.is_silent:
            raise RequestFailedError(silent(described), None)
        failed: RequestFailedError
        try:
            who = await self._authorization.headers()
        # Credentials are of many kinds, and may be objects of the user's own; whatever they raise,
        # nothing has been sent to the store yet.
        except Exception as error:  # noqa: BLE001
            self.contact.is_sound = False
            failure = not_renewed(described, error, has_answered=self.contact.has_answered)
            failed = RequestFailedError(failure, None)
        else:
            sent = await self._sent(given, described, who)
            if isinstance(sent, RequestFailedError) and sent.is_unauthorized:
                # Certainly without effect, and whatever was asked would have been refused.
                sent = await self._again(given, described, who, sent)
            if isinstance(sent, Answered):
                return sent
            failed = sent
            del sent
            answer = failed.answer
            if answer is None or not answer.is_from_store or failed.is_unauthorized:
                self.contact.is_sound = False
        # Outside, so that the client's exception, which may hold secrets, is not its context.
        try:
            raise failed
        finally:
            del failed  # It leads back to this frame, and from it to what was sent.

    @property
    def is_timed(self) -> bool:
        """Whether a whole request must be over in a given time, with its content sent."""
        return self._timeout is not None and self._timeout.total is not None

    send = raising_store_errors(request)
    """Send one request for a caller that treats every failure alike: as a `StoreError`."""

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

    async def _again(
        self, given: Given, described: GcsRequest, who: dict[str, str], refused: RequestFailedError
    ) -> Answered | RequestFailedError:
        """Send again with another token than that of *who*; return *refused* if there is none."""
        try:
            renewed = await self._authorization.renewed(who)
        except Exception as error:  # noqa: BLE001  # as in `request`
            failure = not_renewed(described, error, has_answered=False)
            # A host that issues tokens may be back soon; otherwise the store's answer says more.
            return RequestFailedError(failure, None) if failure.reply is Reply.NOT_DONE else refused
        return refused if renewed is None else await self._sent(given, described, renewed)

    async def _sent(
        self, given: Given, described: GcsRequest, who: Mapping[str, str]
    ) -> Answered | RequestFailedError:
        headers = {
            "User-Agent": _AGENT,
            "Accept-Encoding": "identity",
            **given.headers,
            **who,
        }
        try:
            told, is_whole = await self._told(given, headers)
        # Of many kinds, also of what is below aiohttp: `unanswered` tells them apart.
        except Exception as error:  # noqa: BLE001
            first_tries = self.contact.failed(is_timeout=is_timeout(error))
            failure = unanswered(described, error, first_tries=first_tries)
            let_go_of_frames(error)
            return RequestFailedError(failure, None)
        if told.status not in given.done:
            answer = answer_of(told.status, told.headers, told.body)
            return RequestFailedError(answered(described, answer), answer)
        if not is_whole:
            return RequestFailedError(_too_long(described, told, given.limit_bytes), None)
        return told

    async def _told(self, given: Given, headers: Mapping[str, str]) -> tuple[Answered, bool]:
        """The answer, and whether all of its body was read: not where that is too long.

        Raises:
            Exception: Of many kinds: there was no answer, or not all of it.
        """
        short = None
        if len(given.body) <= MESSAGE_BYTES_MAX:
            short = await self._session.exchange(
                given.method,
                self._host,
                self._above + given.target,
                headers=headers,
                body=bytes(given.body),
                patience=self._patience(),
            )
        if short is not None:
            self.contact.has_answered = True
            return Answered(short.status, short.told, short.body), True
        async with await self._session.request(
            given.method,
            URL(self._host + self._above + given.target, encoded=True),
            headers=headers,
            # A longer body is sent step by step, so that the loop is not held up.
            data=MemoryBody(given.body) if given.body else None,
            timeout=self._patience(),
            allow_redirects=False,
            raise_for_status=False,
        ) as response:
            self.contact.has_answered = True
            told = {header.lower(): value for header, value in response.headers.items()}
            limit_bytes = given.limit_bytes if response.status in given.done else None
            body: bytes | None
            # Only the answer to a GET is long.
            if limit_bytes is None or isinstance(response, WholeAnswer):
                body = await response.read()
            else:
                body = await _read(response, limit_bytes)
        return Answered(response.status, told, body or b""), body is not None

    def _patience(self) -> aiohttp.ClientTimeout:
        if self._timeout is not None:
            return self._timeout
        return _PATIENCE if self.contact.has_answered else _FIRST_PATIENCE

    def described(self, operation: str, path: StorePath) -> GcsRequest:
        """A call of the method *operation* about *path*, for messages."""
        request = OPERATIONS[operation]
        return GcsRequest(request.verb, path, request.permissions, self.endpoint)

    def _target(self, below: str, query: Mapping[str, object]) -> str:
        wanted = {**query, "userProject": self._user_project}
        text = "&".join(
            f"{name}={_escaped(str(value))}" for name, value in wanted.items() if value is not None
        )
        return f"{below}?{text}" if text else below


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


def _too_long(request: GcsRequest, answered: Answered, limit_bytes: int | None) -> StoreError:
    if not answered.is_marked:
        return store_error(
            request, f"{why_not_believed(answered.status)}; {CHECK_THE_WAY}", Reply.UNKNOWN
        )
    size = answered.headers.get("content-length", "more")
    why = f"it has {size} bytes, and at most {limit_bytes} are read"
    return store_error(request, why, Reply.REFUSED, errno.EFBIG)


def _quoted(text: str) -> str:
    """One segment of a URL's path: a slash in a name is no separator there.

    For files in one directory, all but the last part of the name is quoted only once.

    https://cloud.google.com/storage/docs/request-endpoints#encoding
    """
    directory, slash, name = text.rpartition("/")
    return _quoted_directory(directory + slash) + _escaped(name)


def _escaped(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else quote(text, safe="")


@lru_cache(maxsize=1024)
def _quoted_directory(directory: str) -> str:
    return quote(directory, safe="")
