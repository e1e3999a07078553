"""No secret reaches an exception, a log, a repr or a pickle, whatever the server sends back."""

from __future__ import annotations

import pickle
import traceback
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import RequestError
from tests.unit.stores.s3.responder import CLOSED, Answer, Received, Responder, error
from tests.unit.stores.s3.verbs import VERBS, failure_of

if TYPE_CHECKING:
    import asyncio

    from tests.unit.stores.s3.conftest import Opening

SECRETS = ("planted-secret", "planted-token", "planted-sse-key-of-32-bytes-long")


@pytest.mark.parametrize("verb", VERBS)
def test_no_secret_is_ever_told(
    runner: asyncio.Runner,
    responder: Responder,
    opening: Opening,
    verb: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Not even by a server that sends back all it was sent."""
    caplog.set_level("DEBUG", "fsspec_commit")
    store = opening(
        token=SECRETS[1],
        s3_additional_kwargs={"SSECustomerAlgorithm": "AES256", "SSECustomerKey": SECRETS[2]},
        client_kwargs={},
    )

    def echo(request: Received) -> Answer:
        said = " ".join([*SECRETS, request.target, *map(str, request.headers.items())])
        return error(
            403,
            "SignatureDoesNotMatch",
            {"x-amz-request-id": SECRETS[0] + "!"},
            StringToSign=said,
            CanonicalRequest=said,
            AWSAccessKeyId="AKIAPLANTED",
            Region=said,
        )

    def echo_as_code(_: Received) -> Answer:
        return error(400, f"Bad{SECRETS[0]}" + "!" * 80, Region=SECRETS[1])

    for answering in (echo, echo_as_code, lambda _: CLOSED):
        responder.answering = answering
        caught = runner.run(failure_of(VERBS[verb][0](store)))
        shown = "".join(traceback.format_exception(caught)) + repr(caught) + str(vars(caught))
        shown += repr(pickle.loads(pickle.dumps(caught))) + pickle.dumps(caught).decode("latin-1")
        chain: BaseException | None = caught
        while chain is not None:
            shown += str(getattr(chain, "response", "")) + str(getattr(chain, "kwargs", ""))
            chain = chain.__cause__ or chain.__context__
        for secret in (*SECRETS, "AKIAPLANTED"):
            assert secret not in shown
            assert secret not in caplog.text
    for secret in SECRETS:
        assert secret not in repr(store)


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("aws_access_key_id", "key="),
        ("AWS_ENDPOINT_URL", "endpoint_url="),
        ("secret_key", "secret="),
    ],
)
def test_an_option_of_another_library_is_translated(opening: Opening, name: str, own: str) -> None:
    """And its value, a key maybe, is not repeated."""
    says = f"not one of s3fs's .*{name}'; {name} is {own} there"
    with pytest.raises(RequestError, match=says) as caught:
        opening("s3://bucket/out", **{name: SECRETS[0]})
    assert SECRETS[0] not in str(caught.value)
