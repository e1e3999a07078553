"""Requests through a session of aiohttp, the short ones as exchanges (see there).

What is sent for one is what the session would send, but for the order of the headers, and what
comes of it is the same as well. Where that is not certain the session sends it itself: where the
answer may be long or the body is, where a header is odd, or where a proxy or a cookie comes in.
"""

import logging
from collections.abc import Collection, Mapping
from io import BytesIO
from typing import Any, NamedTuple, Self

import aiohttp
from yarl import URL

from fsspec_commit_stores.http.exchanges import MESSAGE_BYTES_MAX, Exchanges, Received

HEAD = "HEAD"
SHORT = frozenset({HEAD, "POST", "PUT"})
"""Whose answers are short."""

THROUGH_A_PROXY = "they go through a proxy"
"""Why none is an exchange, where that is so."""

_LENGTH, _TYPE = "Content-Length", "Content-Type"
_FRAMING = frozenset({"content-length", "transfer-encoding"})
"""Where a session says how long each body is, only aiohttp may send one."""
_TYPE_OF_BODIES = "application/octet-stream"
"""What aiohttp says of bytes, and of nothing as well."""
_log = logging.getLogger("fsspec_commit")


class WholeAnswer:
    """An answer that has been read: as much of one of aiohttp's as its readers look at.

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
        """What it carries."""
        return self._body

    def close(self) -> None:
        """Nothing is left to be read."""


class _Way(NamedTuple):
    """Exchanges with one host, and what each request says there unless it says something else.

    Attributes:
        exchanges: With that host.
        headers: Whole lines, by the names in lower case.
    """

    exchanges: Exchanges
    headers: Mapping[str, str]


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
        self._ways: dict[tuple[str, str], _Way | None] = {}
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
            data: What is sent: a `BytesIO`, or nothing.
            timeout: How long one waits.
            skip_auto_headers: What aiohttp must not say by itself.
            how: All else that the session is told.

        Raises:
            Exception: Whatever the session raises.
        """
        where = URL(url)
        is_odd = any(how.values()) or not {*skip_auto_headers} <= {_TYPE}
        way = None
        if method in SHORT and timeout.total is None and not is_odd and not self._declines():
            way = self._way(where)
        if way is not None:
            has_type = not skip_auto_headers
            message = _message(method, where, headers, data, way.headers, has_type=has_type)
            if message is not None:
                received = await way.exchanges.send(message, timeout, is_head=method == HEAD)
                return self._told(received)
        return await self._session.request(
            method,
            url,
            headers=headers,
            data=data,
            timeout=timeout,
            skip_auto_headers=skip_auto_headers,
            **how,
        )

    def _declines(self) -> bool:
        """Whether no request is an exchange: for good, as soon as there is a cookie to be sent."""
        if not self._is_declined and self._keeps_cookies and len(self._session.cookie_jar):
            self._decline("cookies are set")
        return self._is_declined

    def _told(self, received: Received) -> WholeAnswer:
        answer = WholeAnswer(received)
        if self._keeps_cookies and "Set-Cookie" in answer.headers:
            self._decline("cookies are set")
        return answer

    def _way(self, url: URL) -> _Way | None:
        """The way to the host of *url*, if there is a shorter one."""
        place = url.scheme, url.raw_authority
        if place not in self._ways:
            self._ways[place] = self._found(url)
        return self._ways[place]

    def _found(self, url: URL) -> _Way | None:
        headers = self._session.headers
        exchanges = None
        if url.raw_user is not None:
            self._decline("a URL says who asks")
        elif (
            len(set(headers)) < len(headers)
            or not all(map(_is_plain, headers.items()))
            or not _FRAMING.isdisjoint(name.lower() for name in headers)
        ):
            self._decline("the session has odd headers")
        else:
            exchanges = Exchanges.of(self._session, url)
            if exchanges is None:
                self._decline("the installed aiohttp is built in another way, or is watched")
        if exchanges is None:
            return None
        said = (*exchanges.headers.items(), *headers.items())
        return _Way(exchanges, {name.lower(): f"{name}: {value}" for name, value in said})

    def _decline(self, why: str) -> None:
        """From now on send no exchange."""
        self._is_declined = True
        _log.debug("HTTP: all requests to a store are left to aiohttp: %s", why)


def _is_plain(header: tuple[str, str]) -> bool:
    """Whether a header is sent as it stands by whoever sends it."""
    line = "".join(header)
    return line.isascii() and line.isprintable()


def _message(
    method: str,
    url: URL,
    headers: Mapping[str, str],
    data: Any,
    others: Mapping[str, str],
    *,
    has_type: bool,
) -> bytes | None:
    """What is sent; ``None`` where only aiohttp may know that."""
    if not (data is None or isinstance(data, BytesIO)):
        return None
    if data is not None and data.getbuffer().nbytes > MESSAGE_BYTES_MAX:
        return None
    body = b"" if data is None else data.getvalue()
    lines = [f"{method} {url.raw_path_qs} HTTP/1.1"]
    said = set()
    for name, value in headers.items():
        if not _is_plain((name, value)):
            return None
        said.add(name.lower())
        lines.append(f"{name}: {value}")
    lines += [line for name, line in others.items() if name not in said]
    said |= others.keys()
    if method != HEAD:
        if _LENGTH.lower() not in said:
            lines.append(f"{_LENGTH}: {len(body)}")
        if has_type and _TYPE.lower() not in said:
            lines.append(f"{_TYPE}: {_TYPE_OF_BODIES}")
    elif body:
        return None
    message = "\r\n".join([*lines, "", ""]).encode() + body
    return message if len(message) <= MESSAGE_BYTES_MAX else None
