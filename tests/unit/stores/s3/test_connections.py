"""Connections that fail: what was never sent, what may have been done, and nothing sent twice."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from aiobotocore.config import AioConfig
from aiobotocore.credentials import AioRefreshableCredentials
from aiobotocore.session import AioSession
from botocore import handlers
from botocore.exceptions import CredentialRetrievalError

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit_stores.s3 import opening as opening_of_s3
from fsspec_commit_stores.s3.sending import Sending, note_sending
from tests.unit.stores.responder import CLOSED
from tests.unit.stores.s3.answers import error, xml
from tests.unit.stores.s3.verbs import VERBS
from tests.unit.stores.scripted import failure_of
from tests.unit.stores.verbs import PATH, all_of, put

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.stores.s3.scripted import ScriptedS3


NOT_DONE, REFUSED, UNKNOWN = Reply.NOT_DONE, Reply.REFUSED, Reply.UNKNOWN


def test_nobodys_retries_count(s3: ScriptedS3, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two tries the answer to the last was taken for that to both: for "not done"."""
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "9")
    monkeypatch.setenv("AWS_RETRY_MODE", "adaptive")
    for retries in ({}, {"max_attempts": 2}, {"total_max_attempts": 2, "mode": "standard"}):
        store = s3.open(config_kwargs={"retries": retries})
        s3.received.clear()
        s3.script(CLOSED, error(503, "SlowDown"))
        assert s3.failure_of(put(store)).reply is UNKNOWN
        assert len(s3.received) == 1


def test_a_session_of_ours_has_botocores_handlers_in_their_order() -> None:
    """They are copied, as a session of aiobotocore's own would have registered them."""
    first, second, own = opening_of_s3._session({}), opening_of_s3._session({}), AioSession()
    called = [one.get_component("event_emitter")._emitter._handlers for one in (first, second, own)]
    for event in {str(name) for name, *_ in handlers.BUILTIN_HANDLERS}:
        ours, again, theirs = ([*one.prefix_search(event)] for one in called)
        assert ours == again
        assert [one for one in ours if one is not opening_of_s3._not_redirected] == theirs


def test_an_older_aiobotocore_sends_once_as_well(
    s3: ScriptedS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lost our way to the network: it sent a PUT again, and followed redirections."""

    def merge_as_before_3(mine: AioConfig, other: AioConfig) -> AioConfig:
        told = {**mine._user_provided_options, **other._user_provided_options}
        known = told.keys() - {"connector_args", "http_session_cls"}
        return AioConfig(mine.connector_args, **{name: told[name] for name in known})

    monkeypatch.setattr(AioConfig, "merge", merge_as_before_3)
    store = s3.open(config_kwargs={"connector_args": {"keepalive_timeout": 7}})
    s3.script(error(403, "AccessDenied"))
    s3.failure_of(put(store))
    s3.script(CLOSED)
    assert s3.failure_of(put(store)).reply is UNKNOWN
    assert len(s3.received) == 2
    client = store._bucket._call._client
    assert client.meta.config.connector_args == {"keepalive_timeout": 7}


def test_what_others_add_to_botocores_handlers_is_called(
    s3: ScriptedS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tracer, or moto, imported after us: the handlers are not those of the first session."""
    s3.open()
    called: list[str] = []

    def trace(event_name: str, **_: object) -> None:
        called.append(event_name)

    builtin = [*handlers.BUILTIN_HANDLERS, ["before-send.s3", trace]]  # botocore takes lists, too
    monkeypatch.setattr(handlers, "BUILTIN_HANDLERS", builtin)
    store = s3.open()
    s3.always(xml("ListBucketResult"))
    s3.run(all_of(store.list_tree(PATH)))
    assert called.count("before-send.s3.ListObjectsV2") == 1


def test_whoever_gives_out_credentials_is_asked_once_for_all(
    s3: ScriptedS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each request asked for itself, and waited in line: for hours, where that is slow to fail."""
    asked: list[int] = []

    async def renew() -> None:
        asked.append(1)
        await asyncio.sleep(0.02)
        raise CredentialRetrievalError(provider="container-role", error_msg="503")

    in_an_hour = datetime.now(UTC) + timedelta(hours=1)
    credentials = AioRefreshableCredentials("key", "secret", "token", in_an_hour, renew, "fake")

    async def found(session: AioSession) -> AioRefreshableCredentials:
        session._credentials = credentials
        return credentials

    monkeypatch.setattr(AioSession, "get_credentials", found)
    store = s3.open(key=None, secret=None)
    s3.script(error(403, "AccessDenied"))
    s3.failure_of(put(store))
    credentials._expiry_time = datetime.now(UTC)

    async def failed() -> list[StoreError]:
        return await asyncio.gather(*(failure_of(put(store)) for _ in range(8)))

    assert {one.reply for one in s3.run(failed())} == {NOT_DONE}
    assert len(asked) == 1
    assert len(s3.received) == 1


def test_without_credentials_nothing_is_sent(s3: ScriptedS3) -> None:
    store = s3.open(key=None, secret=None)
    caught = s3.failure_of(put(store))
    assert caught.reply is REFUSED
    assert "no credentials were found" in str(caught)
    assert s3.received == []


@pytest.mark.parametrize(
    ("profile", "says"),
    [
        (
            "credential_process = /nonexistent",
            "no credentials could be fetched (FileNotFoundError)",
        ),
        ("credential_process = /bin/echo planted", "region_name and the profile"),
        (
            "credential_process = /bin/echo []",
            "(AttributeError); check the credentials and the pro",
        ),
        (
            "role_arn = arn\nsource_profile = none",
            "(InvalidConfigError); check the credentials and",
        ),
        ("planted", "(ConfigParseError); check the credentials and the profile"),
    ],
    ids=["no program", "no JSON", "no object", "no source", "no setting"],
)
def test_a_profile_that_is_wrong_is_told_as_such(
    s3: ScriptedS3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, profile: str, says: str
) -> None:
    """It left the adapter as it was, or as a broken connection, and was tried eight times."""
    config = tmp_path / "config"
    config.write_text(f"[default]\n{profile}\n", "utf-8")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    with pytest.raises(StoreError) as caught:
        s3.open(key=None, secret=None)
    assert caught.value.reply is REFUSED
    assert says in str(caught.value)
    assert "planted" not in str(caught.value)


ANY_CLASS = (RuntimeError, ValueError, TypeError, KeyError, AttributeError, NotImplementedError)


class Failing:
    """A handler of the client's events that raises."""

    kind: type[Exception] = ValueError

    def __call__(self, **_: Any) -> None:
        raise self.kind("planted-secret")


@pytest.mark.parametrize("verb", VERBS)
def test_what_fails_before_anything_is_sent_was_not_done(s3: ScriptedS3, verb: str) -> None:
    """Whatever the client raises, it leaves no verb as it is: after a decision, it was raw."""
    s3.always(xml("ListBucketResult"))
    s3.run(all_of(s3.store.list_tree(PATH)))
    s3.received.clear()
    failing = Failing()
    s3.store._bucket._call._client.meta.events.register_first("request-created.s3", failing)
    for kind in ANY_CLASS:
        failing.kind = kind
        caught = s3.failure_of(VERBS[verb].call(s3.store))
        assert caught.reply is REFUSED
        assert "planted-secret" not in str(caught)
        assert ("credentials have expired" in str(caught)) is (kind is RuntimeError)
    assert s3.received == []


@pytest.mark.parametrize("verb", VERBS)
def test_what_fails_after_that_is_in_doubt(s3: ScriptedS3, verb: str) -> None:
    s3.always(xml("ListBucketResult"))
    s3.run(all_of(s3.store.list_tree(PATH)))
    failing = Failing()
    s3.store._bucket._call._client.meta.events.register_first("response-received.s3", failing)
    for kind in ANY_CLASS:
        failing.kind = kind
        caught = s3.failure_of(VERBS[verb].call(s3.store))
        assert caught.reply is UNKNOWN
        assert "planted-secret" not in str(caught)


def test_a_session_that_cannot_be_begun_is_no_request_that_was_sent() -> None:
    """The client asks for one itself, in a directory bucket, and each time that one ends."""
    seen = []
    with Sending("PutObject") as sending:
        for operation in ("CreateSession", "PutObject"):
            note_sending(f"before-send.s3.{operation}")
            seen.append(sending.has_left)
    assert seen == [False, True]
    note_sending("before-send.s3.PutObject")  # of nobody's call
