"""Credentials are asked for each request, and renewed by botocore's own objects."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from aiobotocore.credentials import AioRefreshableCredentials
from aiobotocore.session import AioSession
from botocore.exceptions import CredentialRetrievalError

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store import Expect
from tests.unit.stores.s3.answers import error
from tests.unit.stores.s3.templates.outcomes import FREQUENT
from tests.unit.stores.s3.templates.sent import SentByTemplate
from tests.unit.stores.s3.test_credentials import signer_of
from tests.unit.stores.scripted import all_that_shows, failure_of
from tests.unit.stores.verbs import PATH, put

if TYPE_CHECKING:
    from tests.unit.stores.responder import Answer
    from tests.unit.stores.s3.scripted import ScriptedS3


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> SentByTemplate:
    return SentByTemplate(monkeypatch)


@pytest.fixture(autouse=True)
def good(s3: ScriptedS3) -> None:
    s3.answering = lambda _: FREQUENT["put"].success


class Rotating:
    """Credentials that are given out one after the other, as long as there are any."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *given: tuple[str, str, str]) -> None:
        self._given = list(given)
        self.asked = 0
        in_an_hour = datetime.now(UTC) + timedelta(hours=1)
        key, secret, token = self._given.pop(0)
        self.credentials = AioRefreshableCredentials(
            key, secret, token, in_an_hour, self._renew, "fake"
        )

        async def found(session: AioSession) -> AioRefreshableCredentials:
            session._credentials = self.credentials
            return self.credentials

        monkeypatch.setattr(AioSession, "get_credentials", found)

    def expire(self) -> None:
        self.credentials._expiry_time = datetime.now(UTC)

    async def _renew(self) -> dict[str, str]:
        self.asked += 1
        await asyncio.sleep(0.01)
        if not self._given:
            raise CredentialRetrievalError(provider="container-role", error_msg="503")
        key, secret, token = self._given.pop(0)
        ends = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        return {"access_key": key, "secret_key": secret, "token": token, "expiry_time": ends}


def test_they_rotate(s3: ScriptedS3, sent: SentByTemplate, monkeypatch: pytest.MonkeyPatch) -> None:
    rotating = Rotating(monkeypatch, ("AKIAA", "s1", "t1"), ("AKIAB", "s2", "t2"))
    store = s3.open(key=None, secret=None)
    s3.run(put(store))
    rotating.expire()

    async def many() -> None:
        await asyncio.gather(*(put(store) for _ in range(8)))

    s3.run(many())
    signed = [(signer_of(one), one.headers["x-amz-security-token"]) for one in s3.received]
    assert signed == [("AKIAA", "t1")] + [("AKIAB", "t2")] * 8
    assert sent.count == 9
    assert rotating.asked == 1


@pytest.mark.parametrize("is_learnt", [True, False])
def test_they_cannot_be_renewed(
    s3: ScriptedS3,
    sent: SentByTemplate,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_learnt: bool,
) -> None:
    rotating = Rotating(monkeypatch, ("AKIAA", "planted-secret", "planted-token"))
    store = s3.open(key=None, secret=None)
    if is_learnt:
        s3.run(put(store))
    s3.script(error(403, "AccessDenied"))
    s3.failure_of(store.delete(PATH, expecting=Expect.ANYTHING))
    s3.received.clear()
    rotating.expire()

    async def many() -> list[StoreError]:
        return await asyncio.gather(*(failure_of(put(store)) for _ in range(8)))

    for failed in s3.run(many()):
        assert failed.reply is Reply.NOT_DONE
        assert "no credentials could be fetched" in str(failed)
        assert "planted" not in all_that_shows(failed)
    assert s3.received == []
    assert rotating.asked == 1


def test_a_session_takes_over(
    s3: ScriptedS3, sent: SentByTemplate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By then there is a token as well, and back."""
    rotating = Rotating(
        monkeypatch, ("AKIAA", "s1", ""), ("AKIAB", "s2", "t2"), ("AKIAC", "s3", "")
    )
    store = s3.open(key=None, secret=None)
    for _ in range(3):
        s3.run(put(store))
        rotating.expire()
    told = [one.headers.get("x-amz-security-token") for one in s3.received]
    assert told == [None, "t2", None]
    assert sent.count == 3


def test_they_end_while_the_answer_is_on_its_way(
    s3: ScriptedS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that botocore does not come to read says nothing, and is no refusal."""
    rotating = Rotating(monkeypatch, ("AKIAA", "s1", "t1"))
    store = s3.open(key=None, secret=None)
    s3.run(put(store))

    def answer(_: object) -> Answer:
        rotating.expire()
        return error(500, "InternalError")

    s3.answering = answer
    failed = s3.failure_of(put(store))
    assert failed.reply is Reply.UNKNOWN
    assert "UnreadAnswerError" in str(failed)
    assert len(s3.received) == 2
