"""Whatever a short request comes to, it comes to the same as one of aiohttp's, and is sent once."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import RequestError
from fsspec_commit_stores.http.exchanges import Exchanges
from tests.unit.stores.clouds import CLOUDS, every_verb_of
from tests.unit.stores.responder import CLOSED, Answer
from tests.unit.stores.s3.templates.outcomes import outcome_of
from tests.unit.stores.verbs import put

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.unit.stores.responder import Received
    from tests.unit.stores.scripted import Scripted
    from tests.unit.stores.verbs import Verb

SHORT = ("gcs", "gen2", "flat")
OF_A_MOMENT = {"authorization", "x-ms-date"}


@pytest.fixture(params=SHORT)
def short(request: pytest.FixtureRequest) -> Scripted[Any]:
    """Each store that sends them."""
    cloud: Scripted[Any] = request.getfixturevalue(request.param)
    return cloud


@pytest.fixture
def exchanged(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The messages that were sent whole."""
    messages: list[bytes] = []
    send = Exchanges.send

    async def noted(self: Exchanges, message: bytes, *told: Any, **more: Any) -> Any:
        messages.append(message)
        return await send(self, message, *told, **more)

    monkeypatch.setattr(Exchanges, "send", noted)
    return messages


class Twice:
    """Two stores, of which one sends no exchanges, and what becomes of the same in both."""

    def __init__(self, cloud: Scripted[Any]) -> None:
        self._cloud = cloud
        self._stores = [cloud.open(short_requests=one) for one in (True, False)]
        cloud.received.clear()

    def outcomes(self, verb: Callable[[Any], Awaitable[Any]], answer: Answer) -> tuple[str, str]:
        """What each is told, when a first request has been answered."""
        told: list[str] = []
        asked: list[list[Received]] = []
        for store in self._stores:
            self._cloud.always(self._cloud.error(*self._cloud.busy))
            self._cloud.run(outcome_of(put(store)))
            self._cloud.received.clear()
            self._cloud.always(answer)
            told.append(self._cloud.run(outcome_of(verb(store))))
            asked.append(list(self._cloud.received))
        assert [said(one) for one in asked[0]] == [said(one) for one in asked[1]]
        [ours, theirs] = told
        return ours, theirs


def said(request: Received) -> tuple[str, str, dict[str, str], bytes]:
    """All that was sent, but for what says when."""
    _, _, boundary = request.headers.get("content-type", "").partition("boundary=")
    headers = {
        name: "" if name in OF_A_MOMENT else value.removesuffix(boundary)
        for name, value in request.headers.items()
    }
    body = request.body.replace(boundary.encode(), b"") if boundary else request.body
    return request.method, request.target, headers, body


COOKIE = {"Set-Cookie": "a=b"}
ODD = {
    "nothing": Answer(),
    "created": Answer(201),
    "closed": CLOSED,
    "cut short": Answer(200, b"{", announced=99),
    "an error cut short": Answer(503, b"<Err", announced=99),
    "elsewhere": Answer(307, headers={"Location": "http://127.0.0.1:1/planted"}),
    "an etag": Answer(200, headers={"ETag": '"e1"', "Last-Modified": "no date"}),
    "created, with an etag": Answer(201, headers={"ETag": '"e1"', **COOKIE}),
    "compressed": Answer(201, b"no gzip", headers={"Content-Encoding": "gzip", "ETag": "e"}),
    "not a header's letters": Answer(201, headers={"ETag": "\u00fc"}),
    "two etags": Answer(201, headers={"ETag": '"e1"', "etag": '"e2"'}),
    "JSON": Answer(200, b'{"generation": "1", "resource": {"generation": "1"}, "done": true}'),
    "another document": Answer(200, b"<html/>"),
}
_MARKS = {"x-ms-request-id": "0ff1ce00", "x-guploader-uploadid": "up"}


@every_verb_of("short", *SHORT)
def test_an_answer_is_understood_alike(short: Scripted[Any], verb: Verb) -> None:
    twice = Twice(short)
    for name, answer in ODD.items():
        for headers in (answer.headers, {**answer.headers, **_MARKS}):
            shown = Answer(answer.status, answer.body, headers, answer.announced)
            ours, theirs = twice.outcomes(verb.call, shown)
            assert ours == theirs, name


@every_verb_of("short", *SHORT)
def test_each_error_is_classified_alike(short: Scripted[Any], verb: Verb) -> None:
    twice = Twice(short)
    for status, code in short.errors:
        ours, theirs = twice.outcomes(verb.call, short.error(status, code))
        assert ours == theirs, code
    for answer in short.impostors:
        ours, theirs = twice.outcomes(verb.call, answer)
        assert ours == theirs, answer


def test_the_user_can_turn_them_off(
    short: Scripted[Any], exchanged: list[bytes], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "fsspec_commit")
    short.always(short.error(*short.busy))
    short.failure_of(put(short.open(short_requests=False)))
    assert exchanged == []
    told = [one.getMessage() for one in caplog.records if "left to aiohttp" in one.getMessage()]
    why = "short_requests=False"
    assert told == [f"HTTP: all requests to a store are left to aiohttp: {why}"]
    exchanged_before = len(short.received)
    short.failure_of(put(short.open()))
    assert len(short.received) > exchanged_before or exchanged
    assert exchanged


def test_neither_on_nor_off_is_refused(short: Scripted[Any]) -> None:
    with pytest.raises(RequestError, match="short_requests= takes True or False") as caught:
        short.open(short_requests="no")
    assert caught.value.kind == "invalid_option"


def test_all_of_them_are_known() -> None:
    assert set(SHORT) < set(CLOUDS)
