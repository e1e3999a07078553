"""Requests of a session: what is sent as an exchange is what the session sends, and what is not."""

from __future__ import annotations

import asyncio
import gzip
import logging
from contextlib import asynccontextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from yarl import URL

from fsspec_commit_stores.http.bodies import WatchedRequest
from fsspec_commit_stores.http.exchanges import MESSAGE_BYTES_MAX, Exchanges
from fsspec_commit_stores.http.sessions import Session, WholeAnswer
from tests.unit.stores.responder import Answer, Responder
from tests.unit.stores.test_exchanges import ANSWERS, ENDS, outcome, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

PATIENCE = aiohttp.ClientTimeout(total=None, sock_connect=60, sock_read=60)
SKIPPED = {"skip_auto_headers": ["Content-Type"]}
PLAIN = {"allow_redirects": False}
REQUESTS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "nothing, and no type": SKIPPED,
    "nothing, and its length": {"headers": {"Content-Length": "0"}, **SKIPPED},
    "a body": {"data": BytesIO(b"body")},
    "a body, and its type": {
        "data": BytesIO(b"body"),
        "headers": {"content-type": "text/plain", "Content-Length": "4"},
    },
    "headers of its own": {"headers": {"X-A": " a  b ", "accept-encoding": "br", "Host": "h"}},
    "a user agent": {"headers": {"User-Agent": "me", "Authorization": "Bearer secret"}},
}
SESSIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "with headers": {"headers": {"Accept-Encoding": "identity", "X-Mine": "1"}},
    "with a type": {"headers": {"Content-Type": "application/json"}},
    "that watches bodies": {"request_class": WatchedRequest},
}


@asynccontextmanager
async def session_of(**options: Any) -> AsyncIterator[aiohttp.ClientSession]:
    options.setdefault("connector", aiohttp.TCPConnector(limit=1))
    options.setdefault("auto_decompress", False)
    async with aiohttp.ClientSession(**options) as session:
        session._retry_connection = False
        yield session


async def sent(session: Session, method: str, url: str | URL, **request: Any) -> Any:
    """What a request is answered."""
    told = {"headers": {}, "timeout": PATIENCE, **PLAIN, **request}
    if "data" in told:
        told["data"] = BytesIO(told["data"].getvalue())
    async with await session.request(method, url, **told) as answer:
        body = await answer.read()
        return type(answer), answer.status, answer.headers, body


async def both(
    session: aiohttp.ClientSession, method: str, url: str | URL, **request: Any
) -> tuple[Any, Any]:
    """What comes of a request that is an exchange, and of one that is none."""
    ways = Session(session), Session(session, why_not="a test")
    ours, theirs = [await outcome(sent(way, method, url, **request)) for way in ways]
    return ours, theirs


def run(test: Callable[[], Any]) -> Any:
    return asyncio.run(test())


@pytest.mark.parametrize("session", SESSIONS.values(), ids=SESSIONS)
@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_what_arrives_is_the_same(request_: dict[str, Any], session: dict[str, Any]) -> None:
    async def test() -> None:
        async with Responder() as responder, session_of(**session) as opened:
            for method in ("DELETE", "HEAD", "POST", "PUT"):
                if method in {"DELETE", "HEAD"} and "data" in request_:
                    continue
                responder.received.clear()
                url = f"{responder.url}/a%20b/%7Ec!?d=e%2Ff&g"
                ours, theirs = await both(opened, method, url, **request_)
                assert (ours[0], theirs[0]) == (WholeAnswer, aiohttp.ClientResponse)
                assert ours[1:] == theirs[1:]
                short, whole = responder.received
                assert short == whole

    run(test)


@settings(max_examples=40, deadline=None)
@given(
    path=st.text(st.characters(exclude_categories=["Cs"])),
    value=st.text(st.characters(max_codepoint=300)),
    body=st.binary(max_size=99),
)
def test_so_it_is_of_any_path_header_and_body(path: str, value: str, body: bytes) -> None:
    """A header that aiohttp refuses is refused; an odd one is left to it."""

    async def test() -> None:
        async with Responder() as responder, session_of() as opened:
            url = str(URL(responder.url).with_path(f"/{path}"))
            headers = {"x-ms-a": value}
            ours, theirs = await both(opened, "PUT", url, headers=headers, data=BytesIO(body))
            if isinstance(ours, type):
                assert ours is theirs
            else:
                assert ours[1:] == theirs[1:]
            if responder.received:
                short, whole = responder.received
                assert short == whole

    run(test)


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_is_the_same(answer: bytes) -> None:
    async def test() -> None:
        async with serving(answer) as raw, session_of() as opened:
            ours, theirs = await both(opened, "PUT", raw.url)
            assert ours[1:] == theirs[1:]

    run(test)


@pytest.mark.parametrize("answer", ENDS.values(), ids=ENDS)
def test_an_end_is_the_same(answer: bytes) -> None:
    async def test() -> None:
        async with serving(answer, ends=True) as raw, session_of() as opened:
            ours, theirs = await both(opened, "PUT", raw.url)
            assert (ours if isinstance(ours, type) else ours[1:]) == (
                theirs if isinstance(theirs, type) else theirs[1:]
            )
            assert len(raw.heads) == 2

    run(test)


@pytest.mark.parametrize("auto_decompress", [False, True])
def test_what_a_session_decompresses_is_decompressed(*, auto_decompress: bool) -> None:
    """A proxy may compress although nobody wants that."""
    content = gzip.compress(b'{"generation": "1"}')
    answer = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s"

    async def test() -> None:
        async with (
            serving(answer % (len(content), content)) as raw,
            session_of(auto_decompress=auto_decompress) as opened,
        ):
            ours, theirs = await both(opened, "PUT", raw.url)
            assert ours[1:] == theirs[1:]
            assert (ours[-1] == content) is not auto_decompress

    run(test)


class Copied(BytesIO):
    """A body that is not to be copied."""

    def getvalue(self) -> bytes:
        raise AssertionError("it is long, and goes through the session")


def test_no_long_body_is_copied_in_vain() -> None:
    async def test() -> None:
        async with Responder() as responder, session_of() as opened:
            told: dict[str, Any] = {"headers": {}, "timeout": PATIENCE, **PLAIN}
            body = Copied(bytes(MESSAGE_BYTES_MAX + 1))
            async with await Session(opened).request("PUT", responder.url, data=body, **told):
                assert len(responder.received) == 1

    run(test)


TOTAL = aiohttp.ClientTimeout(total=9)
WHOLE: dict[str, dict[str, Any]] = {
    "a method with a long answer": {"method": "GET"},
    "one that is not frequent": {"method": "PATCH"},
    "a long body": {"data": BytesIO(bytes(MESSAGE_BYTES_MAX))},
    "an odd header": {"headers": {"X-A": "\u00fc"}},
    "a time for all of it": {"timeout": TOTAL},
    "more to skip": {"skip_auto_headers": ["User-Agent"]},
    "more to be done": {"raise_for_status": True},
}


@pytest.mark.parametrize("request_", WHOLE.values(), ids=WHOLE)
def test_what_is_not_certain_to_be_the_same_is_the_sessions(request_: dict[str, Any]) -> None:
    async def test() -> None:
        async with Responder() as responder, session_of() as opened:
            told = {"method": "PUT", **request_}
            answer, *_ = await sent(Session(opened), url=f"{responder.url}/a", **told)
            assert answer is aiohttp.ClientResponse
            assert len(responder.received) == 1

    run(test)


@pytest.mark.parametrize(
    ("session", "where", "why"),
    [
        ({"headers": [("X-A", "1"), ("X-A", "2")]}, "{}/a", "the session has odd headers"),
        ({"headers": {"X-A": "\u00fc"}}, "{}/a", "the session has odd headers"),
        ({"headers": {"Content-Length": "0"}}, "{}/a", "the session has odd headers"),
        ({}, "user@{}/a", "a URL says who asks"),
        ({"trace_configs": [aiohttp.TraceConfig()]}, "{}/a", "built in another way, or is watched"),
    ],
)
def test_some_sessions_send_all_requests_themselves(
    caplog: pytest.LogCaptureFixture, session: dict[str, Any], where: str, why: str
) -> None:
    """And once it is said why."""
    caplog.set_level(logging.DEBUG, "fsspec_commit")

    async def test() -> None:
        async with Responder() as responder, session_of(**session) as opened:
            way = Session(opened)
            url = "http://" + where.format(responder.url.removeprefix("http://"))
            for _ in range(2):
                answer, *_ = await sent(way, "PUT", url)
                assert answer is aiohttp.ClientResponse

    run(test)
    [told] = [one.getMessage() for one in caplog.records if "left to aiohttp" in one.getMessage()]
    assert told.endswith(why)


def test_one_that_keeps_cookies_sends_them_back() -> None:
    async def test(jar: Any, *expected: tuple[type, str | None]) -> None:
        async with Responder() as responder, session_of(cookie_jar=jar) as opened:
            way = Session(opened)
            responder.answering = lambda _: Answer(headers={"Set-Cookie": "a=b; Path=/"})
            url = URL(responder.url.replace("127.0.0.1", "localhost"))
            for kind, cookie in expected:
                answer, *_ = await sent(way, "PUT", url / "a")
                assert answer is kind
                assert responder.received[-1].headers.get("cookie") == cookie

    keeps = (WholeAnswer, None), (aiohttp.ClientResponse, None), (aiohttp.ClientResponse, "a=b")
    asyncio.run(_with(aiohttp.CookieJar, test, *keeps))
    asyncio.run(_with(aiohttp.DummyCookieJar, test, *[(WholeAnswer, None)] * 3))


def test_so_does_one_that_has_a_cookie_from_elsewhere() -> None:
    """Such as from a request that is no exchange."""

    async def test() -> None:
        async with Responder() as responder, session_of(cookie_jar=aiohttp.CookieJar()) as opened:
            way = Session(opened)
            url = URL(responder.url.replace("127.0.0.1", "localhost"))
            responder.answering = lambda _: Answer(headers={"Set-Cookie": "a=b; Path=/"})
            for method in ("GET", "PUT"):
                answer, *_ = await sent(way, method, url / "a")
                assert answer is aiohttp.ClientResponse
            assert responder.received[-1].headers.get("cookie") == "a=b"

    run(test)


async def _with(jar: type, test: Callable[..., Any], *expected: Any) -> None:
    await test(jar(), *expected)


def test_a_closed_one_sends_nothing() -> None:
    async def test() -> None:
        async with Responder() as responder, session_of() as opened:
            way = Session(opened)
            await sent(way, "PUT", responder.url)
            await way.close()
            assert way.closed
            ours, theirs = await both(opened, "PUT", responder.url)
            assert ours is theirs is RuntimeError
            assert len(responder.received) == 1

    run(test)


def test_it_is_sent_once_where_a_kept_connection_is_closed() -> None:
    """What aiohttp itself sends again, if nobody stops it."""

    async def test() -> None:
        async with Responder() as responder, session_of() as opened:
            way = Session(opened)
            await sent(way, "PUT", responder.url)
            responder.answering = lambda _: Answer(status=None)
            assert await outcome(sent(way, "PUT", responder.url)) is (
                aiohttp.ServerDisconnectedError
            )
            assert len(responder.received) == 2

    run(test)


def test_they_are_exchanges(monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[bytes] = []
    send = Exchanges.send

    async def counted(self: Exchanges, message: bytes, *told: Any, **more: Any) -> Any:
        messages.append(message)
        return await send(self, message, *told, **more)

    monkeypatch.setattr(Exchanges, "send", counted)

    async def test() -> None:
        async with Responder() as responder, session_of() as opened:
            for number in range(3):
                await sent(Session(opened), "PUT", f"{responder.url}/{number}")

    run(test)
    assert [message.split()[1] for message in messages] == [b"/0", b"/1", b"/2"]
