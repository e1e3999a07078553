"""Bodies that a server does not take: whoever sends them does not wait for ever."""

from __future__ import annotations

import asyncio
from io import BytesIO
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from fsspec_commit_stores.http import bodies
from tests.unit.stores.deaf import LARGE
from tests.unit.stores.responder import Answer, Responder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ASKING_LEAVE = {"Expect": "100-continue"}
HALF_AN_ANSWER = b"HTTP/1.1 503 Busy\r\nContent-Length: 5\r\n\r\n"


async def put(url: str, body: Any, *, wait_s: float, headers: dict[str, str]) -> int:
    timeout = aiohttp.ClientTimeout(total=None, sock_read=wait_s)
    async with (
        aiohttp.ClientSession(request_class=bodies.WatchedRequest, timeout=timeout) as session,
        session.put(url, data=body, headers=headers) as answer,
    ):
        return answer.status


@pytest.mark.parametrize("headers", [{}, ASKING_LEAVE], ids=["at once", "asking leave"])
def test_who_takes_nothing_is_given_up(
    runner: asyncio.Runner, deaf: str, headers: dict[str, str]
) -> None:
    with pytest.raises(aiohttp.SocketTimeoutError, match="takes nothing"):
        runner.run(put(deaf, BytesIO(LARGE), wait_s=0.05, headers=headers))


def test_who_takes_nothing_and_answers_by_half_is_given_up(runner: asyncio.Runner) -> None:
    writers: list[asyncio.StreamWriter] = []

    async def answer_late(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await asyncio.sleep(0.15)
        writer.write(HALF_AN_ANSWER)
        await writer.wait_closed()

    async def ask() -> None:
        timeout = aiohttp.ClientTimeout(total=3, sock_read=0.1)
        async with await asyncio.start_server(answer_late, "127.0.0.1", 0, limit=1 << 12) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            async with (
                aiohttp.ClientSession(
                    request_class=bodies.WatchedRequest, timeout=timeout
                ) as session,
                session.put(url, data=BytesIO(LARGE)) as answer,
            ):
                assert answer.status == 503
                with pytest.raises(aiohttp.ClientPayloadError):
                    await answer.read()
            # It reads no more, and so does not hear that its caller has gone.
            for writer in writers:
                writer.transport.abort()
                await writer.wait_closed()

    runner.run(ask())


def test_what_goes_slowly_is_waited_for(runner: asyncio.Runner, responder: Responder) -> None:
    """Longer than for an answer, as long as some of it goes."""

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(15):
            await asyncio.sleep(0.02)
            yield b"1"

    responder.answering = lambda _: Answer()
    length = {"Content-Length": "15"}
    assert runner.run(put(responder.url, pieces(), wait_s=0.2, headers=length)) == 200
    assert [one.body for one in responder.received] == [b"1" * 15]


def test_who_gives_no_leave_is_sent_it_all_the_same(
    runner: asyncio.Runner, responder: Responder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither HTTP/1.0 nor every proxy knows of it."""
    monkeypatch.setattr(bodies, "_LEAVE_S", 0.01)
    responder.gives_leave = False
    responder.answering = lambda _: Answer()
    assert runner.run(put(responder.url, b"body", wait_s=5, headers=ASKING_LEAVE)) == 200
    assert [one.body for one in responder.received] == [b"body"]
