"""Every answer to every verb is classified: not done, refused or unknown, in one plain sentence."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest
from google.oauth2.credentials import Credentials

from fsspec_commit.errors import Reply
from fsspec_commit.store import Expect, Token
from tests.unit.stores.gcs.answers import NO_BUCKET, error, said
from tests.unit.stores.gcs.verbs import CHANGES, PATH, VERBS, failure_of
from tests.unit.stores.s3.responder import Answer, Responder

if TYPE_CHECKING:
    import asyncio

    from fsspec_commit_stores.gcs import GcsStore
    from tests.unit.stores.gcs.conftest import Opening

NOT_DONE, REFUSED, UNKNOWN = Reply.NOT_DONE, Reply.REFUSED, Reply.UNKNOWN
# Of the pages of the JSON API, and as seen on servers.
ANSWERS: dict[tuple[int, str], Reply] = {
    (400, "invalid"): REFUSED,
    (400, "required"): REFUSED,
    (401, "authError"): REFUSED,
    (403, "accessNotConfigured"): REFUSED,
    (403, "accountDisabled"): REFUSED,
    (403, "forbidden"): REFUSED,
    (403, "insufficientPermissions"): REFUSED,
    (403, "objectUnderActiveHold"): REFUSED,
    (403, "quotaExceeded"): REFUSED,
    (403, "rateLimitExceeded"): NOT_DONE,
    (403, "retentionPolicyNotMet"): REFUSED,
    (403, "userRateLimitExceeded"): NOT_DONE,
    (405, "methodNotAllowed"): REFUSED,
    (409, "conflict"): NOT_DONE,
    (413, "uploadTooLarge"): REFUSED,
    (429, "rateLimitExceeded"): NOT_DONE,
    (500, "backendError"): UNKNOWN,
    (500, "internalError"): UNKNOWN,
    (501, "notImplemented"): REFUSED,
    (503, "backendError"): UNKNOWN,
    (504, "gatewayTimeout"): UNKNOWN,
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_answer_to_every_verb(
    runner: asyncio.Runner, responder: Responder, store: GcsStore, verb: str
) -> None:
    call, doing, _ = VERBS[verb]
    for (status, reason), reply in ANSWERS.items():
        responder.script(error(status, reason))
        caught = runner.run(failure_of(call(store)))
        assert caught.reply is reply, (reason, caught)
        assert caught.path == PATH
        assert str(caught).startswith(f"cannot {doing} 'gs://bucket/out/a b': "), reason
        assert reason in str(caught)
        assert "said so" not in str(caught)
        assert "\n" not in str(caught)
        assert caught.errno
        assert caught.strerror
    # And each was sent once.
    assert len(responder.received) == len(ANSWERS)


@pytest.mark.parametrize("verb", VERBS)
def test_a_denied_verb_names_the_permission(
    runner: asyncio.Runner, responder: Responder, store: GcsStore, verb: str
) -> None:
    call, doing, permission = VERBS[verb]
    responder.script(error(403, "forbidden"))
    caught = runner.run(failure_of(call(store)))
    assert f"cannot {doing} 'gs://bucket/out/a b'" in str(caught)
    assert f"allow {permission} " in str(caught)
    assert caught.errno == errno.EACCES


@pytest.mark.parametrize("verb", VERBS)
def test_a_missing_bucket_is_said_to_be_missing(
    runner: asyncio.Runner, responder: Responder, store: GcsStore, verb: str
) -> None:
    """And is not taken for a file that is not there."""
    responder.script(NO_BUCKET)
    caught = runner.run(failure_of(VERBS[verb][0](store)))
    assert "there is no such bucket" in str(caught)
    assert caught.reply is REFUSED
    assert len(responder.received) == 1


def test_what_is_gone_is_deleted(
    runner: asyncio.Runner, responder: Responder, store: GcsStore
) -> None:
    responder.script(error(404, "notFound"))
    runner.run(store.delete(PATH, expecting=Expect.ANYTHING))
    caught = runner.run(failure_of(store.delete(PATH, expecting=Token("7"))))
    assert caught.reply is REFUSED
    assert caught.errno == errno.ENOENT


@pytest.mark.parametrize("verb", ["put", "delete", "rename"])
def test_a_condition_that_is_not_met_is_a_refusal(
    runner: asyncio.Runner, responder: Responder, store: GcsStore, verb: str
) -> None:
    responder.script(error(412, "conditionNotMet"))
    caught = runner.run(failure_of(CHANGES[verb][0](store)))
    assert caught.reply is REFUSED
    assert caught.errno == errno.EEXIST
    assert "something else stands there than was expected" in str(caught)


def test_a_requester_pays_bucket_is_explained(
    runner: asyncio.Runner, responder: Responder, store: GcsStore
) -> None:
    message = "Bucket is a requester pays bucket but no user project provided."
    responder.script(error(400, "required", message=message))
    caught = runner.run(failure_of(CHANGES["put"][0](store)))
    assert "say requester_pays=True" in str(caught)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        (
            {
                "Retry-After": "Fri, 20 Nov 2026 14:00:30 GMT",
                "Date": "Fri, 20 Nov 2026 14:00:00 GMT",
            },
            30.0,
        ),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": f"Fri, 20 Nov {'9' * 20} 14:00:30 GMT"}, None),
        ({}, None),
    ],
)
def test_the_store_says_how_long_to_wait(
    runner: asyncio.Runner,
    responder: Responder,
    store: GcsStore,
    headers: dict[str, str],
    seconds: float | None,
) -> None:
    responder.script(error(429, "rateLimitExceeded", headers))
    assert runner.run(failure_of(CHANGES["put"][0](store))).retry_after_s == seconds


@pytest.mark.parametrize("verb", CHANGES)
def test_a_name_that_was_just_written_is_left_alone_for_a_second(
    runner: asyncio.Runner, responder: Responder, store: GcsStore, verb: str
) -> None:
    """The service does not say how long: it is in its documentation."""
    responder.script(
        error(
            429,
            "rateLimitExceeded",
            message="The object b/o exceeded the rate limit for object mutation operations "
            "(create, update, and delete). Please reduce your request rate.",
        )
    )
    caught = runner.run(failure_of(CHANGES[verb][0](store)))
    assert caught.reply is NOT_DONE
    assert caught.retry_after_s == 1.0


@pytest.mark.parametrize(
    "answer",
    [
        said({}),
        said({"generation": "x"}),
        said({"generation": "7", "size": "2"}),
        Answer(200, b""),
        Answer(200, b"[]"),
        Answer(200, b"{", announced=99),
    ],
)
def test_a_write_whose_answer_names_no_generation_is_in_doubt(
    runner: asyncio.Runner, responder: Responder, store: GcsStore, answer: Answer
) -> None:
    responder.script(answer)
    caught = runner.run(failure_of(CHANGES["put"][0](store)))
    assert caught.reply is UNKNOWN


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
@pytest.mark.parametrize("verb", VERBS)
def test_a_redirection_is_not_followed(
    runner: asyncio.Runner, responder: Responder, store: GcsStore, verb: str, status: int
) -> None:
    """Nobody but the endpoint is shown the token; what was done by then, it does not say."""
    other = Responder()
    runner.run(other.__aenter__())
    try:
        location = f"{other.url}/planted-upload?upload_id=planted-upload"
        responder.script(Answer(status, headers={"Location": location}))
        caught = runner.run(failure_of(VERBS[verb][0](store)))
        assert caught.reply is UNKNOWN
        assert f"redirection to {other.url} (HTTP {status}), which is not followed" in str(caught)
        assert "check endpoint_url=" in str(caught)
        assert "planted-upload" not in str(caught)
        assert len(responder.received) == 1
        assert other.received == []
    finally:
        runner.run(other.__aexit__())


def test_a_token_is_not_fetched_elsewhere(
    runner: asyncio.Runner, responder: Responder, opening: Opening
) -> None:
    """The refresh token and the client's secret go to the one who was named."""
    other = Responder()
    runner.run(other.__aenter__())
    try:
        credentials = Credentials(  # type: ignore[no-untyped-call]  # google-auth ships no types
            None,
            refresh_token="planted-refresh-token",
            client_id="id",
            client_secret="planted-client-secret",
            token_uri=f"{responder.url}/token",
        )
        responder.script(Answer(307, headers={"Location": f"{other.url}/token"}))
        caught = runner.run(failure_of(VERBS["put"][0](opening(token=credentials))))
        assert caught.reply is NOT_DONE
        assert "no token could be fetched" in str(caught)
        assert "planted" not in str(caught)
        assert len(responder.received) == 1
        assert other.received == []
    finally:
        runner.run(other.__aexit__())
