"""Requests through a session of aiohttp, the short ones as exchanges (see `exchanges`).

An exchange sends what the session would send, but for the order of the headers, and its outcome is
the same as well. Where that is not certain, the session sends the request itself: where the answer
may be long or the body is, where a header is odd, or where a proxy or a cookie comes in.
"""

import logging
from collections.abc import Collection, Mapping
from functools import lru_cache
from io import BytesIO
from typing import Any, Self

import aiohttp
from yarl import URL

from fsspec_commit_stores.http.answers import FRAMING
from fsspec_commit_stores.http.exchanges import MESSAGE_BYTES_MAX, Exchanges
from fsspec_commit_stores.http.pieces import MemoryBody
from fsspec_commit_stores.http.plain_answers import Received

HEAD = "HEAD"
_BRINGING = frozenset({"POST", "PUT"})
"""Methods that may have a body; aiohttp says its type, even where there is none."""
SHORT = frozenset({"DELETE", HEAD, *_BRINGING})
"""Methods whose answers are short."""

THROUGH_A_PROXY = "they go through a proxy"
"""Why no request is an exchange, where that is so."""

_LENGTH, _TYPE = "Content-Length", "Content-Type"
_TYPE_OF_BODIES = "application/octet-stream"
"""The type that aiohttp gives for bytes, and for no body as well."""
_SHAPES_MAX = 64
_log = logging.getLogger("fsspec_commit")


class WholeAnswer:
    """An answer that has been read: as much of an aiohttp answer as its readers look at.

    Attributes:
        status: Of HTTP.
        headers: As aiohttp has them.
        reason: Left out.
    """

    __slots__ = ("_body", "headers", "reason", "status")

    def __init__(self, received: Received) -> None:
        self.status = received.status
        self.headers = received.headers
        self.reason = ""
        self._body = received.body

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is left to be read."""

    async def read(self) -> bytes:
        """The body of the answer."""
        return self._body

    def close(self) -> None:
        """Nothing is left to be read."""


class _Way:
    """Exchanges with one host, and what is sent in each.

    Attributes:
        exchanges: With that host.
    """

    def __init__(self, exchanges: Exchanges, headers: Mapping[str, str]) -> None:
        """Say *headers* in each request beside aiohttp's own, unless the request says others."""
        self.exchanges = exchanges
        said = (*exchanges.headers.items(), *headers.items())
        self._headers = {name.lower(): f"{name}: {value}\r\n" for name, value in said}
        # A store's requests have a dozen different sets of headers.
        self._others = lru_cache(maxsize=_SHAPES_MAX)(self._beside)

    def message(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes, *, has_type: bool
    ) -> bytes | None:
        """What is sent; ``None`` where only aiohttp may know that."""
        if not _is_plain(headers) or (body and method not in _BRINGING):
            return None
        others, has_length = self._others(method, tuple(headers), has_type)
        length = "" if has_length else f"{_LENGTH}: {len(body)}\r\n"
        own = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        head = f"{method} {target} HTTP/1.1\r\n{own}{others}{length}\r\n"
        message = head.encode() + body
        return message if len(message) <= MESSAGE_BYTES_MAX else None

    def _beside(self, method: str, names: tuple[str, ...], has_type: bool) -> tuple[str, bool]:  # noqa: FBT001  # as `lru_cache` wants it
        """The lines beside those of *names*, and whether a length is said there, or not needed."""
        said = {name.lower() for name in names}
        lines = [line for name, line in self._headers.items() if name not in said]
        said |= self._headers.keys()
        if method in _BRINGING and has_type and _TYPE.lower() not in said:
            lines.append(f"{_TYPE}: {_TYPE_OF_BODIES}\r\n")
        return "".join(lines), method == HEAD or _LENGTH.lower() in said


class Session:
    """A session, and how its requests are sent."""

    def __init__(self, session: aiohttp.ClientSession, *, why_not: str = "") -> None:
        """Send through *session*.

        Args:
            session: It has a connector, headers, a jar and a class of requests that adds nothing to
                a short one; nothing else that the session would do to a request is known here.
            why_not: Why none of its requests may be an exchange, if so.
        """
        self._session = session
        self._ways: dict[str, _Way | None] = {}
        self._is_declined = False
        self._keeps_cookies = not isinstance(session.cookie_jar, aiohttp.DummyCookieJar)
        if why_not:
            self._decline(why_not)

    @property
    def auto_decompress(self) -> bool:
        """Whether what is answered is decompressed, by the session and by an exchange."""
        return self._session.auto_decompress

    @property
    def closed(self) -> bool:
        """Whether nothing is sent any more."""
        return self._session.closed

    async def __aenter__(self) -> Self:
        return self

    async def close(self) -> None:
        """Close the session."""
        await self._session.close()

    async def request(
        self,
        method: str,
        url: str | URL,
        *,
        headers: Mapping[str, str],
        data: Any = None,
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  # aiohttp's own
        skip_auto_headers: Collection[str] = (),
        **how: Any,
    ) -> WholeAnswer | aiohttp.ClientResponse:
        """Send a request, once.

        Args:
            method: Of HTTP.
            url: Encoded, if it is a `URL`.
            headers: Beside those of the session.
            data: What is sent: a `BytesIO`, a `MemoryBody`, or nothing.
            timeout: How long one waits.
            skip_auto_headers: What aiohttp must not say by itself.
            how: All else that the session is told.

        Raises:
            Exception: Whatever the session raises.
        """
        is_odd = any(how.values()) or not {*skip_auto_headers} <= {_TYPE}
        body = _short_body(data)
        if method in SHORT and not is_odd and body is not None:
            where = URL(url)
            received = await self.exchange(
                method,
                f"{where.scheme}://{where.raw_authority}",
                where.raw_path_qs,
                headers=headers,
                body=body,
                patience=timeout,
                has_type=not skip_auto_headers,
            )
            if received is not None:
                return WholeAnswer(received)
        return await self._session.request(
            method,
            url,
            headers=headers,
            data=data,
            timeout=timeout,
            skip_auto_headers=skip_auto_headers,
            **how,
        )

    async def exchange(
        self,
        method: str,
        host: str,
        target: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        patience: aiohttp.ClientTimeout,
        has_type: bool = True,
    ) -> Received | None:
        """Send a short request as an exchange, once.

        Args:
            method: Of HTTP.
            host: Scheme, host and port.
            target: Path and query, as they are sent.
            headers: Beside those of the session.
            body: What is sent.
            patience: How long one waits.
            has_type: Whether a type is said, even where there is no body.

        Returns:
            ``None`` where nothing was sent: only aiohttp may do that.

        Raises:
            Exception: Whatever the session raises.
        """
        is_short = method in SHORT and len(body) <= MESSAGE_BYTES_MAX and patience.total is None
        if not is_short or self._declines():
            return None
        way = self._way(host)
        if way is None:
            return None
        message = way.message(method, target, headers, body, has_type=has_type)
        if message is None:
            return None
        received = await way.exchanges.send(message, patience, is_head=method == HEAD)
        if self._keeps_cookies and received.sets_cookies:
            self._decline("cookies are set")
        return received

    def _declines(self) -> bool:
        """Whether no request is an exchange: for good, as soon as there is a cookie to be sent."""
        if not self._is_declined and self._keeps_cookies and len(self._session.cookie_jar):
            self._decline("cookies are set")
        return self._is_declined

    def _way(self, host: str) -> _Way | None:
        """The way to *host*, if there is a shorter one."""
        if host not in self._ways:
            self._ways[host] = self._found(URL(host))
        return self._ways[host]

    def _found(self, url: URL) -> _Way | None:
        headers = self._session.headers
        exchanges = None
        if url.raw_user is not None:
            self._decline("a URL says who asks")
        elif (
            len(set(headers)) < len(headers)
            or not _is_plain(headers)
            # Where a session says how long each body is, only aiohttp may send one.
            or not FRAMING.isdisjoint(name.lower() for name in headers)
        ):
            self._decline("the session has odd headers")
        else:
            exchanges = Exchanges.of(self._session, url)
            if exchanges is None:
                self._decline("the installed aiohttp is built in another way, or is watched")
        return None if exchanges is None else _Way(exchanges, headers)

    def _decline(self, why: str) -> None:
        """From now on send no exchange."""
        self._is_declined = True
        _log.debug("HTTP: all requests to a store are left to aiohttp: %s", why)


def _short_body(data: Any) -> bytes | None:
    """What is sent; ``None`` if it is long, and so not copied, or cannot be known."""
    if data is None:
        return b""
    if isinstance(data, MemoryBody):
        return bytes(data.content) if len(data.content) <= MESSAGE_BYTES_MAX else None
    is_short = isinstance(data, BytesIO) and data.getbuffer().nbytes <= MESSAGE_BYTES_MAX
    return data.getvalue() if is_short else None


def _is_plain(headers: Mapping[str, str]) -> bool:
    """Whether every client sends *headers* as they stand."""
    text = "".join([*headers, *headers.values()])
    return text.isascii() and text.isprintable()
