"""Small requests on the connections of a session of aiohttp, without what it makes for each.

aiohttp makes a request, a writer, an answer, their headers and their timers for every exchange; for
one of a few hundred bytes that is two thirds of what a client costs. Here a message is written
whole to a connection of the session's own pool, and a plain answer is read whole from what comes
first; aiohttp reads all else. The connections, their limit and the timeouts are the session's, and
a failure raises what the session would raise.

This uses parts of aiohttp that are not public, so whether they are there is checked first.
"""

import asyncio
import inspect
from functools import cache
from typing import Any, Self

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from fsspec_commit_stores.http.plain_answers import Received
from fsspec_commit_stores.http.reading import FirstWords, Waits

MESSAGE_BYTES_MAX = 1 << 16
"""A longer message can fill a transport's write buffer, and then somebody must wait for that."""

_IDLE_MAX = 100
"""How many idle connections are looked at where there may be any number of them."""

_INFORMATIONAL = frozenset(range(100, 200)) - {101}
_PARAMETERS = frozenset({"auto_decompress", "read_timeout", "read_until_eof", "skip_payload"})


class _Host(aiohttp.ClientRequest):
    """Where connections lead, in the form that a connector takes: put together once."""

    connection_key: Any = None


class Exchanges:
    """Exchanges of one message for one answer with one host, any number of them at a time.

    Attributes:
        headers: Those that aiohttp adds to each of its requests by itself.
    """

    def __init__(self, session: aiohttp.ClientSession, connector: Any, host: _Host) -> None:
        self.headers = dict(host.headers)
        self._session = session
        self._connector = connector
        self._host = host
        self._waits = Waits(asyncio.get_running_loop())

    @classmethod
    def of(cls, session: aiohttp.ClientSession, url: URL) -> Self | None:
        """The exchanges with the host of *url* on connections of *session*, through no proxy.

        ``None`` where the installed aiohttp does not have what they take, and where somebody traces
        each request.
        """
        connector = session.connector
        if connector is None or session.trace_configs or not is_known():
            return None
        loop = asyncio.get_running_loop()
        try:
            told = aiohttp.ClientRequest("GET", url.origin(), loop=loop, session=session)
            host = _Host("GET", url.origin(), loop=loop, session=session)
            host.connection_key = told.connection_key
        except (AttributeError, TypeError):
            return None
        return cls(session, connector, host)

    async def send(
        self, message: bytes, patience: aiohttp.ClientTimeout, *, is_head: bool = False
    ) -> Received:
        """Send *message* once, and read the answer.

        Args:
            message: Request line, headers and body; at most `MESSAGE_BYTES_MAX`.
            patience: How long one waits for a connection and for each byte; it has no `total`.
            is_head: Whether the answer has no body.

        Raises:
            aiohttp.ClientError: There was no answer, or not all of it.
            RuntimeError: The session is closed.
        """
        if self._session.closed:
            raise RuntimeError("Session is closed")
        connection = await self._unused(patience)
        transport = connection.transport
        try:
            received = await self._exchanged(
                connection.protocol, transport, message, patience, is_head=is_head
            )
            is_heard = not transport.get_write_buffer_size()
        except BaseException:
            connection.close()
            raise
        if is_heard:
            connection.release()
        else:
            # Answered before all of the message was sent: the next one would pass for the rest.
            connection.close()
        return received

    async def _unused(self, patience: aiohttp.ClientTimeout) -> Any:
        """A connection on which nothing came unasked, such as while it was idle.

        What came would pass for the answer. A restarting proxy may say something on every idle one.
        """
        for _ in range(1 + (self._connector.limit or _IDLE_MAX)):
            connection = await self._connected(patience)
            if not connection.protocol.should_close:
                return connection
            connection.close()
        raise aiohttp.ClientConnectionResetError("Connections speak before they are asked")

    async def _connected(self, patience: aiohttp.ClientTimeout) -> Any:
        try:
            return await self._connector.connect(self._host, [], patience)
        except TimeoutError as error:
            raise aiohttp.ConnectionTimeoutError("Connection timeout") from error
        except aiohttp.ClientError:
            raise
        except OSError as error:
            raise aiohttp.ClientOSError(*error.args) from error

    async def _exchanged(
        self,
        protocol: Any,
        transport: Any,
        message: bytes,
        patience: aiohttp.ClientTimeout,
        *,
        is_head: bool,
    ) -> Received:
        if transport is None or transport.is_closing():
            raise aiohttp.ClientConnectionResetError("Cannot write to closing transport")
        how = {
            "read_until_eof": True,
            "auto_decompress": self._session.auto_decompress,
            "read_timeout": patience.sock_read,
            "skip_payload": is_head,
        }
        reader = FirstWords(protocol, transport, how)
        transport.write(message)
        self._waits.begin(reader, patience.sock_read)
        try:
            received = await reader.answer
        finally:
            self._waits.end(reader)
            reader.leave()
        return received or await self._read(protocol)

    async def _read(self, protocol: Any) -> Received:
        """The answer, read by aiohttp."""
        try:
            told, content = await protocol.read()
            while told.code in _INFORMATIONAL:
                protocol.start_timeout()  # It has stopped its timer, as if this were the answer.
                told, content = await protocol.read()
        except HttpProcessingError as error:
            raise aiohttp.ClientResponseError(
                self._host.request_info, (), status=error.code, message=error.message
            ) from error
        return Received(told.code, told.raw_headers, await content.read())


@cache
def is_known() -> bool:
    """Whether the installed aiohttp has what is asked of it here, by these names."""
    try:
        connect = inspect.signature(aiohttp.BaseConnector.connect).parameters
        parameters = inspect.signature(ResponseHandler.set_response_params).parameters
    except (AttributeError, ValueError):
        return False
    return (
        [*connect] == ["self", "req", "traces", "timeout"]
        and parameters.keys() >= _PARAMETERS
        and all(
            hasattr(ResponseHandler, name) for name in ("read", "should_close", "start_timeout")
        )
    )
