"""What comes first on a connection of aiohttp's: an answer to be read here, or by aiohttp."""

import asyncio
from collections.abc import Mapping
from typing import Any

import aiohttp

from fsspec_commit_stores.http.plain_answers import Received, plain_answer


class FirstWords(asyncio.Protocol):
    """In the place of aiohttp's own protocol until something comes, or the connection ends.

    Attributes:
        answer: What has come, if it is a plain answer; ``None`` where aiohttp's protocol has it.
        until_s: When nobody waits any more, by the clock of the loop.
    """

    until_s = 0.0

    def __init__(self, protocol: Any, transport: Any, how: Mapping[str, Any]) -> None:
        """Listen to *transport*, in the place of *protocol*, which is told *how* to read."""
        self.answer: asyncio.Future[Received | None] = asyncio.get_running_loop().create_future()
        self._protocol = protocol
        self._transport = transport
        self._how = how
        self._listens = True
        transport.set_protocol(self)

    def data_received(self, data: bytes) -> None:
        """Take *data* for the answer, if it is plain."""
        received = None
        if self._listens:
            received = plain_answer(data, is_head=self._how["skip_payload"])
        if received is None:
            self._hand_over()
            self._protocol.data_received(data)
        else:
            self._end(received)

    def eof_received(self) -> bool | None:
        """Tell aiohttp's protocol: there is no answer, or one that aiohttp reads."""
        self._hand_over()
        is_kept: bool | None = self._protocol.eof_received()
        return is_kept

    def connection_lost(self, exc: Exception | None) -> None:
        """As `eof_received`; a transport may call this even after it was given back."""
        self._hand_over()
        self._protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        """Tell aiohttp's protocol; nobody waits for that, as a message is short."""
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        """Tell aiohttp's protocol: the message has gone, or most of it."""
        self._protocol.resume_writing()

    def is_late(self) -> None:
        """Fail, because nothing has come in time."""
        self.leave()
        if not self.answer.done():
            error = aiohttp.SocketTimeoutError("Timeout on reading data from socket")
            self.answer.set_exception(error)

    def leave(self) -> None:
        """Give the connection back to aiohttp's protocol."""
        if self._listens:
            self._listens = False
            self._transport.set_protocol(self._protocol)

    def _hand_over(self) -> None:
        """Let aiohttp's protocol read what comes."""
        if self._listens:
            self._protocol.set_response_params(**self._how)
            self._protocol.start_timeout()
            self._end(None)

    def _end(self, received: Received | None) -> None:
        self.leave()
        if not self.answer.done():
            self.answer.set_result(received)


class Waits:
    """Ends the waits of all exchanges that last too long, by one timer."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: dict[FirstWords, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, reader: FirstWords, wait_s: float | None) -> None:
        """Let *reader* wait for *wait_s*; for ever if that is 0 or ``None``, as in aiohttp."""
        if not wait_s:
            return
        reader.until_s = self._loop.time() + wait_s
        self._waiting[reader] = None
        if self._timer is None or reader.until_s < self._timer.when():
            self._look_at(reader.until_s)

    def end(self, reader: FirstWords) -> None:
        """Forget *reader*, which waits no longer."""
        self._waiting.pop(reader, None)

    def _look_at(self, time_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(time_s, self._look)

    def _look(self) -> None:
        self._timer = None
        now_s = self._loop.time()
        for reader in [one for one in self._waiting if one.until_s <= now_s]:
            self.end(reader)
            reader.is_late()
        if self._waiting:
            self._look_at(min(reader.until_s for reader in self._waiting))
