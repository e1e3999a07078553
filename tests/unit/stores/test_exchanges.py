"""Exchanges on a session's own connections: what comes of them is what comes of its requests."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from fsspec_commit_stores.http import exchanges
from fsspec_commit_stores.http.exchanges import Exchanges
from fsspec_commit_stores.http.plain_answers import Received
from tests.unit.stores.test_connections import unused_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

BODY = b"HTTP/1.1 200 OK\r\nETag: e\r\nContent-Length: 2\r\n\r\nok"
PATIENCE = aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=0.2)

ANSWERS = {
    "a body": BODY,
    "no body": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "nothing at all": b"HTTP/1.1 204 No\r\n\r\n",
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "hints before it": b"HTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Go on\r\n\r\n" + BODY,
    "compressed": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok",
    "an error": b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy",
    "elsewhere": b"HTTP/1.1 307 No\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    "another protocol": b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
}
ENDS = {
    "to the end": b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end",
    "nothing": b"",
    "half of a head": b"HTTP/1.1 200 O",
    "half of a body": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
    "half of a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf",
    "no HTTP": b"SSH-2.0-OpenSSH\r\n\r\n",
    "an odd head": b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    "a head that is too long": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 10_000 + b"\r\n\r\n",
    "nothing more": b"HTTP/1.1 100 Go on\r\n\r\n",
}


class Raw:
    """A server that answers some bytes, and then ends the connection or not.

    Attributes:
        url: Its own.
        heads: What it has been asked.
        connections: How many there have been.
    """

    def __init__(self, answer: bytes, *, ends: bool) -> None:
        self.url = URL()
        self.heads: list[bytes] = []
        self.connections = 0
        self._answer = answer
        self._ends = ends

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.heads.append(head)
                writer.write(self._answer)
                if self._ends:
                    break
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(answer: bytes, *, ends: bool = False) -> AsyncIterator[Raw]:
    raw = Raw(answer, ends=ends)
    async with await asyncio.start_server(raw.serve, "127.0.0.1", 0) as server:
        raw.url = URL(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/a?b=c%2Fd")
        yield raw


@asynccontextmanager
async def session_of(*, limit: int = 1, **options: Any) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=limit), auto_decompress=False, **options
    ) as session:
        yield session


async def by_session(session: aiohttp.ClientSession, url: URL) -> Received:
    async with session.request(
        "POST", url, timeout=PATIENCE, allow_redirects=False, headers={"Accept-Encoding": "x"}
    ) as answer:
        return Received(answer.status, answer.raw_headers, await answer.read())


async def by_exchange(session: aiohttp.ClientSession, url: URL) -> Received:
    found = Exchanges.of(session, url)
    assert found is not None
    lines = [f"POST {url.raw_path_qs} HTTP/1.1", f"Host: {found.headers['Host']}"]
    message = "\r\n".join([*lines, "Content-Length: 0", "", ""]).encode()
    return await found.send(message, PATIENCE)


async def outcome(call: Any) -> Any:
    try:
        return await call
    except Exception as error:  # noqa: BLE001  # that is what is compared
        return type(error)


@pytest.fixture
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_is_the_same(loop: asyncio.Runner, answer: bytes) -> None:
    async def both() -> tuple[Any, Any]:
        async with serving(answer) as raw, session_of() as session:
            return (
                await outcome(by_exchange(session, raw.url)),
                await outcome(by_session(session, raw.url)),
            )

    ours, theirs = loop.run(both())
    assert ours == theirs
    assert isinstance(ours, Received)


@pytest.mark.parametrize("answer", ENDS.values(), ids=ENDS)
def test_an_end_is_the_same(loop: asyncio.Runner, answer: bytes) -> None:
    async def both() -> tuple[Any, Any]:
        async with serving(answer, ends=True) as raw, session_of() as session:
            session._retry_connection = False
            ours = await outcome(by_exchange(session, raw.url))
            theirs = await outcome(by_session(session, raw.url))
            assert len(raw.heads) == 2
            return ours, theirs

    ours, theirs = loop.run(both())
    assert ours == theirs


def test_nobody_there_is_the_same(loop: asyncio.Runner) -> None:
    async def both() -> tuple[Any, Any]:
        url = URL(f"http://127.0.0.1:{unused_port()}/")
        async with session_of() as session:
            return (
                await outcome(by_exchange(session, url)),
                await outcome(by_session(session, url)),
            )

    ours, theirs = loop.run(both())
    assert ours == theirs == aiohttp.ClientConnectorError


@pytest.mark.parametrize("before", [b"", b"HTTP/1.1 100 Go on\r\n\r\n"], ids=["nobody", "100"])
def test_nobody_answers(loop: asyncio.Runner, before: bytes) -> None:
    """Nor after a word that somebody is there, which is no answer."""

    async def ask() -> Any:
        async with serving(before) as raw, session_of() as session, asyncio.timeout(60):
            return await outcome(by_exchange(session, raw.url))

    assert loop.run(ask()) is aiohttp.SocketTimeoutError


def test_what_comes_unasked_is_no_answer_to_the_next(loop: asyncio.Runner) -> None:
    """Such as a second answer to the one before."""
    late = BODY.replace(b"200 OK", b"404 No")

    async def ask() -> list[Any]:
        async with serving(BODY) as raw, session_of() as session:
            first = await by_exchange(session, raw.url)
            [pooled] = session.connector._conns.values()  # type: ignore[union-attr]
            pooled[0][0].data_received(late)
            return [first.status, (await by_exchange(session, raw.url)).status, raw.connections]

    assert loop.run(ask()) == [200, 200, 2]


def test_nor_is_it_on_any_of_those_that_are_idle(loop: asyncio.Runner) -> None:
    """A proxy that ends its waits may say so on all of them."""
    late = b"HTTP/1.1 408 Late\r\nContent-Length: 0\r\n\r\n"

    async def ask() -> tuple[list[int], int]:
        async with serving(ANSWERS["hints before it"]) as raw, session_of(limit=3) as session:
            calls = [by_exchange(session, raw.url) for _ in range(3)]
            await asyncio.gather(*calls)
            [pooled] = session.connector._conns.values()  # type: ignore[union-attr]
            assert len(pooled) == 3
            for protocol, _ in list(pooled):
                protocol.data_received(late)
            told = [(await by_exchange(session, raw.url)).status for _ in range(2)]
            return told, raw.connections

    assert loop.run(ask()) == ([200, 200], 4)


def test_who_speaks_unasked_on_every_connection_is_asked_nothing(
    loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ResponseHandler, "should_close", True)

    async def ask() -> tuple[Any, list[bytes], int]:
        async with serving(BODY) as raw, session_of(limit=2) as session:
            told = await outcome(by_exchange(session, raw.url))
            assert session.connector is not None
            return told, raw.heads, len(session.connector._acquired)

    assert loop.run(ask()) == (aiohttp.ClientConnectionResetError, [], 0)


def test_they_share_the_sessions_connections(loop: asyncio.Runner) -> None:
    """One after the other, and no more of them than it may have."""

    async def ask() -> Raw:
        async with serving(BODY) as raw, session_of() as session:
            calls = [by_exchange, by_session] * 4
            await asyncio.gather(*(call(session, raw.url) for call in calls))
            return raw

    raw = loop.run(ask())
    assert len(raw.heads) == 8
    assert raw.connections == 1


@pytest.mark.parametrize(
    ("answer", "reused"),
    [
        (BODY, True),
        (ANSWERS["hints before it"], True),
        (ANSWERS["chunks"], True),
        (ANSWERS["another protocol"], False),
        (BODY.replace(b"ETag", b"Connection: close\r\nETag"), False),
    ],
)
def test_a_connection_is_used_again_if_all_of_it_was_read(
    loop: asyncio.Runner, answer: bytes, *, reused: bool
) -> None:
    async def ask() -> Raw:
        async with serving(answer) as raw, session_of() as session:
            for _ in range(2):
                await by_exchange(session, raw.url)
            return raw

    assert loop.run(ask()).connections == (1 if reused else 2)


def test_nor_is_one_on_which_something_is_left_to_send(
    loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next message would pass for the rest of this one."""
    transport = asyncio.selector_events._SelectorSocketTransport  # type: ignore[attr-defined]
    monkeypatch.setattr(transport, "get_write_buffer_size", lambda _: 1)

    async def ask() -> Raw:
        async with serving(BODY) as raw, session_of() as session:
            for _ in range(2):
                await by_exchange(session, raw.url)
            return raw

    assert loop.run(ask()).connections == 2


def test_who_gives_up_leaves_no_connection_behind(loop: asyncio.Runner) -> None:
    """An answer that came later would be that of the next one."""

    async def ask() -> tuple[Raw, int]:
        async with serving(b"") as raw, session_of() as session:
            for _ in range(2):
                asked = asyncio.create_task(by_exchange(session, raw.url))
                await asyncio.sleep(0.05)
                asked.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await asked
            assert session.connector is not None
            return raw, len(session.connector._acquired)

    raw, held = loop.run(ask())
    assert raw.connections == 2
    assert held == 0


def test_a_head_has_no_body(loop: asyncio.Runner) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"

    async def ask() -> tuple[Received, int]:
        async with serving(head) as raw, session_of() as session:
            found = Exchanges.of(session, raw.url)
            assert found is not None
            message = b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"
            await found.send(message, PATIENCE, is_head=True)
            return await found.send(message, PATIENCE, is_head=True), raw.connections

    received, connections = loop.run(ask())
    assert received.body == b""
    assert connections == 1


def test_a_session_that_is_closed_sends_nothing(loop: asyncio.Runner) -> None:
    async def ask() -> tuple[Any, Any, Raw]:
        async with serving(BODY) as raw, session_of() as session:
            found = Exchanges.of(session, raw.url)
            assert found is not None
            await session.close()
            ours = await outcome(found.send(b"GET / HTTP/1.1\r\n\r\n", PATIENCE))
            return ours, await outcome(by_session(session, raw.url)), raw

    ours, theirs, raw = loop.run(ask())
    assert ours is theirs is RuntimeError
    assert raw.heads == []


def without(name: str) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda monkeypatch: monkeypatch.delattr(ResponseHandler, name)


def with_another_connector(monkeypatch: pytest.MonkeyPatch) -> None:
    async def connect(self: object, request: object) -> None: ...

    monkeypatch.setattr(aiohttp.BaseConnector, "connect", connect)


def with_another_request(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(self: object, method: str) -> None: ...

    monkeypatch.setattr(aiohttp.ClientRequest, "__init__", make)


@pytest.mark.parametrize(
    "change",
    [
        without("set_response_params"),
        without("should_close"),
        without("start_timeout"),
        with_another_connector,
        with_another_request,
    ],
    ids=["no parameters", "no end", "no timeouts", "another connector", "another request"],
)
def test_of_an_aiohttp_that_is_built_otherwise_there_are_none(
    loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch, change: Any
) -> None:
    exchanges.is_known.cache_clear()
    change(monkeypatch)

    async def found() -> Exchanges | None:
        async with session_of() as session:
            return Exchanges.of(session, URL("http://127.0.0.1:1/"))

    try:
        assert loop.run(found()) is None
    finally:
        exchanges.is_known.cache_clear()


def test_who_traces_requests_sees_all_of_them(loop: asyncio.Runner) -> None:
    async def found() -> Exchanges | None:
        async with session_of(trace_configs=[aiohttp.TraceConfig()]) as session:
            return Exchanges.of(session, URL("http://127.0.0.1:1/"))

    assert loop.run(found()) is None
