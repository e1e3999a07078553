"""The way to one account: the user's credentials, connections of our own, and nothing that repeats.

Requests are made here and not through the clients of the SDKs, which may send one twice without our
seeing it: a retry turns our own success into a conflict. All that is used of the SDK is what signs
a request, and azure-core's handling of a connection.
"""

import hashlib
import time
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate
from functools import cache, lru_cache
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from azure.core.pipeline import AsyncPipeline
from azure.core.pipeline.transport import AioHttpTransport, AioHttpTransportResponse, HttpRequest

from fsspec_commit_stores.azure.answers import Answer, Sent, answer_of
from fsspec_commit_stores.azure.credentials import Credentials
from fsspec_commit_stores.http.bodies import WatchedRequest
from fsspec_commit_stores.http.exchanges import MESSAGE_BYTES_MAX
from fsspec_commit_stores.http.failures import let_go_of_frames
from fsspec_commit_stores.http.pieces import MemoryBody, Pieces
from fsspec_commit_stores.http.sessions import HEAD, SHORT, THROUGH_A_PROXY, Session, WholeAnswer

# The second version that deletes large directories page by page.
_VERSION = "2023-11-03"
# A proxy that compresses an answer changes its etag, and leaves out its length. No signature covers
# this header, so azure-core, which reads each header of a request three times, need not see it.
_UNSIGNED = {"Accept-Encoding": "identity"}
_BODY = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where an account answers, without query and without a slash at the end."""

    blob: str
    dfs: str


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections there are at most, and how long one waits."""

    connections: int
    connection_timeout_s: float
    read_timeout_s: float


class UnansweredError(Exception):
    """A request that was not answered.

    Attributes:
        error: What the client, or the user's credentials, raised. It may hold secrets.
        is_sent: Whether the request may have left: it was signed, and handed to the connection.
    """

    def __init__(self, error: Exception, *, is_sent: bool) -> None:
        super().__init__(type(error).__name__)
        self.error = error
        self.is_sent = is_sent


@dataclass(slots=True, repr=False)
class _Asked:
    """A request before it is signed.

    Attributes:
        method: Of HTTP.
        endpoint: Where to.
        target: Path below it and query, escaped.
        headers: All but what signs it.
        body: What is sent.
        is_sent: Whether it may have left.
    """

    method: str
    endpoint: str
    target: str
    headers: Mapping[str, str]
    body: bytes | Pieces
    is_sent: bool = False


class _Request(HttpRequest):
    """A request that goes through azure-core."""

    def __init__(self, asked: _Asked) -> None:
        super().__init__(asked.method, asked.endpoint + asked.target)
        self.headers.update(asked.headers)
        if asked.body:
            self.data = MemoryBody(asked.body)  # type: ignore[assignment]  # passed on to aiohttp
        self.asked = asked


class _Transport(AioHttpTransport):  # type: ignore[misc]  # imported lazily, and so untyped
    """The transport: comes after what signs a request, and notes that the request leaves now."""

    def send(self, request: Any, **options: Any) -> Any:
        """Send *request*; to be awaited.

        Raises:
            ValueError: The connections are closed; azure-core would open new ones if none was used.
        """
        request.asked.is_sent = True
        if self.session is None:
            raise ValueError("the connections are closed")
        return super().send(request, **options)


class Connection:
    """Sends requests to one account, each once, on the loop it was made on.

    Attributes:
        endpoints: Where to.
        credentials: What signs them.
    """

    def __init__(
        self, client: Any, endpoints: Endpoints, limits: Limits, *, why_not_short: str = ""
    ) -> None:
        """Take over the credentials of *client*, the SDK's client for blobs.

        Args:
            client: That one.
            endpoints: Where to.
            limits: Of connections and of time.
            why_not_short: Why no request may be an exchange, nor be signed here, if so.
        """
        self.endpoints = endpoints
        self.credentials = Credentials(
            client.credential,
            urlsplit(client.primary_endpoint).query,
            signs_here=not why_not_short,
        )
        proxy = _proxy_for(endpoints.blob)
        # aiohttp sends a PUT or a DELETE again when a kept connection turns out to be closed. The
        # first may have been carried out: the second would be refused because of its effect.
        session = aiohttp.ClientSession(
            headers=_UNSIGNED,
            connector=aiohttp.TCPConnector(limit=limits.connections),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=proxy,
            request_class=WatchedRequest,
            auto_decompress=False,
        )
        session._retry_connection = False  # noqa: SLF001  # aiohttp has no public switch
        self._session = Session(
            session, why_not=why_not_short or (THROUGH_A_PROXY if proxy else "")
        )
        self._patience = aiohttp.ClientTimeout(
            sock_connect=limits.connection_timeout_s, sock_read=limits.read_timeout_s
        )
        transport = _Transport(
            session=self._session,
            session_owner=True,
            connection_timeout=limits.connection_timeout_s,
            read_timeout=limits.read_timeout_s,
        )
        self._pipeline = AsyncPipeline(transport, policies=self.credentials.policies)
        self._transport = transport

    async def send(
        self,
        method: str,
        endpoint: str,
        path: str,
        query: str,
        *,
        headers: Mapping[str, str],
        body: bytes | Pieces | None,
        limit_bytes: int | None = None,
    ) -> tuple[Answer, Sent]:
        """Send one request, once.

        Args:
            method: The HTTP method.
            endpoint: One of `endpoints`.
            path: Below it, escaped.
            query: Escaped.
            headers: Besides those that every request has.
            body: What is sent; ``None`` of methods that send nothing.
            limit_bytes: A longer body of the answer is not read.

        Raises:
            UnansweredError: There was no answer, or not all of it.
        """
        queries = "&".join(part for part in (query, self.credentials.query) if part)
        date = _date_at(int(time.time()))
        said = {"x-ms-version": _VERSION, "x-ms-date": date, **headers}
        if body is not None:
            said["Content-Length"] = str(len(body))
        if body:
            said.setdefault("Content-Type", _BODY)
            said.update(_checksum_of(endpoint, body))
        target = f"{path}?{queries}" if queries else path
        asked = _Asked(method, endpoint, target, said, body or b"")
        try:
            answer = None if limit_bytes is not None else await self._exchanged(asked)
            answer = answer or await self._answer(_Request(asked), limit_bytes)
        # Whatever it is, there was no answer; a credential of the user's may raise anything.
        except Exception as error:  # noqa: BLE001
            failure = UnansweredError(error, is_sent=asked.is_sent)
            let_go_of_frames(error)
        else:
            return answer, Sent(date, self.credentials.expires)
        try:
            raise failure
        finally:
            del failure  # It leads back to this frame, and from it to what was sent.

    async def _exchanged(self, asked: _Asked) -> Answer | None:
        """The answer to a short request, without azure-core; ``None`` if it was not sent so."""
        is_short = asked.method in SHORT and len(asked.body) <= MESSAGE_BYTES_MAX
        if not is_short or self._session.closed:
            return None
        host, above = _parts_of(asked.endpoint)
        target = above + asked.target
        signed = self.credentials.signed(asked.method, host, target, asked.headers)
        if signed is None:
            return None
        asked.is_sent = True
        received = await self._session.exchange(
            asked.method,
            host,
            signed.target,
            headers=signed.headers,
            body=bytes(asked.body),
            patience=self._patience,
            has_type=bool(asked.body),
        )
        if received is None:
            asked.is_sent = False
            return None
        body, told = received.body, received.told
        if "content-encoding" in told and asked.method != HEAD:
            # azure-core undoes the encoding.
            whole = AioHttpTransportResponse(_Request(asked), WholeAnswer(received))
            await whole.load_body()
            body = whole.body()
        return answer_of(received.status, told, body)

    async def _answer(self, request: _Request, limit_bytes: int | None) -> Answer:
        streamed = limit_bytes is not None
        response = (await self._pipeline.run(request, stream=streamed)).http_response
        told: dict[str, str] = {name.lower(): value for name, value in response.headers.items()}
        if streamed:
            length = int(told.get("content-length", 0))
            is_content = response.status_code < HTTPStatus.MULTIPLE_CHOICES
            if limit_bytes is not None and is_content and length > limit_bytes:
                response.internal_response.close()
                return Answer(response.status_code, "", told)
            await response.load_body()
        data = b"" if request.method == HEAD else response.body()
        return answer_of(response.status_code, told, data)

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()


@lru_cache(maxsize=1)
def _date_at(second: int) -> str:
    return formatdate(second, usegmt=True)


@cache
def _parts_of(endpoint: str) -> tuple[str, str]:
    """Scheme, host and port of an endpoint; and its path."""
    parts = urlsplit(endpoint)
    return f"{parts.scheme}://{parts.netloc}", parts.path


def _checksum_of(url: str, body: bytes | Pieces) -> dict[str, str]:
    """What the service compares with what has arrived; through https, TLS checks it already."""
    if url.startswith("https:"):
        return {}
    md5 = hashlib.md5(usedforsecurity=False)
    for piece in body if isinstance(body, Pieces) else (body,):
        md5.update(piece)
    return {"Content-MD5": b64encode(md5.digest()).decode()}


def _proxy_for(endpoint: str) -> str | None:
    """The proxy that the environment names for *endpoint*.

    Looked up once. aiohttp would do so for each request, in threads, and read the user's netrc as
    well: that takes half of all the CPU time, and adds credentials of another kind to ours.
    """
    parts = urlsplit(endpoint)
    host = parts.hostname or ""
    return None if proxy_bypass(host) else getproxies().get(parts.scheme)
