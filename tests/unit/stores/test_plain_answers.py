"""What is read here without aiohttp is what aiohttp reads."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import aiohttp
import pytest
from aiohttp.client_proto import ResponseHandler
from hypothesis import given, settings
from hypothesis import strategies as st

from fsspec_commit_stores.http.plain_answers import Received, plain_answer
from fsspec_commit_stores.http.reading import Waits
from tests.unit.stores.test_exchanges import BODY, by_exchange, outcome, serving, session_of

if TYPE_CHECKING:
    from collections.abc import Sequence

STATUSES = ("100", "101", "200", "201", "204", "206", "304", "404", "503", "99", "2000", "2x0")
FIRST = ("HTTP/1.1 {} OK", "HTTP/1.1 {} ", "HTTP/1.1 {}", "HTTP/1.0 {} OK", "http/1.1 {} OK")
LINES = (
    *("Content-Length: {}", "content-length:{}", "Content-Length: {} ", "Content-Length: 0{}"),
    *("Content-Length: +{}", "Content-Length: {}, {}", "Content-Length: "),
    *("Transfer-Encoding: chunked", "transfer-encoding: CHUNKED", "Transfer-Encoding: gzip"),
    *("Connection: close", "Connection: keep-alive", "Connection: Keep-Alive, x", "Upgrade: h2c"),
    *("Content-Encoding: gzip", "Trailer: x", 'ETag: "e"', "X-A:  b \t", "X-A:", "X A: b"),
    *("X: \t ", "X: a \t  b\t c  ", f"X: a{' ' * 6_000}b", "ETag:\t\t", "Content-Length: {} \t 1"),
    *(" folded", "X-B: \x01", "X-\xfc: \xfc", "X-C: \xfc", "Set-Cookie: a=b", "X-D : e", ": f"),
)
BODIES = (
    b"",
    b"ok",
    b"0\r\n\r\n",
    b"2\r\nok\r\n0\r\n\r\n",
    b"2;x=y\r\nok\r\n0\r\n\r\n",
    b"2\r\nok\r\n0\r\nX: y\r\n\r\n",
)
ENDS = ("\r\n", "\n")


def by_aiohttp(data: bytes, *, is_head: bool) -> Received | None:
    """What aiohttp makes of *data*; ``None`` where it would want more, or less, or close."""

    async def read() -> Received | None:
        handler = ResponseHandler(asyncio.get_running_loop())
        handler.set_response_params(read_until_eof=True, auto_decompress=True, skip_payload=is_head)
        handler.data_received(data)
        if handler.exception() is not None or len(handler) != 1:
            return None
        told, content = await handler.read()
        if handler.should_close or not (is_head or content.is_eof()):
            return None
        return Received(told.code, told.raw_headers, await content.read())

    return asyncio.run(read())


@settings(max_examples=300, deadline=None)
@given(
    first=st.sampled_from(FIRST),
    status=st.sampled_from(STATUSES),
    lines=st.lists(st.sampled_from(LINES), max_size=4),
    body=st.sampled_from(BODIES) | st.binary(max_size=9),
    end=st.sampled_from(ENDS) | st.just("\r\n"),
    is_head=st.booleans(),
)
def test_what_is_plain_aiohttp_reads_alike(
    first: str, status: str, lines: Sequence[str], body: bytes, end: str, *, is_head: bool
) -> None:
    length = len(body)
    head = end.join(
        [first.format(status), *(line.format(length, length) for line in lines), "", ""]
    )
    data = head.encode("latin-1") + body
    ours = plain_answer(data, is_head=is_head)
    if ours is not None:
        assert ours == by_aiohttp(data, is_head=is_head)


@pytest.mark.parametrize("cut", range(len(BODY)))
def test_what_comes_in_pieces_is_aiohttps(cut: int) -> None:
    assert plain_answer(BODY[:cut], is_head=False) is None


@pytest.mark.parametrize(
    ("data", "is_head"),
    [
        (BODY, False),
        (BODY[: -len(b"ok")], True),
        (BODY.replace(b"ETag", b"Connection: Keep-Alive\r\nETag"), False),
        (b"HTTP/1.1 204 No\r\n\r\n", False),
        (b"HTTP/1.1 201 \r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding:chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", False),
    ],
)
def test_answers_of_stores_are_plain(data: bytes, *, is_head: bool) -> None:
    ours = plain_answer(data, is_head=is_head)
    assert ours is not None
    assert ours == by_aiohttp(data, is_head=is_head)


def test_many_headers_are_left_to_aiohttp() -> None:
    for lines, is_ours in ((99, True), (101, False)):
        data = BODY.replace(b"ETag", b"X: y\r\n" * (lines - 2) + b"ETag")
        assert (plain_answer(data, is_head=False) is not None) is is_ours


def test_aiohttp_never_sees_what_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    def seen(*_: object) -> None:
        raise AssertionError("aiohttp reads it")

    async def ask() -> list[int]:
        async with serving(BODY) as raw, session_of() as session:
            return [(await by_exchange(session, raw.url)).status for _ in range(3)]

    monkeypatch.setattr(ResponseHandler, "data_received", seen)
    assert asyncio.run(ask()) == [200] * 3


def test_each_waits_as_long_as_it_is_told() -> None:
    """One timer ends all, of whatever order."""

    class Reader:
        until_s = 0.0

        def is_late(self) -> None:
            late.append((self, asyncio.get_running_loop().time()))

    late: list[tuple[object, float]] = []

    async def wait() -> None:
        waits = Waits(asyncio.get_running_loop())
        began_s = asyncio.get_running_loop().time()
        readers = {wait_s: Reader() for wait_s in (0.2, 0.05, 0.1, 0.15)}
        for wait_s, reader in readers.items():
            waits.begin(reader, wait_s)  # type: ignore[arg-type]
        waits.end(readers.pop(0.1))  # type: ignore[arg-type]
        await asyncio.sleep(0.4)
        times = dict(late)
        assert times.keys() == {*readers.values()}
        assert all(times[reader] >= began_s + wait_s for wait_s, reader in readers.items())

    asyncio.run(wait())


def test_an_end_before_any_answer_is_aiohttps() -> None:
    async def ask() -> object:
        async with serving(b"", ends=True) as raw, session_of() as session:
            session._retry_connection = False
            return await outcome(by_exchange(session, raw.url))

    assert asyncio.run(ask()) is aiohttp.ServerDisconnectedError
