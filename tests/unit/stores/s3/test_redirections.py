"""A redirection is followed by nobody: what is sent again is sent to whom the user never named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply, RequestError
from tests.unit.stores.s3.responder import Answer, Responder, error
from tests.unit.stores.s3.verbs import PATH, VERBS, failure_of, versioning_or

if TYPE_CHECKING:
    import asyncio

    from tests.unit.stores.s3.conftest import Opening

STATUSES = (300, 301, 302, 303, 304, 305, 307, 308)
SECRET = "planted-in-location"


async def elsewhere(opened: Responder) -> Responder:
    """Somebody who says yes to everything."""
    opened.answering = lambda _: Answer(200, headers={"ETag": '"e1"'})
    return await opened.__aenter__()


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_follows_one(
    runner: asyncio.Runner, responder: Responder, opening: Opening, verb: str
) -> None:
    """Whoever sends it may be somebody on the way: whether it was done, it does not say."""
    other = runner.run(elsewhere(Responder()))
    store = opening(
        token="planted-session-token",
        s3_additional_kwargs={"SSECustomerAlgorithm": "AES256", "SSECustomerKey": "k" * 32},
    )
    location = f"{other.url}/{SECRET}?X-Amz-Signature={SECRET}"
    try:
        for status in STATUSES:
            responder.received.clear()
            responder.answering = versioning_or(Answer(status, headers={"Location": location}))
            caught = runner.run(failure_of(VERBS[verb][0](store)))
            assert caught.reply is Reply.UNKNOWN, status
            assert f"redirection to {other.url} (HTTP {status}), which is not followed" in str(
                caught
            )
            assert SECRET not in str(caught)
            asked = [one for one in responder.received if "versioning" not in one.query]
            assert len(asked) == 1
        assert other.received == []
    finally:
        runner.run(other.__aexit__())


@pytest.mark.parametrize(
    "answer",
    [
        error(301, "PermanentRedirect", {"x-amz-bucket-region": "eu-west-3"}),
        error(307, "TemporaryRedirect", {"x-amz-bucket-region": "eu-west-3"}),
        error(400, "AuthorizationHeaderMalformed", Region="eu-west-3"),
        error(400, "IllegalLocationConstraintException", {"x-amz-bucket-region": "eu-west-3"}),
    ],
    ids=["301", "307", "400", "400 of a location"],
)
@pytest.mark.parametrize("verb", VERBS)
def test_the_region_of_a_bucket_is_said_and_not_asked(
    runner: asyncio.Runner, responder: Responder, opening: Opening, verb: str, answer: Answer
) -> None:
    """That is S3's own refusal; botocore would sign the request again for the other region."""
    store = opening()
    responder.answering = versioning_or(answer)
    caught = runner.run(failure_of(VERBS[verb][0](store)))
    assert caught.reply is Reply.REFUSED
    assert "the bucket is in the region 'eu-west-3'" in str(caught)
    assert "set client_kwargs={'region_name': …} to it" in str(caught)
    assert len([one for one in responder.received if "versioning" not in one.query]) == 1


def test_the_region_is_said_to_a_look_as_well(
    runner: asyncio.Runner, responder: Responder, opening: Opening
) -> None:
    """The answer to a HEAD has no code."""
    store = opening()
    responder.script(Answer(301, headers={"x-amz-bucket-region": "eu-west-3"}))
    caught = runner.run(failure_of(store.stat(PATH)))
    assert caught.reply is Reply.REFUSED
    assert "the bucket is in the region 'eu-west-3'" in str(caught)
    assert len(responder.received) == 1


def test_a_role_is_not_fetched_elsewhere(
    runner: asyncio.Runner,
    responder: Responder,
    opening: Opening,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The web identity is a secret: it goes to the one who was named."""
    token = tmp_path_factory.mktemp("identity") / "token"
    token.write_text("planted-identity")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token))
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/writer")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", responder.url)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    other = runner.run(elsewhere(Responder()))
    try:
        store = opening(key=None, secret=None)
        responder.script(Answer(307, headers={"Location": f"{other.url}/?{SECRET}"}))
        caught = runner.run(failure_of(VERBS["put"][0](store)))
        assert caught.reply is not Reply.REFUSED
        assert SECRET not in str(caught)
        assert other.received == []
        assert any(b"planted-identity" in one.body for one in responder.received)
    finally:
        runner.run(other.__aexit__())


def test_another_way_to_the_network_is_refused(opening: Opening) -> None:
    with pytest.raises(RequestError, match="http_session_cls= is ours") as caught:
        opening(config_kwargs={"http_session_cls": object})
    assert caught.value.kind == "invalid_option"
