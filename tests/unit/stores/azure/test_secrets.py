"""No secret reaches an exception, a log, a repr or a pickle, whatever the server sends back."""

from __future__ import annotations

import pickle
import traceback
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import RequestError
from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.azure import AzureStore
from tests.unit.stores.azure.conftest import KEY, account_at
from tests.unit.stores.azure.verbs import Verb, every_verb, failure_of, said
from tests.unit.stores.s3.responder import CLOSED, Answer, Received, Responder, error

if TYPE_CHECKING:
    import asyncio

    from tests.unit.stores.azure.conftest import Opening

SIGNATURE = "planted-signature"
SECRETS = (KEY, SIGNATURE)


CREDENTIALS = {
    "key": f"AccountKey={KEY}",
    "signature": f"SharedAccessSignature=sv=2023-11-03&se=2999-01-01T00:00Z&sig={SIGNATURE}",
}


@pytest.fixture(params=list(CREDENTIALS.values()), ids=list(CREDENTIALS))
def account(request: pytest.FixtureRequest, responder: Responder) -> str:
    return account_at(responder.url, request.param)


@every_verb
def test_no_secret_is_ever_told(  # noqa: PLR0917  # fixtures
    runner: asyncio.Runner,
    responder: Responder,
    opening: Opening,
    account: str,
    is_hierarchical: bool,
    verb: tuple[Verb, str, str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Not even by a server that sends back all it was sent."""
    caplog.set_level("DEBUG")
    store = opening(is_hierarchical=is_hierarchical, connection_string=account)

    def echo(request: Received) -> Answer:
        heard = " ".join([*SECRETS, request.target, *map(str, request.headers.items())])
        return error(
            403,
            "AuthenticationFailed",
            {"x-ms-request-id": SIGNATURE + "!"},
            AuthenticationErrorDetail=heard,
        )

    def echo_as_code(_: Received) -> Answer:
        return said(400, SIGNATURE)

    for answering in (echo, echo_as_code, lambda _: CLOSED):
        responder.answering = answering
        caught = runner.run(failure_of(verb[0](store)))
        shown = "".join(traceback.format_exception(caught)) + repr(caught) + str(vars(caught))
        shown += repr(pickle.loads(pickle.dumps(caught))) + pickle.dumps(caught).decode("latin-1")
        assert caught.__cause__ is None
        assert caught.__context__ is None or caught.__suppress_context__
        for secret in SECRETS:
            assert secret not in shown
            assert secret not in caplog.text
    for secret in SECRETS:
        assert secret not in repr(store)


@pytest.mark.parametrize(
    "given",
    [
        {"connection_string": f"AccountName=account;AccountKey={KEY};nonsense"},
        {"connection_string": f"AccountKey={KEY}"},
        {"account_key": KEY},
        {"account_name": "account", "account_key": KEY, "unknown": object()},
        {"account_name": "account", "account_key": "no base64", "sas_token": SIGNATURE},
    ],
)
def test_options_that_make_no_sense_are_not_repeated(
    runner: asyncio.Runner, given: dict[str, object]
) -> None:
    options = OpenOptions(storage_options={**given, "connection_timeout": 0.01})
    with pytest.raises((RequestError, OSError)) as caught:
        runner.run(AzureStore.open("abfs://bucket/out", options))
    shown = "".join(traceback.format_exception(caught.value))
    for secret in (*SECRETS, "no base64"):
        assert secret not in shown.replace(repr(given), "")
