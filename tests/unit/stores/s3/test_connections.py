"""Connections that fail: what was never sent, what may have been done, and nothing sent twice."""

from __future__ import annotations

import asyncio
import socket
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from aiobotocore.credentials import AioRefreshableCredentials
from aiobotocore.session import AioSession
from botocore import handlers
from botocore.exceptions import CredentialRetrievalError

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.s3 import S3Store
from fsspec_commit_stores.s3 import opening as opening_of_s3
from fsspec_commit_stores.s3.sending import Sending, note_sending
from tests.unit.stores.deaf import LARGE
from tests.unit.stores.s3.responder import CLOSED, Answer, Responder, error, xml
from tests.unit.stores.s3.verbs import (
    CHANGES,
    PATH,
    UPLOAD,
    VERBS,
    all_of,
    failure_of,
    uploads,
    versioning_or,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.stores.s3.conftest import Opening

NOT_DONE, REFUSED, UNKNOWN = Reply.NOT_DONE, Reply.REFUSED, Reply.UNKNOWN


def unused_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def test_an_endpoint_that_never_answers_is_given_up(
    runner: asyncio.Runner, responder: Responder, opening: Opening
) -> None:
    """Three tries; one that has answered before is worth more of them."""
    url = f"http://127.0.0.1:{unused_port()}"
    store = opening(endpoint_url=url)
    for reply in (NOT_DONE, NOT_DONE, REFUSED, REFUSED):
        caught = runner.run(failure_of(CHANGES["put"][0](store)))
        assert caught.reply is reply
        assert f"{url} cannot be reached; check endpoint_url=" in str(caught)

    async def restarted() -> list[Reply]:
        answered = await failure_of(CHANGES["put"][0](known))
        await responder.__aexit__()
        return [answered.reply] + [
            (await failure_of(CHANGES["put"][0](known))).reply for _ in range(5)
        ]

    known = opening()
    responder.script(error(503, "SlowDown"))
    first, closed, *rest = runner.run(restarted())
    assert first is NOT_DONE
    assert closed in {NOT_DONE, UNKNOWN}  # the kept connection was closed under it
    assert set(rest) == {NOT_DONE}


@pytest.mark.parametrize("verb", VERBS)
def test_a_connection_that_breaks_leaves_in_doubt_and_is_not_used_again(
    runner: asyncio.Runner, responder: Responder, store: S3Store, verb: str
) -> None:
    """Neither botocore, nor s3fs, nor aiohttp sends it again: also not on a kept connection."""
    responder.answering = versioning_or(xml("ListBucketResult"))
    runner.run(all_of(store.list_tree(PATH)))
    before = len(responder.received)
    responder.script(CLOSED)
    caught = runner.run(failure_of(VERBS[verb][0](store)))
    assert caught.reply is UNKNOWN
    assert "failed before the answer" in str(caught)
    assert len(responder.received) == before + 1


def test_nobodys_retries_count(
    runner: asyncio.Runner,
    responder: Responder,
    opening: Opening,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of two tries the answer to the last was taken for that to both: for "not done"."""
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "9")
    monkeypatch.setenv("AWS_RETRY_MODE", "adaptive")
    for retries in ({}, {"max_attempts": 2}, {"total_max_attempts": 2, "mode": "standard"}):
        store = opening(config_kwargs={"retries": retries})
        responder.received.clear()
        responder.script(CLOSED, error(503, "SlowDown"))
        assert runner.run(failure_of(CHANGES["put"][0](store))).reply is UNKNOWN
        assert len(responder.received) == 1


def test_a_session_of_ours_has_botocores_handlers_in_their_order() -> None:
    """They are copied, as a session of aiobotocore's own would have registered them."""
    first, second, own = opening_of_s3._session({}), opening_of_s3._session({}), AioSession()
    called = [one.get_component("event_emitter")._emitter._handlers for one in (first, second, own)]
    for event in {str(name) for name, *_ in handlers.BUILTIN_HANDLERS}:
        ours, again, theirs = ([*one.prefix_search(event)] for one in called)
        assert ours == again
        assert [one for one in ours if one is not opening_of_s3._not_redirected] == theirs


def test_what_others_add_to_botocores_handlers_is_called(
    runner: asyncio.Runner,
    responder: Responder,
    opening: Opening,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tracer, or moto, imported after us: the handlers are not those of the first session."""
    opening()
    called: list[str] = []

    def trace(event_name: str, **_: object) -> None:
        called.append(event_name)

    builtin = [*handlers.BUILTIN_HANDLERS, ["before-send.s3", trace]]  # botocore takes lists, too
    monkeypatch.setattr(handlers, "BUILTIN_HANDLERS", builtin)
    store = opening()
    responder.answering = versioning_or(xml("ListBucketResult"))
    runner.run(all_of(store.list_tree(PATH)))
    assert called.count("before-send.s3.ListObjectsV2") == 1


def test_whoever_gives_out_credentials_is_asked_once_for_all(
    runner: asyncio.Runner,
    responder: Responder,
    opening: Opening,
    monkeypatch: pytest.MonkeyPatch,
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
    store = opening(key=None, secret=None)
    responder.script(error(403, "AccessDenied"))
    runner.run(failure_of(CHANGES["put"][0](store)))
    credentials._expiry_time = datetime.now(UTC)

    async def failed() -> list[StoreError]:
        return await asyncio.gather(*(failure_of(CHANGES["put"][0](store)) for _ in range(8)))

    assert {one.reply for one in runner.run(failed())} == {NOT_DONE}
    assert len(asked) == 1
    assert len(responder.received) == 1


def test_a_store_that_is_silent_is_not_waited_for_for_ever(
    runner: asyncio.Runner, opening: Opening
) -> None:
    async def silent() -> StoreError:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        options = {
            "key": "k",
            "secret": "s",
            "endpoint_url": url,
            "config_kwargs": {"read_timeout": 0.1},
        }
        store = await S3Store.open("s3://bucket/out", OpenOptions(storage_options=options))
        try:
            first = await failure_of(CHANGES["put"][0](store))
            # Nothing is sent any more, so nothing is waited for.
            assert (await failure_of(CHANGES["put"][0](store))).reply is REFUSED
            return first
        finally:
            await store.close()
            server.close()
            await server.wait_closed()

    caught = runner.run(silent())
    assert caught.reply is UNKNOWN
    assert "did not answer in time" in str(caught)


def test_who_takes_nothing_of_a_part_is_not_waited_for_for_ever(
    runner: asyncio.Runner, deaf: str, opening: Opening
) -> None:
    store = opening(endpoint_url=deaf, config_kwargs={"read_timeout": 0.1})
    caught = runner.run(failure_of(uploads(store).put_part(UPLOAD, 1, LARGE)))
    assert caught.reply is UNKNOWN
    assert "did not answer in time" in str(caught)


def test_without_credentials_nothing_is_sent(
    runner: asyncio.Runner, responder: Responder, opening: Opening
) -> None:
    store = opening(key=None, secret=None)
    caught = runner.run(failure_of(CHANGES["put"][0](store)))
    assert caught.reply is REFUSED
    assert "no credentials were found" in str(caught)
    assert responder.received == []


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
    opening: Opening, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, profile: str, says: str
) -> None:
    """It left the adapter as it was, or as a broken connection, and was tried eight times."""
    config = tmp_path / "config"
    config.write_text(f"[default]\n{profile}\n", "utf-8")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    with pytest.raises(StoreError) as caught:
        opening(key=None, secret=None)
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
def test_what_fails_before_anything_is_sent_was_not_done(
    runner: asyncio.Runner, responder: Responder, store: S3Store, verb: str
) -> None:
    """Whatever the client raises, it leaves no verb as it is: after a decision, it was raw."""
    responder.answering = versioning_or(xml("ListBucketResult"))
    runner.run(all_of(store.list_tree(PATH)))
    responder.received.clear()
    failing = Failing()
    store._bucket._client.meta.events.register_first("request-created.s3", failing)
    for kind in ANY_CLASS:
        failing.kind = kind
        caught = runner.run(failure_of(VERBS[verb][0](store)))
        assert caught.reply is REFUSED
        assert "planted-secret" not in str(caught)
        assert ("credentials have expired" in str(caught)) is (kind is RuntimeError)
    assert responder.received == []


@pytest.mark.parametrize("verb", VERBS)
def test_what_fails_after_that_is_in_doubt(
    runner: asyncio.Runner, responder: Responder, store: S3Store, verb: str
) -> None:
    responder.answering = versioning_or(xml("ListBucketResult"))
    runner.run(all_of(store.list_tree(PATH)))
    failing = Failing()
    store._bucket._client.meta.events.register_first("response-received.s3", failing)
    for kind in ANY_CLASS:
        failing.kind = kind
        caught = runner.run(failure_of(VERBS[verb][0](store)))
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


def test_a_body_that_breaks_off_is_in_doubt(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    headers = {"ETag": '"e1"'}
    responder.script(Answer(200, b"123", headers, announced=9))
    caught = runner.run(failure_of(store.read(PATH, limit_bytes=99)))
    assert caught.reply is UNKNOWN
