"""Every answer to every verb is classified: not done, refused or unknown, in one plain sentence."""

from __future__ import annotations

from errno import EACCES, EIO
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
from tests.unit.stores.responder import CLOSED, Answer
from tests.unit.stores.s3.answers import MARK, error
from tests.unit.stores.s3.verbs import CHANGES, UPLOAD
from tests.unit.stores.verbs import PATH, put, uploads

if TYPE_CHECKING:
    from tests.unit.stores.s3.scripted import ScriptedS3

NOT_DONE, REFUSED, UNKNOWN = Reply.NOT_DONE, Reply.REFUSED, Reply.UNKNOWN


@pytest.mark.parametrize("status", [503, 502, 500, 408])
@pytest.mark.parametrize("verb", CHANGES)
def test_who_is_not_s3_does_not_know(s3: ScriptedS3, verb: str, status: int) -> None:
    """A proxy's answer says nothing of what S3 has done."""
    s3.script(Answer(status, b"<html><body>nginx</body></html>"))
    caught = s3.failure_of(CHANGES[verb].call(s3.store))
    assert caught.reply is UNKNOWN
    assert str(status) in str(caught)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        *((400, code) for code in ("ExpiredToken", "InvalidToken", "TokenRefreshRequired")),
        *((403, code) for code in ("InvalidAccessKeyId", "SignatureDoesNotMatch")),
        (404, "XAdminUserNotFound"),
    ],
)
def test_credentials_that_are_none_are_no_access(s3: ScriptedS3, status: int, code: str) -> None:
    """It was EIO: records that nobody could read then were called damaged."""
    s3.script(error(status, code))
    caught = s3.failure_of(s3.store.read(PATH, limit_bytes=9))
    assert (caught.reply, caught.errno) == (REFUSED, EACCES)


def test_a_look_is_denied_without_a_word(s3: ScriptedS3) -> None:
    """The answer to a HEAD has no body, so no code."""
    for status, text in ((403, "s3:GetObject"), (400, "expired"), (500, "HTTP 500")):
        s3.script(Answer(status, headers=MARK))
        caught = s3.failure_of(s3.store.stat(PATH))
        assert text in str(caught)
        assert caught.reply is (UNKNOWN if status == 500 else REFUSED)
        assert caught.errno == (EIO if status == 500 else EACCES)


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
def test_a_completion_that_began_with_200(s3: ScriptedS3, answer: Answer, reply: Reply) -> None:
    s3.script(answer)
    caught = s3.failure_of(CHANGES["complete"].call(s3.store))
    assert caught.reply is reply


@pytest.mark.parametrize("verb", ["complete", "part"])
def test_an_upload_that_is_gone_is_a_refusal(s3: ScriptedS3, verb: str) -> None:
    s3.script(error(404, "NoSuchUpload"))
    caught = s3.failure_of(CHANGES[verb].call(s3.store))
    assert caught.reply is REFUSED
    assert "completed or aborted" in str(caught)


def test_what_is_gone_is_aborted_and_deleted(s3: ScriptedS3) -> None:
    s3.script(error(404, "NoSuchUpload"))
    s3.run(uploads(s3.store).abort(UPLOAD))
    s3.script(error(404, "NoSuchKey"))
    s3.run(s3.store.delete(PATH, expecting=Expect.ANYTHING))
    caught = s3.failure_of(s3.store.delete(PATH, expecting=Token("e1")))
    assert caught.reply is REFUSED


def test_a_clock_that_is_wrong_is_told_by_how_much(s3: ScriptedS3) -> None:
    s3.script(
        error(
            403,
            "RequestTimeTooSkewed",
            RequestTime="20261120T140500Z",
            ServerTime="2026-11-20T13:45:00Z",
        )
    )
    assert "clock is 1200 s ahead of the store's" in str(s3.failure_of(put(s3.store)))


@pytest.mark.parametrize("time", ["2026-11-20T13:45:00", "yesterday"])
def test_a_clock_is_wrong_whatever_the_time_of_the_store_looks_like(
    s3: ScriptedS3, time: str
) -> None:
    """A time without an offset ended in a TypeError, so that a refusal was in doubt."""
    s3.script(error(403, "RequestTimeTooSkewed", RequestTime="20261120T140500Z", ServerTime=time))
    caught = s3.failure_of(put(s3.store))
    assert "clock is too far from the store's" in str(caught)
    assert caught.reply is REFUSED


def test_a_wrong_region_is_named(s3: ScriptedS3) -> None:
    """Where botocore cannot follow by itself."""
    s3.script(error(301, "PermanentRedirect"))
    caught = s3.failure_of(put(s3.store))
    assert "another region" in str(caught)
    s3.script(error(400, "AuthorizationHeaderMalformed", Region="eu-north-1"))
    caught = s3.failure_of(put(s3.store))
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
