"""The client's way to the network: each request once, to where it was sent, or not at all."""

from typing import Any

import aiohttp
from aiobotocore.httpsession import AIOHTTPSession

from fsspec_commit_stores.http.bodies import WatchedRequest

LEAVE_ASKED_FROM_BYTES = 1 << 20
"""From this length on, leave to send a body is asked for first (``Expect: 100-continue``)."""


class FollowingNothing:
    """A session of aiohttp that follows no redirections, although aiobotocore would let it.

    Attributes:
        session: That session.
    """

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session

    async def request(self, method: str, **how: Any) -> aiohttp.ClientResponse:
        """Send one request."""
        return await self.session.request(method, **{**how, "allow_redirects": False})


class SendingOnce(AIOHTTPSession):  # type: ignore[misc]  # aiobotocore ships no types
    """aiobotocore's way to the network, without a second request that nobody has asked for.

    aiohttp sends a PUT or a DELETE again when a kept connection turns out to be closed. The first
    may have been done: the second would then be refused because of it. And aiohttp sends a request
    again, with its body and the session's token, to wherever a redirection points.
    """

    async def _get_session(self, proxy_url: str | None) -> FollowingNothing:
        session: aiohttp.ClientSession = await super()._get_session(proxy_url)
        session._retry_connection = False  # noqa: SLF001  # aiohttp has no public switch
        session._request_class = WatchedRequest  # noqa: SLF001  # aiobotocore has no way to say it
        return FollowingNothing(session)
