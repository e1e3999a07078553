"""How requests are signed, each once, and what follows from what goes wrong with that."""

from __future__ import annotations

import asyncio
import time
from base64 import b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from azure.core.credentials import AccessToken, AzureSasCredential
from azure.core.exceptions import (
    ClientAuthenticationError,
    ServiceRequestError,
    ServiceResponseTimeoutError,
)
from azure.core.pipeline.policies import _authentication_async
from azure.identity import CredentialUnavailableError

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store import Expect, Token
from fsspec_commit_stores.azure.connections import Connection, Endpoints, Limits
from fsspec_commit_stores.azure.renaming import Renames
from fsspec_commit_stores.azure.requests import Container
from tests.unit.stores.azure.answers import MARK, told
from tests.unit.stores.responder import Answer
from tests.unit.stores.verbs import OTHER, PATH, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.unit.stores.azure.scripted import ScriptedAzure

NOT_DONE, REFUSED, UNKNOWN = Reply.NOT_DONE, Reply.REFUSED, Reply.UNKNOWN
CLAIMS = '{"access_token":{"nbf":{"essential":true,"value":"1"}}}'
CHALLENGE = {
    "WWW-Authenticate": (
        'Bearer realm="", error="insufficient_claims", '
        f'claims="{b64encode(CLAIMS.encode()).decode()}"'
    )
}
SECRET = "planted-secret"
DONE = told(201, headers={"ETag": '"0x1"'})


@dataclass
class Tokens:
    """A user's credential: gives out tokens, and fails where a test says so.

    Attributes:
        claims: What was asked for each time.
        failing: Raised instead, from which time on.
        lasts_s: How long each of them is good.
    """

    claims: list[str | None] = field(default_factory=list)
    failing: Exception | None = None
    from_time: int = 1
    lasts_s: int = 3600

    async def get_token(self, *_: str, claims: str | None = None, **__: Any) -> AccessToken:
        self.claims.append(claims)
        if self.failing is not None and len(self.claims) >= self.from_time:
            await asyncio.sleep(0.02)
            raise self.failing
        return AccessToken(f"token-{len(self.claims)}", int(time.time()) + self.lasts_s)


@dataclass
class Account:
    """What the SDK's client tells of itself."""

    primary_endpoint: str
    credential: Any


@pytest.fixture
def plain_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """azure-core sends tokens through https only: a test server has none."""
    monkeypatch.setattr(_authentication_async, "_enforce_https", lambda _: None)


@pytest.fixture
def tokens() -> Tokens:
    return Tokens()


class Opened:
    """Connections to the server, with any credential."""

    def __init__(self, gen2: ScriptedAzure) -> None:
        self._gen2 = gen2
        self.connections: list[Connection] = []

    def __call__(self, credential: Any) -> Container:
        url = f"{self._gen2.url}/account"

        async def connected() -> Connection:
            return Connection(Account(url, credential), Endpoints(url, url), Limits(4, 5.0, 5.0))

        connection = self._gen2.run(connected())
        self.connections.append(connection)
        return Container(connection, "bucket")


@pytest.fixture
def opened(gen2: ScriptedAzure) -> Iterator[Opened]:
    opened = Opened(gen2)
    yield opened
    for connection in opened.connections:
        gen2.run(connection.close())


def failure(gen2: ScriptedAzure, container: Container) -> StoreError:
    caught = gen2.failure_of(container.send("Put Blob", PATH, body=b"0123456789"))
    assert SECRET not in repr(caught)
    return caught


@pytest.mark.usefixtures("plain_http")
class TestChallenge:
    """A token that has been revoked: *continuous access evaluation*."""

    def test_the_next_request_meets_it(
        self, gen2: ScriptedAzure, opened: Opened, tokens: Tokens
    ) -> None:
        """And not the same one again: its body has been read, and each is sent once."""
        container = opened(tokens)
        gen2.script(told(401, headers=CHALLENGE), DONE)
        caught = failure(gen2, container)
        assert (caught.reply, tokens.claims) == (NOT_DONE, [None, CLAIMS])
        assert "the access token has been revoked" in str(caught)
        gen2.run(container.send("Put Blob", PATH, body=b"0123456789"))
        assert [one.body for one in gen2.received] == [b"0123456789"] * 2
        assert [one.headers["authorization"] for one in gen2.received] == [
            "Bearer token-1",
            "Bearer token-2",
        ]

    def test_one_meets_it_for_all(
        self, gen2: ScriptedAzure, opened: Opened, tokens: Tokens
    ) -> None:
        """Each fetched another token, one after the other, in place of that of the one before."""
        container = opened(tokens)
        gen2.answering = lambda one: (
            told(401, headers=CHALLENGE) if one.headers["authorization"].endswith("-1") else DONE
        )

        async def send() -> None:
            with pytest.raises(StoreError, match="has been revoked"):
                await container.send("Put Blob", PATH, body=b"0123456789")
            await container.send("Put Blob", PATH, body=b"0123456789")

        async def sent() -> None:
            await asyncio.gather(*(send() for _ in range(4)))

        gen2.run(sent())
        assert tokens.claims == [None, CLAIMS]

    def test_nobody_else_s_is_met(
        self, gen2: ScriptedAzure, opened: Opened, tokens: Tokens
    ) -> None:
        gen2.script(Answer(401, headers=CHALLENGE))
        assert failure(gen2, opened(tokens)).reply is UNKNOWN
        assert (tokens.claims, len(gen2.received)) == ([None], 1)

    def test_one_that_cannot_be_met_was_a_refusal(
        self, gen2: ScriptedAzure, opened: Opened
    ) -> None:
        tokens = Tokens(failing=ClientAuthenticationError(SECRET), from_time=2)
        gen2.script(told(401, headers=CHALLENGE))
        caught = failure(gen2, opened(tokens))
        assert caught.reply is REFUSED
        assert "log in with 'az login'" in str(caught)

    @pytest.mark.parametrize("claims", ["", "claims=", 'claims="!!!"', 'claims="/w=="'])
    def test_one_that_makes_no_sense(
        self, gen2: ScriptedAzure, opened: Opened, tokens: Tokens, claims: str
    ) -> None:
        challenge = f'Bearer error="insufficient_claims", {claims}'
        gen2.script(told(401, headers={"WWW-Authenticate": challenge}))
        assert failure(gen2, opened(tokens)).reply in {NOT_DONE, REFUSED}
        assert len(gen2.received) == 1


@pytest.mark.usefixtures("plain_http")
@pytest.mark.parametrize(
    ("failing", "expected"),
    [
        (ClientAuthenticationError(SECRET), (REFUSED, "(ClientAuthenticationError)")),
        (CredentialUnavailableError(SECRET), (REFUSED, "(CredentialUnavailableError)")),
        (RuntimeError(SECRET), (REFUSED, "(RuntimeError); log in with 'az login'")),
        (KeyError(SECRET), (REFUSED, "(KeyError)")),
        (ServiceRequestError(SECRET, error=aiohttp.ClientOSError(SECRET)), (NOT_DONE, "network")),
        (ServiceResponseTimeoutError(SECRET, error=TimeoutError()), (NOT_DONE, "network")),
        (ConnectionResetError(SECRET), (NOT_DONE, "check the network")),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_without_a_token_nothing_is_sent(
    gen2: ScriptedAzure, opened: Opened, failing: Exception, expected: tuple[Reply, str]
) -> None:
    """So nothing was done, whatever the credential raises."""
    reply, words = expected
    caught = failure(gen2, opened(Tokens(failing=failing)))
    assert caught.reply is reply
    assert words in str(caught)
    assert gen2.received == []


@pytest.mark.usefixtures("plain_http")
def test_whoever_gives_out_tokens_is_waited_for(gen2: ScriptedAzure, opened: Opened) -> None:
    """Once the store has answered; a job that was decided ended partial at once."""
    failing = CredentialUnavailableError(SECRET)
    container = opened(Tokens(failing=failing, from_time=2, lasts_s=1))
    gen2.script(DONE)
    gen2.run(container.send("Put Blob", PATH, body=b"0123456789"))
    caught = failure(gen2, container)
    assert caught.reply is NOT_DONE
    assert "log in with 'az login'" in str(caught)
    assert len(gen2.received) == 1


@pytest.mark.usefixtures("plain_http")
def test_whoever_gives_out_tokens_is_asked_once_for_all(
    gen2: ScriptedAzure, opened: Opened
) -> None:
    """Each request asked for itself, and waited in line: for hours, where that is slow to fail."""
    tokens = Tokens(failing=CredentialUnavailableError(SECRET))
    container = opened(tokens)

    async def send() -> Reply:
        with pytest.raises(StoreError) as caught:
            await container.send("Put Blob", PATH, body=b"0123456789")
        return caught.value.reply

    async def sent() -> list[Reply]:
        return await asyncio.gather(*(send() for _ in range(8)))

    assert set(gen2.run(sent())) == {REFUSED}
    assert len(tokens.claims) == 1
    assert gen2.received == []


def test_a_token_is_not_sent_in_the_clear(
    gen2: ScriptedAzure, opened: Opened, tokens: Tokens
) -> None:
    caught = failure(gen2, opened(tokens))
    assert caught.reply is REFUSED
    assert "access tokens are sent through https only" in str(caught)
    assert gen2.received == []


def test_what_a_client_raises_after_it_was_signed_is_unknown(
    gen2: ScriptedAzure, opened: Opened
) -> None:
    """Such as a ``ValueError`` of a connection that somebody has closed."""
    container = opened(None)
    gen2.script(DONE)
    gen2.run(container.send("Put Blob", PATH, body=b"0123456789"))
    for connection in opened.connections:
        gen2.run(connection.close())
    caught = failure(gen2, container)
    assert caught.reply is UNKNOWN
    assert "failed before the answer (ValueError)" in str(caught)


def test_the_source_of_a_rename_is_signed_as_well(gen2: ScriptedAzure, opened: Opened) -> None:
    """By the signature of now: its owner may renew it."""
    credential = AzureSasCredential("?sv=1&se=2020-01-01T00%3A00%3A00Z&sig=first")
    renames = Renames(opened(credential))
    gen2.script(told(201))
    for _ in range(2):
        renaming = renames.rename(
            OTHER, PATH, token=Token("e1"), expecting=Expect.ABSENT, within=ROOT
        )
        gen2.run(renaming)
        credential.update("sv=1&sig=second")
    first, second = gen2.received
    assert first.headers["x-ms-rename-source"].endswith(
        "/out/other?sv=1&se=2020-01-01T00%3A00%3A00Z&sig=first"
    )
    assert second.headers["x-ms-rename-source"].endswith("/out/other?sv=1&sig=second")
    assert second.query["sig"] == "second"


def test_answers_are_asked_for_as_they_are(gen2: ScriptedAzure, opened: Opened) -> None:
    """What a proxy has compressed has another length, and a weak etag."""
    gen2.script(Answer(200, b"1", {**MARK, "ETag": '"e"'}))
    gen2.run(opened(None).send("Get Blob", PATH))
    assert gen2.received[0].headers["accept-encoding"] == "identity"
