"""One client's connection to the fault proxy: its requests, one after the other."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.servers.faults import (
    AnswerAfterwards,
    AnswerInstead,
    AnswerOfAnother,
    DelayReply,
    Fault,
    LoseReply,
    ResetReply,
    ResetRequest,
    Rule,
    answer_to,
)
from tests.servers.http_messages import Reply, Request, read_head, reply_body, request_body

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD_LIMIT_BYTES = 1 << 20
# How long a server that has answered before the end of a body may go on reading it.
_LATE_BODY_S = 1.0
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# Close by resetting, at once: what is not sent yet is dropped.
_LINGER_NOT = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Exchange:
    """One request and what became of it.

    Attributes:
        operation: the action's name.
        path: decoded, bucket included.
        forwarded: whether all of it was passed on to the server.
        status: what the server answered; None when it did not.
        heard: the status of the answer that the client was given; None when it got no whole one.
        fault: what it met on the way.
    """

    operation: str
    method: str
    path: str
    query: dict[str, str]
    forwarded: bool = False
    status: int | None = None
    heard: int | None = None
    fault: Fault | None = None


class ProxiedConnection:
    """Forwards each request on a connection of its own.

    A kept one could be closed by the server just then: a fault that no test has asked for.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        server: tuple[str, int],
        request_type: type[Request],
        rule_for: Callable[[Request], Rule | None],
        record: Callable[[Exchange], None],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._server = server
        self._request_type = request_type
        self._rule_for = rule_for
        self._record = record
        # Whether the server has told the client to send the body of the request in hand.
        self._continued = False
        # So that `drain` waits until the system has taken everything.
        writer.transport.set_write_buffer_limits(high=0)

    async def serve(self) -> None:
        """Until the client goes, or the connection cannot be used any more."""
        try:
            while (wire := await read_head(self._reader)) is not None:
                if not await self._exchange(self._request_type(wire)):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self._reset()
        except BaseException:
            self._reset()
            raise
        self._writer.close()

    async def _exchange(self, request: Request) -> bool:
        """One request; answers whether the connection is good for another."""
        self._continued = False
        rule = self._rule_for(request) or Rule()
        met = Exchange(
            request.operation, request.method, request.path, request.query, fault=rule.fault
        )
        if rule.before is not None:
            await asyncio.to_thread(rule.before)
        match rule.fault:
            case AnswerInstead() | AnswerOfAnother(is_carried_out=False) as fault:
                return await self._answer_for_it(request, met, fault)
            case ResetRequest(after_bytes):
                await self._break_off(request, met, after_bytes)
                return False
            case _:
                return await self._forward(request, met, rule)

    async def _answer_for_it(
        self, request: Request, met: Exchange, fault: AnswerInstead | AnswerOfAnother
    ) -> bool:
        # Who waits to be told to go on sends no body after a refusal.
        if not request.expects_continue:
            async for _ in request_body(self._reader, request):
                pass
        self._record(replace(met, heard=fault.status))
        close = request.expects_continue
        await self._send(answer_to(request, fault, close=close))
        return not close

    async def _break_off(self, request: Request, met: Exchange, after_bytes: int) -> None:
        if request.has_body:
            _, server = await asyncio.open_connection(*self._server)
            try:
                await self._forward_part(request, server, after_bytes)
            finally:
                server.transport.abort()
        self._record(met)
        self._reset()

    async def _forward_part(
        self, request: Request, server: asyncio.StreamWriter, after_bytes: int
    ) -> None:
        server.write(request.wire)
        if request.expects_continue:
            await self._send(_CONTINUE)
        left = after_bytes
        held = b""
        # The last byte of all is never sent, wherever the client says that it is.
        async for block in request_body(self._reader, request):
            if left <= 0:
                break
            known = held + block
            sent, held = known[: min(left, len(known) - 1)], known[-1:]
            server.write(sent)
            await server.drain()
            left -= len(sent)

    async def _forward(self, request: Request, met: Exchange, rule: Rule) -> bool:
        try:
            from_server, to_server = await asyncio.open_connection(
                *self._server, limit=HEAD_LIMIT_BYTES
            )
        except OSError:
            self._record(met)
            self._reset()
            return False
        try:
            to_server.write(request.wire)
            forwarded, reply = await self._ask(request, from_server, to_server)
            met = replace(met, forwarded=forwarded, status=None if reply is None else reply.status)
            if rule.after is not None:
                await asyncio.to_thread(rule.after)
            if reply is None:
                self._record(met)
                self._reset()
                return False
            kept = await self._answer(request, met, reply, from_server)
            # The rest of a body that was not wanted would be taken for the next request.
            return kept and forwarded
        finally:
            to_server.transport.abort()

    async def _ask(
        self,
        request: Request,
        from_server: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
    ) -> tuple[bool, Reply | None]:
        """Whether all of the body was forwarded, and the head of the server's answer, if any."""
        body = asyncio.create_task(self._forward_body(request, to_server))
        answer = asyncio.create_task(self._final_reply(from_server))
        try:
            await asyncio.wait({body, answer}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() and isinstance(body.exception(), asyncio.IncompleteReadError):
                return False, None  # The client has gone; so must the server's half of a request.
            reply = await answer
            if self._continued or not request.expects_continue:
                await asyncio.wait({body}, timeout=_LATE_BODY_S)
            return body.done() and body.exception() is None, reply
        finally:
            for task in (body, answer):
                task.cancel()
            await asyncio.gather(body, answer, return_exceptions=True)

    async def _forward_body(self, request: Request, to_server: asyncio.StreamWriter) -> None:
        async for block in request_body(self._reader, request):
            to_server.write(block)
            await to_server.drain()

    async def _final_reply(self, from_server: asyncio.StreamReader) -> Reply | None:
        """The answer's head, after those that only tell the client to go on."""
        while (wire := await read_head(from_server)) is not None:
            reply = Reply(wire)
            if not reply.is_interim:
                return reply
            self._continued = True
            await self._send(wire)
        return None

    async def _answer(
        self, request: Request, met: Exchange, reply: Reply, from_server: asyncio.StreamReader
    ) -> bool:
        body = reply_body(from_server, reply, request)
        match met.fault:
            case LoseReply():
                async for _ in body:
                    pass
                self._record(met)
                self._reset()
                return False
            case (AnswerAfterwards() | AnswerOfAnother()) as fault:
                async for _ in body:
                    pass
                self._record(replace(met, heard=fault.status))
                await self._send(answer_to(request, fault, close=False))
                return True
            case ResetReply(after_bytes):
                # All of it first: the server must be done, and the last byte be known.
                content = b"".join([block async for block in body])
                head = reply.wire if content else reply.wire[: len(reply.wire) // 2]
                self._record(met)
                await self._send(head + content[: max(0, min(after_bytes, len(content) - 1))])
                self._reset()
                return False
            case DelayReply(seconds):
                await asyncio.sleep(seconds)
        self._record(replace(met, heard=reply.status))
        await self._send(reply.wire)
        async for block in body:
            await self._send(block)
        return not reply.ends_with_connection(request)

    async def _send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def _reset(self) -> None:
        connection = self._writer.get_extra_info("socket")
        with suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
        self._writer.transport.abort()
