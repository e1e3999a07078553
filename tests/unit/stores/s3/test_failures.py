"""Every answer to every verb is classified: not done, refused or unknown, in one plain sentence."""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import (
    ClientError,
    CredentialRetrievalError,
    MetadataRetrievalError,
    SSLError,
)

from fsspec_commit.errors import Reply
from fsspec_commit.store import Expect, Token
from fsspec_commit_stores.s3.failures import S3Request, failed
from tests.unit.stores.s3.responder import CLOSED, MARK, Answer, Responder, error
from tests.unit.stores.s3.verbs import (
    CHANGES,
    PATH,
    UPLOAD,
    VERBS,
    failure_of,
    uploads,
    versioning_or,
)

if TYPE_CHECKING:
    import asyncio

    from fsspec_commit_stores.s3 import S3Store

NOT_DONE, REFUSED, UNKNOWN = Reply.NOT_DONE, Reply.REFUSED, Reply.UNKNOWN
ANSWERS: dict[tuple[int, str], Reply] = {
    (400, "BadDigest"): NOT_DONE,
    (400, "EntityTooSmall"): REFUSED,
    (400, "ExpiredToken"): REFUSED,
    (400, "IncompleteBody"): NOT_DONE,
    (400, "InvalidArgument"): REFUSED,
    (400, "RequestTimeout"): NOT_DONE,
    (403, "AccessDenied"): REFUSED,
    (403, "InvalidAccessKeyId"): REFUSED,
    (403, "RequestTimeTooSkewed"): REFUSED,
    (403, "SignatureDoesNotMatch"): REFUSED,
    (404, "NoSuchBucket"): REFUSED,
    (405, "MethodNotAllowed"): REFUSED,
    (408, "RequestTimeout"): UNKNOWN,  # Ceph
    (409, "ConditionalRequestConflict"): NOT_DONE,
    (409, "OperationAborted"): NOT_DONE,
    (409, "ObjectParentIsFile"): REFUSED,
    (412, "PreconditionFailed"): REFUSED,
    (429, "TooManyRequests"): NOT_DONE,
    (500, "InternalError"): UNKNOWN,
    (501, "NotImplemented"): REFUSED,
    (502, "BadGateway"): UNKNOWN,
    (503, "RequestTimeout"): UNKNOWN,  # MinIO
    (503, "ServiceUnavailable"): NOT_DONE,
    (503, "SlowDown"): NOT_DONE,
    (503, "SlowDownWrite"): UNKNOWN,
    (504, "GatewayTimeout"): UNKNOWN,
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_answer_to_every_verb(
    runner: asyncio.Runner, responder: Responder, store: S3Store, verb: str
) -> None:
    call, doing, _ = VERBS[verb]
    for (status, code), reply in ANSWERS.items():
        responder.answering = versioning_or(error(status, code))
        caught = runner.run(failure_of(call(store)))
        assert caught.reply is reply, (code, caught)
        assert caught.path == PATH
        assert str(caught).startswith(f"cannot {doing} 's3://bucket/out/a b': "), code
        assert code in str(caught)
        assert "\n" not in str(caught)
        assert caught.errno
        assert caught.strerror
    # And each was sent once.
    asked = [one for one in responder.received if "versioning" not in one.query]
    assert len(asked) == len(ANSWERS)


@pytest.mark.parametrize("status", [503, 502, 500, 408])
@pytest.mark.parametrize("verb", CHANGES)
def test_who_is_not_s3_does_not_know(
    runner: asyncio.Runner, responder: Responder, store: S3Store, verb: str, status: int
) -> None:
    """A proxy's answer says nothing of what S3 has done."""
    responder.script(Answer(status, b"<html><body>nginx</body></html>"))
    caught = runner.run(failure_of(CHANGES[verb][0](store)))
    assert caught.reply is UNKNOWN
    assert str(status) in str(caught)


@pytest.mark.parametrize("verb", VERBS)
def test_a_denied_verb_names_the_permission(
    runner: asyncio.Runner, responder: Responder, store: S3Store, verb: str
) -> None:
    call, doing, action = VERBS[verb]
    responder.answering = versioning_or(error(403, "AccessDenied"))
    caught = runner.run(failure_of(call(store)))
    assert f"cannot {doing} 's3://bucket/out/a b'" in str(caught)
    assert re.search(rf"allow s3:{action}\b", str(caught))
    assert caught.errno == errno.EACCES


def test_a_look_is_denied_without_a_word(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    """The answer to a HEAD has no body, so no code."""
    for status, text in ((403, "s3:GetObject"), (400, "expired"), (500, "HTTP 500")):
        responder.script(Answer(status, headers=MARK))
        caught = runner.run(failure_of(store.stat(PATH)))
        assert text in str(caught)
        assert caught.reply is (UNKNOWN if status == 500 else REFUSED)


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (error(200, "InternalError"), UNKNOWN),
        (error(200, "SlowDown"), NOT_DONE),
        (error(200, "PreconditionFailed"), REFUSED),
        (error(200, "NoSuchUpload"), REFUSED),
        (error(200, "AccessDenied"), REFUSED),
        (Answer(200), UNKNOWN),
        (Answer(200, b"<Complete"), UNKNOWN),
        (Answer(200, b"<CompleteMultipartUploadResult/>"), UNKNOWN),
        (Answer(200, b"<Comp", announced=99), UNKNOWN),
        (CLOSED, UNKNOWN),
    ],
)
def test_a_completion_that_began_with_200(
    runner: asyncio.Runner, responder: Responder, store: S3Store, answer: Answer, reply: Reply
) -> None:
    responder.script(answer)
    caught = runner.run(failure_of(CHANGES["complete"][0](store)))
    assert caught.reply is reply


@pytest.mark.parametrize("verb", ["complete", "part"])
def test_an_upload_that_is_gone_is_a_refusal(
    runner: asyncio.Runner, responder: Responder, store: S3Store, verb: str
) -> None:
    responder.script(error(404, "NoSuchUpload"))
    caught = runner.run(failure_of(CHANGES[verb][0](store)))
    assert caught.reply is REFUSED
    assert "completed or aborted" in str(caught)


def test_what_is_gone_is_aborted_and_deleted(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    responder.script(error(404, "NoSuchUpload"))
    runner.run(uploads(store).abort(UPLOAD))
    responder.script(error(404, "NoSuchKey"))
    runner.run(store.delete(PATH, expecting=Expect.ANYTHING))
    caught = runner.run(failure_of(store.delete(PATH, expecting=Token("e1"))))
    assert caught.reply is REFUSED


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
    store: S3Store,
    headers: dict[str, str],
    seconds: float | None,
) -> None:
    responder.script(error(503, "SlowDown", headers))
    assert runner.run(failure_of(CHANGES["put"][0](store))).retry_after_s == seconds


def test_a_clock_that_is_wrong_is_told_by_how_much(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    responder.script(
        error(
            403,
            "RequestTimeTooSkewed",
            RequestTime="20261120T140500Z",
            ServerTime="2026-11-20T13:45:00Z",
        )
    )
    assert "clock is 1200 s ahead of the store's" in str(
        runner.run(failure_of(CHANGES["put"][0](store)))
    )


@pytest.mark.parametrize("time", ["2026-11-20T13:45:00", "yesterday"])
def test_a_clock_is_wrong_whatever_the_time_of_the_store_looks_like(
    runner: asyncio.Runner, responder: Responder, store: S3Store, time: str
) -> None:
    """A time without an offset ended in a TypeError, so that a refusal was in doubt."""
    responder.script(
        error(403, "RequestTimeTooSkewed", RequestTime="20261120T140500Z", ServerTime=time)
    )
    caught = runner.run(failure_of(CHANGES["put"][0](store)))
    assert "clock is too far from the store's" in str(caught)
    assert caught.reply is REFUSED


def test_a_wrong_region_is_named(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    """Where botocore cannot follow by itself."""
    responder.script(error(301, "PermanentRedirect"))
    caught = runner.run(failure_of(CHANGES["put"][0](store)))
    assert "another region" in str(caught)
    responder.script(error(400, "AuthorizationHeaderMalformed", Region="eu-north-1"))
    caught = runner.run(failure_of(CHANGES["put"][0](store)))
    assert "'eu-north-1'" in str(caught)
    assert "region_name" in str(caught)
    assert caught.reply is REFUSED


@pytest.mark.parametrize(
    "failure",
    [
        SSLError(endpoint_url="https://s3.example", error="unknown issuer"),
        MetadataRetrievalError(error_msg="503"),
        CredentialRetrievalError(provider="container-role", error_msg="503"),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_what_is_wrong_at_first_is_refused_and_passes_once_it_has_been_right(
    failure: Exception,
) -> None:
    """An ingress that restarts shows a certificate of its own, after the decision as well."""
    asked = S3Request("write", PATH, "s3:PutObject", "https://s3.example")
    assert failed(asked, failure, first_tries=1).reply is REFUSED
    assert failed(asked, failure, first_tries=0).reply is NOT_DONE


@pytest.mark.parametrize(
    ("status", "code", "reply"),
    [
        (403, "AccessDenied", REFUSED),
        (400, "Throttling", NOT_DONE),
        (500, "InternalFailure", NOT_DONE),
    ],
)
def test_a_role_that_is_not_granted_is_not_taken_for_the_stores_answer(
    status: int, code: str, reply: Reply
) -> None:
    told = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    asked = S3Request("write", PATH, "s3:PutObject", "https://s3.amazonaws.com")
    caught = failed(asked, ClientError(told, "AssumeRole"), first_tries=0)
    assert caught.reply is reply
    assert f"no credentials could be fetched (AssumeRole: {code})" in str(caught)
    assert "PutObject" not in str(caught)
