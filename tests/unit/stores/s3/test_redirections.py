"""A redirection is followed by nobody: what is sent again is sent to whom the user never named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply, RequestError
from tests.unit.stores.responder import Answer, Responder
from tests.unit.stores.s3.answers import error
from tests.unit.stores.s3.verbs import VERBS
from tests.unit.stores.verbs import PATH, put

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.stores.s3.scripted import ScriptedS3

SECRET = "planted-in-location"


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
    s3: ScriptedS3, verb: str, answer: Answer
) -> None:
    """That is S3's own refusal; botocore would sign the request again for the other region."""
    s3.always(answer)
    caught = s3.failure_of(VERBS[verb].call(s3.store))
    assert caught.reply is Reply.REFUSED
    assert "the bucket is in the region 'eu-west-3'" in str(caught)
    assert "set client_kwargs={'region_name': …} to it" in str(caught)
    assert len(s3.asked) == 1


def test_the_region_is_said_to_a_look_as_well(s3: ScriptedS3) -> None:
    """The answer to a HEAD has no code."""
    store = s3.open()
    s3.script(Answer(301, headers={"x-amz-bucket-region": "eu-west-3"}))
    caught = s3.failure_of(store.stat(PATH))
    assert caught.reply is Reply.REFUSED
    assert "the bucket is in the region 'eu-west-3'" in str(caught)
    assert len(s3.received) == 1


def test_a_role_is_not_fetched_elsewhere(
    s3: ScriptedS3, responder: Responder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The web identity is a secret: it goes to the one who was named."""
    token = tmp_path / "token"
    token.write_text("planted-identity")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token))
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/writer")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", s3.url)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    store = s3.open(key=None, secret=None)
    s3.script(Answer(307, headers={"Location": f"{responder.url}/?{SECRET}"}))
    caught = s3.failure_of(put(store))
    assert caught.reply is not Reply.REFUSED
    assert SECRET not in str(caught)
    assert responder.received == []
    assert any(b"planted-identity" in one.body for one in s3.received)


def test_another_way_to_the_network_is_refused(s3: ScriptedS3) -> None:
    with pytest.raises(RequestError, match="http_session_cls= is ours") as caught:
        s3.open(config_kwargs={"http_session_cls": object})
    assert caught.value.kind == "invalid_option"
