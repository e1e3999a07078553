"""Connections and tokens that fail: what was never sent, what may have been done."""

from __future__ import annotations

import asyncio
from datetime import datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from gcsfs.core import GCSFileSystem
from google.auth.compute_engine import Credentials as OfTheMachine
from google.auth.compute_engine import _metadata
from google.auth.exceptions import RefreshError, TransportError
from google.oauth2.credentials import Credentials

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit_stores.gcs import opening as gcs_opening
from fsspec_commit_stores.gcs.failures import GcsRequest, unanswered
from fsspec_commit_stores.http.exchanges import Exchanges
from tests.unit.stores.gcs.answers import error, resource, said
from tests.unit.stores.gcs.tokens import Renewed
from tests.unit.stores.gcs.verbs import CHANGES
from tests.unit.stores.responder import Answer, Received
from tests.unit.stores.scripted import failure_of
from tests.unit.stores.verbs import PATH, put

if TYPE_CHECKING:
    from tests.unit.stores.gcs.scripted import ScriptedGcs

NOT_DONE, REFUSED, UNKNOWN = Reply.NOT_DONE, Reply.REFUSED, Reply.UNKNOWN


def tokens(gcs: ScriptedGcs) -> list[str]:
    return [one.headers.get("authorization", "") for one in gcs.received]


def test_nobody_says_who_he_is(gcs: ScriptedGcs) -> None:
    gcs.script(error(401, "required"))
    caught = gcs.failure_of(gcs.open(token="anon").stat(PATH))
    assert caught.reply is REFUSED
    assert "there are none (required); check token=" in str(caught)
    assert tokens(gcs) == [""]


def test_a_token_is_renewed_before_it_is_used(gcs: ScriptedGcs) -> None:
    """Once, also for many requests at one moment."""
    credentials = Renewed(expired=True)
    store = gcs.open(token=credentials)
    gcs.script(said(resource()))

    async def many() -> None:
        await asyncio.gather(*(store.stat(PATH) for _ in range(8)))

    gcs.run(many())
    assert credentials.renewals == 1
    assert set(tokens(gcs)) == {"Bearer token-1"}


@pytest.mark.parametrize("verb", CHANGES)
def test_a_token_that_is_refused_is_renewed_once(gcs: ScriptedGcs, verb: str) -> None:
    """A refused one was certainly without effect: the same is sent again with another."""
    credentials = Renewed()
    store = gcs.open(token=credentials)
    gcs.script(error(401, "authError"), error(403, "forbidden"))
    caught = gcs.failure_of(CHANGES[verb].call(store))
    assert "access is denied" in str(caught)
    first, second = gcs.received
    assert tokens(gcs) == ["Bearer token-0", "Bearer token-1"]
    assert (first.method, first.target) == (second.method, second.target)
    assert first.body == second.body


def test_many_that_are_refused_renew_once(gcs: ScriptedGcs) -> None:
    credentials = Renewed()
    store = gcs.open(token=credentials)

    def answering(request: Received) -> Answer:
        is_old = request.headers["authorization"] == "Bearer token-0"
        return error(401, "authError") if is_old else said(resource())

    gcs.answering = answering

    async def many() -> None:
        await asyncio.gather(*(store.stat(PATH) for _ in range(8)))

    gcs.run(many())
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
    gcs: ScriptedGcs, monkeypatch: pytest.MonkeyPatch, verb: str, failure: Exception
) -> None:
    """By then it may have been sent."""

    def failing(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(aiohttp.ClientSession, "request", failing)
    monkeypatch.setattr(Exchanges, "send", failing)
    caught = gcs.failure_of(CHANGES[verb].call(gcs.open()))
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
    gcs: ScriptedGcs, failed: tuple[Exception, Reply, str]
) -> None:
    failure, reply, says = failed
    store = gcs.open(token=Renewed(failure=failure, expired=True))
    caught = gcs.failure_of(put(store))
    assert caught.reply is reply
    assert says in str(caught)
    assert "planted-secret" not in str(caught)
    assert gcs.received == []


def test_whoever_gives_out_tokens_is_waited_for(gcs: ScriptedGcs) -> None:
    """Once the store has answered; a job that was decided ended partial at once."""
    credentials = Renewed()
    store = gcs.open(token=credentials)
    gcs.script(error(403, "forbidden"))
    gcs.failure_of(put(store))
    credentials.failure = GONE("Unable to acquire impersonated credentials: 503")
    credentials.expiry = datetime(2000, 1, 1)  # noqa: DTZ001  # as google-auth has it
    caught = gcs.failure_of(put(store))
    assert caught.reply is NOT_DONE
    assert "log in again" in str(caught)
    assert len(gcs.received) == 1


def test_whoever_gives_out_tokens_is_asked_once_for_all(gcs: ScriptedGcs) -> None:
    """Each request asked for itself, and waited in line: for hours, where that is slow to fail."""
    credentials = Renewed(failure=GONE("503"), expired=True)
    store = gcs.open(token=credentials)

    async def failed() -> list[StoreError]:
        return await asyncio.gather(*(failure_of(put(store)) for _ in range(8)))

    assert {one.reply for one in gcs.run(failed())} == {REFUSED}
    assert credentials.asked == 1
    assert gcs.received == []


def test_a_metadata_server_that_is_not_there_is_told_as_that(
    gcs: ScriptedGcs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """google-auth wraps what it calls unreachable elsewhere."""
    monkeypatch.setattr(_metadata, "get_service_account_info", _unreachable)
    store = gcs.open(token=OfTheMachine())  # type: ignore[no-untyped-call]  # google-auth ships no types
    caught = gcs.failure_of(put(store))
    assert caught.reply is NOT_DONE
    assert "check the network and the metadata server" in str(caught)


def _unreachable(*_: object, **__: object) -> None:
    raise UNREACHABLE("planted-secret")


@pytest.mark.parametrize("token", ["planted-secret\n", "planted-secret\u2028", "planted-\u00e9"])
def test_a_token_that_cannot_be_sent(gcs: ScriptedGcs, token: str) -> None:
    credentials = Credentials(token)  # type: ignore[no-untyped-call]  # google-auth ships no types
    caught = gcs.failure_of(put(gcs.open(token=credentials)))
    assert caught.reply is REFUSED
    assert "such as a line break; check token=" in str(caught)
    assert "planted" not in str(caught)
    assert gcs.received == []


@pytest.mark.parametrize("failure", [RuntimeError, KeyError, OSError, GONE], ids=str)
def test_credentials_that_cannot_be_had(
    gcs: ScriptedGcs, monkeypatch: pytest.MonkeyPatch, failure: type[Exception]
) -> None:
    """Whatever kind of failure that is: nothing was sent, and the message is ours."""

    class Failing(GCSFileSystem):  # type: ignore[misc]  # it has no types
        def __init__(self, **_: object) -> None:
            raise failure("planted-secret")

    monkeypatch.setattr(gcs_opening, "GCSFileSystem", Failing)
    with pytest.raises(StoreError, match="no credentials could be had") as caught:
        gcs.open()
    assert caught.value.reply is REFUSED
    assert "planted-secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_token_that_is_refused_and_cannot_be_renewed(gcs: ScriptedGcs) -> None:
    store = gcs.open(token=Renewed(failure=RuntimeError("planted-secret")))
    gcs.script(error(401, "authError"))
    caught = gcs.failure_of(put(store))
    assert caught.reply is REFUSED
    assert "have expired" in str(caught)
    assert len(gcs.received) == 1


def test_a_token_that_is_refused_while_nobody_gives_out_another(gcs: ScriptedGcs) -> None:
    """Such as one that was revoked as the metadata server restarts: it is waited for."""
    store = gcs.open(token=Renewed(failure=UNREACHABLE("planted-secret")))
    gcs.script(error(401, "authError"))
    caught = gcs.failure_of(put(store))
    assert caught.reply is NOT_DONE
    assert "check the network and the metadata server" in str(caught)
    assert len(gcs.received) == 1


def test_a_token_that_is_refused_and_renewed_into_one_that_no_header_holds(
    gcs: ScriptedGcs,
) -> None:
    """It was handed to the client, which failed: as if the request might have been done."""
    store = gcs.open(token=Renewed(ending="\n"))
    gcs.script(error(401, "authError"))
    assert gcs.failure_of(put(store)).reply is REFUSED
    assert len(gcs.received) == 1


def test_a_401_that_the_store_did_not_give_renews_nothing(gcs: ScriptedGcs) -> None:
    """The store may have done it: nothing is sent again that was not certainly without effect."""
    credentials = Renewed()
    gcs.script(Answer(401, b"<html>who are you?</html>"))
    caught = gcs.failure_of(put(gcs.open(token=credentials)))
    assert caught.reply is UNKNOWN
    assert credentials.renewals == 0
    assert len(gcs.received) == 1


@pytest.mark.parametrize("verb", CHANGES)
def test_a_closed_store_says_that_it_is_closed(gcs: ScriptedGcs, verb: str) -> None:
    gcs.run(gcs.store.close())
    with pytest.raises(RuntimeError, match="closed"):
        gcs.run(CHANGES[verb].call(gcs.store))


@pytest.mark.parametrize("option", ["requests_timeout", "timeout"])
def test_how_long_an_answer_is_waited_for_is_either_option(
    gcs: ScriptedGcs, silent: str, option: str
) -> None:
    patience: dict[str, Any] = {option: 0.1}
    caught = gcs.failure_of(put(gcs.open(endpoint_url=silent, **patience)))
    assert caught.reply is UNKNOWN
    assert "did not answer in time" in str(caught)
