"""Connections and tokens that fail: what was never sent, what may have been done."""

from __future__ import annotations

import asyncio
import socket
from datetime import datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from google.auth.compute_engine import Credentials as OfTheMachine
from google.auth.compute_engine import _metadata
from google.auth.exceptions import RefreshError, TransportError
from google.oauth2.credentials import Credentials

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.gcs import GcsStore
from fsspec_commit_stores.gcs import opening as gcs_opening
from fsspec_commit_stores.gcs.failures import GcsRequest, unanswered
from tests.unit.stores.gcs.answers import error, listed, resource, said
from tests.unit.stores.gcs.tokens import Renewed
from tests.unit.stores.gcs.verbs import CHANGES, PATH, VERBS, all_of, failure_of
from tests.unit.stores.s3.responder import CLOSED, Answer, Received, Responder

if TYPE_CHECKING:
    from tests.unit.stores.gcs.conftest import Opening

NOT_DONE, REFUSED, UNKNOWN = Reply.NOT_DONE, Reply.REFUSED, Reply.UNKNOWN


def unused_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def tokens(responder: Responder) -> list[str]:
    return [one.headers.get("authorization", "") for one in responder.received]


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
    responder.script(error(429, "rateLimitExceeded"))
    first, closed, *rest = runner.run(restarted())
    assert first is NOT_DONE
    assert closed in {NOT_DONE, UNKNOWN}  # the kept connection was closed under it
    assert set(rest) == {NOT_DONE}


@pytest.mark.parametrize("verb", VERBS)
def test_a_connection_that_breaks_leaves_in_doubt_and_is_not_used_again(
    runner: asyncio.Runner, responder: Responder, opening: Opening, verb: str
) -> None:
    """Neither gcsfs nor aiohttp sends it again: also not on a kept connection."""
    store = opening()
    responder.script(listed())
    runner.run(all_of(store.list_tree(PATH)))
    responder.script(CLOSED)
    caught = runner.run(failure_of(VERBS[verb][0](store)))
    assert caught.reply is UNKNOWN
    assert "failed before the answer" in str(caught)
    assert len(responder.received) == 2


@pytest.mark.parametrize("patience", ["requests_timeout", "timeout"])
def test_a_store_that_is_silent_is_not_waited_for_for_ever(
    runner: asyncio.Runner, patience: str
) -> None:
    async def silent() -> StoreError:
        left = asyncio.Event()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()
            await writer.wait_closed()
            left.set()

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        options = {"token": "anon", "endpoint_url": url, patience: 0.1}
        store = await GcsStore.open("gs://bucket/out", OpenOptions(storage_options=options))
        try:
            first = await failure_of(CHANGES["put"][0](store))
            # Nothing is sent any more, so nothing is waited for.
            assert (await failure_of(CHANGES["put"][0](store))).reply is REFUSED
            return first
        finally:
            await store.close()
            server.close()
            await left.wait()

    caught = runner.run(silent())
    assert caught.reply is UNKNOWN
    assert "did not answer in time" in str(caught)


def test_a_body_that_breaks_off_is_in_doubt(
    runner: asyncio.Runner, responder: Responder, opening: Opening
) -> None:
    store = opening()
    responder.script(Answer(200, b"123", {"x-goog-generation": "7"}, announced=9))
    caught = runner.run(failure_of(store.read(PATH, limit_bytes=99)))
    assert caught.reply is UNKNOWN


def test_nobody_says_who_he_is(
    runner: asyncio.Runner, responder: Responder, opening: Opening
) -> None:
    responder.script(error(401, "required"))
    caught = runner.run(failure_of(opening(token="anon").stat(PATH)))
    assert caught.reply is REFUSED
    assert "there are none (required); check token=" in str(caught)
    assert tokens(responder) == [""]


def test_a_token_is_renewed_before_it_is_used(
    runner: asyncio.Runner, responder: Responder, opening: Opening
) -> None:
    """Once, also for many requests at one moment."""
    credentials = Renewed(expired=True)
    store = opening(token=credentials)
    responder.script(said(resource()))

    async def many() -> None:
        await asyncio.gather(*(store.stat(PATH) for _ in range(8)))

    runner.run(many())
    assert credentials.renewals == 1
    assert set(tokens(responder)) == {"Bearer token-1"}


@pytest.mark.parametrize("verb", CHANGES)
def test_a_token_that_is_refused_is_renewed_once(
    runner: asyncio.Runner, responder: Responder, opening: Opening, verb: str
) -> None:
    """A refused one was certainly without effect: the same is sent again with another."""
    credentials = Renewed()
    store = opening(token=credentials)
    responder.script(error(401, "authError"), error(403, "forbidden"))
    caught = runner.run(failure_of(CHANGES[verb][0](store)))
    assert "access is denied" in str(caught)
    first, second = responder.received
    assert tokens(responder) == ["Bearer token-0", "Bearer token-1"]
    assert (first.method, first.target) == (second.method, second.target)
    assert first.body == second.body


def test_many_that_are_refused_renew_once(
    runner: asyncio.Runner, responder: Responder, opening: Opening
) -> None:
    credentials = Renewed()
    store = opening(token=credentials)

    def answering(request: Received) -> Answer:
        is_old = request.headers["authorization"] == "Bearer token-0"
        return error(401, "authError") if is_old else said(resource())

    responder.answering = answering

    async def many() -> None:
        await asyncio.gather(*(store.stat(PATH) for _ in range(8)))

    runner.run(many())
    assert credentials.renewals == 1


HOST: Any = SimpleNamespace(host="gcs.example", port=443, is_ssl=True, ssl=True)


class OddError(Exception):
    """Of a client's own kind, known to nobody."""


@pytest.mark.parametrize(
    "failure",
    [
        RuntimeError("planted-secret"),
        ValueError("planted-secret"),
        EOFError("planted-secret"),
        AssertionError("planted-secret"),
        OddError("planted-secret"),
        aiohttp.ClientPayloadError("planted-secret"),
        asyncio.IncompleteReadError(b"planted-secret", 99),
    ],
    ids=lambda failure: type(failure).__name__,
)
@pytest.mark.parametrize("verb", CHANGES)
def test_whatever_the_client_raises_leaves_in_doubt(
    runner: asyncio.Runner,
    opening: Opening,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    failure: Exception,
) -> None:
    """By then it may have been sent."""

    def failing(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(aiohttp.ClientSession, "request", failing)
    caught = runner.run(failure_of(CHANGES[verb][0](opening())))
    assert caught.reply is UNKNOWN
    assert f"failed before the answer ({type(failure).__name__})" in str(caught)
    assert "planted-secret" not in str(caught)
    assert caught.__context__ is None


@pytest.mark.parametrize(
    ("failure", "at_first", "later"),
    [
        (aiohttp.ClientConnectorCertificateError(HOST, ValueError("issuer")), REFUSED, NOT_DONE),
        (aiohttp.ClientConnectorSSLError(HOST, OSError("alert")), REFUSED, NOT_DONE),
        (aiohttp.ClientHttpProxyError(HOST, (), status=503), NOT_DONE, NOT_DONE),
        (aiohttp.ClientHttpProxyError(HOST, (), status=407), REFUSED, REFUSED),
        (aiohttp.ClientConnectorError(HOST, OSError("refused")), NOT_DONE, NOT_DONE),
    ],
    ids=["its certificate", "TLS", "a proxy that restarts", "a proxy that refuses", "nobody"],
)
def test_who_restarts_is_not_given_up(failure: Exception, at_first: Reply, later: Reply) -> None:
    """Nothing was sent; an ingress shows a certificate of its own until it has read its own."""
    asked = GcsRequest("write", PATH, "storage.objects.create", "https://gcs.example")
    assert unanswered(asked, failure, first_tries=1).reply is at_first
    assert unanswered(asked, failure, first_tries=0).reply is later
    assert unanswered(asked, failure, first_tries=3).reply is REFUSED


GONE: Any = RefreshError
UNREACHABLE: Any = TransportError


@pytest.mark.parametrize(
    "failed",
    [
        (GONE("planted-secret"), REFUSED, "cannot be renewed (RefreshError)"),
        (GONE("planted-secret", retryable=True), NOT_DONE, "no token could be fetched"),
        (UNREACHABLE("planted-secret"), NOT_DONE, "no token could be fetched"),
        (ValueError("planted-secret"), REFUSED, "cannot be renewed (ValueError)"),
        (RuntimeError("planted-secret"), REFUSED, "cannot be renewed (RuntimeError)"),
        (KeyError("planted-secret"), REFUSED, "cannot be renewed (KeyError)"),
    ],
    ids=["gone", "retryable", "unreachable", "unusual", "odd", "of a broken answer"],
)
def test_a_token_that_cannot_be_renewed(
    runner: asyncio.Runner,
    responder: Responder,
    opening: Opening,
    failed: tuple[Exception, Reply, str],
) -> None:
    failure, reply, says = failed
    store = opening(token=Renewed(failure=failure, expired=True))
    caught = runner.run(failure_of(CHANGES["put"][0](store)))
    assert caught.reply is reply
    assert says in str(caught)
    assert "planted-secret" not in str(caught)
    assert responder.received == []


def test_whoever_gives_out_tokens_is_waited_for(
    runner: asyncio.Runner, responder: Responder, opening: Opening
) -> None:
    """Once the store has answered; a job that was decided ended partial at once."""
    credentials = Renewed()
    store = opening(token=credentials)
    responder.script(error(403, "forbidden"))
    runner.run(failure_of(CHANGES["put"][0](store)))
    credentials.failure = GONE("Unable to acquire impersonated credentials: 503")
    credentials.expiry = datetime(2000, 1, 1)  # noqa: DTZ001  # as google-auth has it
    caught = runner.run(failure_of(CHANGES["put"][0](store)))
    assert caught.reply is NOT_DONE
    assert "log in again" in str(caught)
    assert len(responder.received) == 1


def test_whoever_gives_out_tokens_is_asked_once_for_all(
    runner: asyncio.Runner, responder: Responder, opening: Opening
) -> None:
    """Each request asked for itself, and waited in line: for hours, where that is slow to fail."""
    credentials = Renewed(failure=GONE("503"), expired=True)
    store = opening(token=credentials)

    async def failed() -> list[StoreError]:
        return await asyncio.gather(*(failure_of(CHANGES["put"][0](store)) for _ in range(8)))

    assert {one.reply for one in runner.run(failed())} == {REFUSED}
    assert credentials.asked == 1
    assert responder.received == []


def test_a_metadata_server_that_is_not_there_is_told_as_that(
    runner: asyncio.Runner, opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """google-auth wraps what it calls unreachable elsewhere."""
    monkeypatch.setattr(_metadata, "get_service_account_info", _unreachable)
    store = opening(token=OfTheMachine())  # type: ignore[no-untyped-call]  # google-auth ships no types
    caught = runner.run(failure_of(CHANGES["put"][0](store)))
    assert caught.reply is NOT_DONE
    assert "check the network and the metadata server" in str(caught)


def _unreachable(*_: object, **__: object) -> None:
    raise UNREACHABLE("planted-secret")


@pytest.mark.parametrize("token", ["planted-secret\n", "planted-secret\u2028", "planted-\u00e9"])
def test_a_token_that_cannot_be_sent(
    runner: asyncio.Runner, responder: Responder, opening: Opening, token: str
) -> None:
    credentials = Credentials(token)  # type: ignore[no-untyped-call]  # google-auth ships no types
    caught = runner.run(failure_of(CHANGES["put"][0](opening(token=credentials))))
    assert caught.reply is REFUSED
    assert "such as a line break; check token=" in str(caught)
    assert "planted" not in str(caught)
    assert responder.received == []


@pytest.mark.parametrize("failure", [RuntimeError, KeyError, OSError, GONE], ids=str)
def test_credentials_that_cannot_be_had(
    opening: Opening, monkeypatch: pytest.MonkeyPatch, failure: type[Exception]
) -> None:
    """Whatever kind of failure that is: nothing was sent, and the message is ours."""

    def failing(**_: object) -> None:
        raise failure("planted-secret")

    monkeypatch.setattr(gcs_opening, "GCSFileSystem", failing)
    with pytest.raises(StoreError, match="no credentials could be had") as caught:
        opening()
    assert caught.value.reply is REFUSED
    assert "planted-secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_token_that_is_refused_and_cannot_be_renewed(
    runner: asyncio.Runner, responder: Responder, opening: Opening
) -> None:
    store = opening(token=Renewed(failure=RuntimeError("planted-secret")))
    responder.script(error(401, "authError"))
    caught = runner.run(failure_of(CHANGES["put"][0](store)))
    assert caught.reply is REFUSED
    assert "have expired" in str(caught)
    assert len(responder.received) == 1


def test_a_token_that_is_refused_while_nobody_gives_out_another(
    runner: asyncio.Runner, responder: Responder, opening: Opening
) -> None:
    """Such as one that was revoked as the metadata server restarts: it is waited for."""
    store = opening(token=Renewed(failure=UNREACHABLE("planted-secret")))
    responder.script(error(401, "authError"))
    caught = runner.run(failure_of(CHANGES["put"][0](store)))
    assert caught.reply is NOT_DONE
    assert "check the network and the metadata server" in str(caught)
    assert len(responder.received) == 1


def test_a_token_that_is_refused_and_renewed_into_one_that_no_header_holds(
    runner: asyncio.Runner, responder: Responder, opening: Opening
) -> None:
    """It was handed to the client, which failed: as if the request might have been done."""
    store = opening(token=Renewed(ending="\n"))
    responder.script(error(401, "authError"))
    assert runner.run(failure_of(CHANGES["put"][0](store))).reply is REFUSED
    assert len(responder.received) == 1


def test_a_401_that_the_store_did_not_give_renews_nothing(
    runner: asyncio.Runner, responder: Responder, opening: Opening
) -> None:
    """The store may have done it: nothing is sent again that was not certainly without effect."""
    credentials = Renewed()
    responder.script(Answer(401, b"<html>who are you?</html>"))
    caught = runner.run(failure_of(CHANGES["put"][0](opening(token=credentials))))
    assert caught.reply is UNKNOWN
    assert credentials.renewals == 0
    assert len(responder.received) == 1
