"""A line to a NameNode that holds each of its calls back, and counts them by their names.

A NameNode cannot be told to be slow. What passes is Hadoop's own protocol, whose calls and answers
are frames with their length in front, after seven bytes that open a connection; a call begins with
two messages, of which the second names its method, and an answer with one that repeats the number
of the call (`RpcHeader.proto`, `ProtobufRpcEngine2.proto`). Data goes to DataNodes past the line.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter
from typing import TYPE_CHECKING, Self

from tests.servers.http_service.control import Controlled, Statistics
from tests.servers.http_service.load import Load

if TYPE_CHECKING:
    from collections.abc import Callable

_OPENING_BYTES = 7
_LENGTH_BYTES = 4
# Types of fields on the wire: a number, and bytes with their length in front.
_NUMBER, _BYTES = 0, 2
_SKIPPED_BYTES = {1: 8, 5: 4}
_CALL_ID = 1
_METHOD = 1


class SlowLine(Controlled):
    """Listens on 127.0.0.1 for clients of the NameNode at a port, until its block ends."""

    def __init__(self, name_node_port: int, forget: Callable[[], object]) -> None:
        """Begin to listen; *forget* drops what the NameNode holds."""
        self._name_node_port = name_node_port
        self._forget = forget
        self._load = Load()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="slow line", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def set_load(
        self, *, latency_s: float = 0.0, rate_per_s: float | None = None, burst_s: float = 0.0
    ) -> None:
        """From now on hold each call back so long; a NameNode refuses none for its rate."""
        assert rate_per_s is None, "a NameNode does not refuse calls"
        self._load.set(latency_s=latency_s, rate_per_s=None, burst_s=burst_s)

    def statistics(self) -> Statistics:
        """Since the line's start; its CPU time is that of the process that it is in."""
        found = self._load.statistics()
        for name in ("requests", "throttled"):
            found[name] = Counter(found[name])
        return Statistics(**found)

    def forget(self) -> None:
        self._forget()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._accept, sock=self._listener)
        await self._closing.wait()
        server.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        above, below = await asyncio.open_connection("127.0.0.1", self._name_node_port)
        try:
            below.write(await reader.readexactly(_OPENING_BYTES))
            asking = asyncio.ensure_future(self._pass_calls(reader, below))
            answering = asyncio.ensure_future(self._pass_answers(above, writer))
            await asyncio.wait({asking, answering}, return_when=asyncio.FIRST_COMPLETED)
            asking.cancel()
            answering.cancel()
            await asyncio.gather(asking, answering, return_exceptions=True)
        except (asyncio.IncompleteReadError, ConnectionError):
            return  # One side has gone; so does the other.
        except asyncio.CancelledError:
            return  # We are closing; asyncio would report it.
        finally:
            writer.close()
            below.close()

    async def _pass_calls(self, reader: asyncio.StreamReader, below: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        while True:
            length, frame = await _frame(reader)
            method = method_of(frame)
            if method is None:
                below.write(length + frame)  # Of the connection's opening: nobody waits for it.
                continue
            self._load.begin(method)
            loop.call_later(self._load.latency_s, below.write, length + frame)

    async def _pass_answers(
        self, above: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while True:
            length, frame = await _frame(above)
            if is_answer(frame):
                self._load.end()
            writer.write(length + frame)


async def _frame(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    length = await reader.readexactly(_LENGTH_BYTES)
    return length, await reader.readexactly(int.from_bytes(length))


def method_of(frame: bytes) -> str | None:
    """The method that a call names; None: it is a message of the connection's opening."""
    header_bytes, place = _number(frame, 0)
    message_bytes, begin = _number(frame, place + header_bytes)
    named = _fields(frame[begin : begin + message_bytes]).get(_METHOD)
    return named.decode() if isinstance(named, bytes) else None


def is_answer(frame: bytes) -> bool:
    """Whether it is the answer to a call: those to an opening have numbers below zero."""
    header_bytes, place = _number(frame, 0)
    call_id = _fields(frame[place : place + header_bytes]).get(_CALL_ID, 0)
    assert isinstance(call_id, int)
    return call_id < 1 << 31


def _fields(message: bytes) -> dict[int, int | bytes]:
    """The fields of one message of Protocol Buffers by their numbers; of several the last."""
    found: dict[int, int | bytes] = {}
    place = 0
    while place < len(message):
        tag, place = _number(message, place)
        number, kind = tag >> 3, tag & 7
        if kind == _NUMBER:
            found[number], place = _number(message, place)
        elif kind == _BYTES:
            length, place = _number(message, place)
            found[number] = message[place : place + length]
            place += length
        else:
            place += _SKIPPED_BYTES[kind]
    return found


def _number(data: bytes, place: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and where it ends."""
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, place
