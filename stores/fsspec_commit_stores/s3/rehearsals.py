"""Calls of the client that end where the network begins: nothing of them is sent.

Letting botocore go that far shows what it sends for some parameters. Letting it go that far and
handing it an answer that came by another way shows what it makes of the answer, with all that its
parsers, its event handlers and its error classes do.

That point is botocore's event ``before-send``: what a handler of it returns, or raises, takes the
place of what the network would.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import aiohttp
from aiobotocore.httpsession import AIOHTTPSession
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from fsspec_commit_stores.http.plain_answers import Received
from fsspec_commit_stores.s3.connections import SendingOnce
from fsspec_commit_stores.s3.operations import OPERATIONS
from fsspec_commit_stores.s3.sending import Sending

_HOW = frozenset({"chunked", "data", "headers", "proxy", "proxy_headers", "url"})

Outcome: TypeAlias = Received | aiohttp.ClientResponse | Exception
"""What a request has come to: an answer, one that is still to be read, or none."""


class UnreadAnswerError(Exception):
    """An answer came that the client never got to read, because it failed before."""


class UncaughtError(Exception):
    """The client did not send where it was to be caught; it may have sent something."""


@dataclass(frozen=True, slots=True, repr=False)
class Caught:
    """A request as aiobotocore hands it to aiohttp; with all its secrets.

    Attributes:
        session: Through which it goes.
        method: Of HTTP.
        url: Encoded.
        headers: As they are sent.
        body: ``None`` where it is not held whole.
        proxy: Through which it goes, if it does.
        proxy_headers: What the proxy is told.
        is_known: Whether that is all that aiohttp was told.
    """

    session: aiohttp.ClientSession
    method: str
    url: str
    headers: CIMultiDict[str]
    body: bytes | None
    proxy: str | None
    proxy_headers: Any
    is_known: bool


class Rehearsals:
    """The rehearsals of one client."""

    def __init__(self, client: Any, connections: SendingOnce) -> None:
        self._client = client
        self._connections = connections

    async def catch(self, method: str, parameters: Mapping[str, Any]) -> Caught:
        """What the client's *method* would send.

        Raises:
            UncaughtError: The client did not send where it was to be caught.
            Exception: The client failed before.
        """
        stage = _Catching(self._connections)
        with _Rehearsal(OPERATIONS[method].name, stage), suppress(_CurtainError):
            await getattr(self._client, method)(**parameters)
        if stage.caught is None:
            raise UncaughtError
        return stage.caught

    async def retell(
        self, method: str, parameters: Mapping[str, Any], outcome: Outcome
    ) -> dict[str, Any]:
        """What the client's *method* makes of the *outcome* of a request that was sent for it.

        Raises:
            UnreadAnswerError: It failed before it read that, as for want of credentials.
            Exception: What it makes of a failure.
        """
        stage = _Retelling(self._connections, outcome)
        with _Rehearsal(OPERATIONS[method].name, stage):
            try:
                answer: dict[str, Any] = await getattr(self._client, method)(**parameters)
            except Exception:
                if stage.is_told:
                    raise
            else:
                return answer
        if isinstance(outcome, aiohttp.ClientResponse):
            outcome.close()
        # Outside: what failed had nothing to do with the request, and must not pass for its end.
        raise UnreadAnswerError


class _CurtainError(BaseException):
    """The end of a call that was caught. Not an `Exception`, so that nobody handles it."""


class _Rehearsal(Sending):
    """One call of the client that is not sent."""

    def __init__(self, operation: str, stage: AIOHTTPSession) -> None:
        super().__init__(operation)
        self._stage = stage

    def instead(self, request: Any) -> Any:
        """What *request* comes to on a stage; to be awaited."""
        return self._stage.send(request)


class _Stage(AIOHTTPSession):  # type: ignore[misc]  # aiobotocore ships no types
    """The client's way to the network, which ends before it, with all that happens on that way.

    Attributes:
        connections: Those of the client.
    """

    def __init__(self, connections: SendingOnce) -> None:
        self.__dict__.update(vars(connections))
        self.connections = connections


class _Catching(_Stage):
    """Catches what is sent, and ends the call."""

    def __init__(self, connections: SendingOnce) -> None:
        super().__init__(connections)
        self.caught: Caught | None = None

    async def _get_session(self, proxy_url: str | None) -> "_Catching":
        self._session = (await self.connections._get_session(proxy_url)).session  # noqa: SLF001
        return self

    async def request(self, method: str, **how: Any) -> Any:
        self.caught = Caught(
            self._session,
            method,
            str(how["url"]),
            how["headers"],
            _whole(how.get("data")),
            how.get("proxy"),
            how.get("proxy_headers"),
            is_known=how.keys() <= _HOW and not how.get("chunked"),
        )
        raise _CurtainError


class _Retelling(_Stage):
    """Hands out the outcome of a request, once: only one request was sent."""

    def __init__(self, connections: SendingOnce, outcome: Outcome) -> None:
        super().__init__(connections)
        self.is_told = False
        self._outcome = outcome

    async def _get_session(self, proxy_url: str | None) -> "_Retelling":  # noqa: ARG002  # none
        return self

    async def request(self, method: str, **how: Any) -> Any:  # noqa: ARG002  # it was made
        if self.is_told:
            raise RuntimeError("the client sends a second request")
        self.is_told = True
        if isinstance(self._outcome, Exception):
            raise self._outcome
        if isinstance(self._outcome, Received):
            return _Answer(self._outcome, how["url"])
        return self._outcome


class _Answer:
    """As much of an aiohttp answer as aiobotocore looks at."""

    def __init__(self, received: Received, url: URL) -> None:
        self.url = url
        self.status = received.status
        self.raw_headers = received.raw_headers
        self._received = received

    @property
    def headers(self) -> CIMultiDictProxy[str]:
        """The headers, which older releases look at."""
        return self._received.headers

    async def read(self) -> bytes:
        return self._received.body


def _whole(data: Any) -> bytes | None:
    """The whole of *data*, if it is available at once."""
    if data is None or isinstance(data, bytes):
        return data or b""
    value = getattr(data, "getvalue", None)
    return None if value is None else bytes(value())
