"""Bearer tokens: the credentials that gcsfs found, renewed in time and where one is refused.

gcsfs renews on the event loop, where everything waits for it; here it happens in a thread.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import requests
from google.auth.transport.requests import Request

from fsspec_commit_stores.http.renewal import Renewal

_TIMEOUT_S = 10


class UnusableTokenError(Exception):
    """A token that no header can hold: one read from a file with its line break, for example."""


class Authorization:
    """The headers that authenticate requests.

    Args:
        credentials: Of google-auth; ``None`` for requests without any.
    """

    def __init__(self, credentials: Any) -> None:
        self._credentials = credentials
        self._renewal = Renewal()
        self._refreshing: asyncio.Task[None] | None = None

    async def headers(self) -> dict[str, str]:
        """The headers for one request.

        Raises:
            UnusableTokenError: The token cannot be sent in a header.
            Exception: Of whatever kind the credentials raise: the token has expired, and no other
                can be had.
        """
        if self._credentials is None:
            return {}
        if not self._credentials.valid:
            await self._renewal.run(self._renew_what_is_not_valid)
        return self._applied()

    async def renewed(self, refused: dict[str, str]) -> dict[str, str] | None:
        """The headers to ask again with after *refused* were refused; ``None`` without others.

        Many requests are refused at one moment; the first of them renews for all.

        Raises:
            Exception: As `headers` does.
        """
        if self._credentials is None:
            return None

        async def renew() -> dict[str, str]:
            if self._applied() == refused:
                await self._renew()
            return self._applied()

        headers = await self._renewal.run(renew)
        return None if headers == refused else headers

    def _applied(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        self._credentials.apply(headers)
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise UnusableTokenError
        return headers

    async def _renew_what_is_not_valid(self) -> None:
        if not self._credentials.valid:
            await self._renew()

    async def _renew(self) -> None:
        # In a thread that is waited for to its end, by the next caller where the first gives up:
        # the credentials may be shared, and are not made for a second refresh beside the first.
        if self._refreshing is None or self._refreshing.done():
            in_thread = asyncio.to_thread(_refresh, self._credentials.refresh)
            self._refreshing = asyncio.create_task(in_thread)
            # Else asyncio logs why it failed, secrets and all, where nobody waits for it any more.
            self._refreshing.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.shield(self._refreshing)


def _refresh(refresh: Callable[[Any], None]) -> None:
    with requests.Session() as session:
        # What is sent is a secret: it goes to the host that is asked, and no further.
        session.max_redirects = 0
        refresh(partial(Request(session), timeout=_TIMEOUT_S))
