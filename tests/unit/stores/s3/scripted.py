"""S3 at a server that answers what the test tells it to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from fsspec_commit.errors import Reply
from fsspec_commit_stores.s3 import S3Store
from tests.unit.stores.s3 import answers
from tests.unit.stores.s3.bucket import S3Bucket
from tests.unit.stores.s3.verbs import VERBS
from tests.unit.stores.scripted import Scripted

if TYPE_CHECKING:
    from tests.unit.stores.responder import Answer, Received

NOT_DONE, REFUSED, UNKNOWN = Reply.NOT_DONE, Reply.REFUSED, Reply.UNKNOWN


class ScriptedS3(Scripted[S3Store]):
    """Some verbs ask first whether the bucket keeps versions."""

    adapter = S3Store
    url_of_store = "s3://bucket/out"
    verbs = VERBS
    error = staticmethod(answers.error)
    busy = (503, "SlowDown")
    denied = (403, "AccessDenied")
    missing = (404, "NoSuchKey")
    not_as_expected = (412, "PreconditionFailed")
    no_bucket = answers.error(404, "NoSuchBucket")
    no_answer_of_its_own = "check endpoint_url= and the proxy"
    requests_in_doubt = 3
    bucket = S3Bucket
    secrets = ("planted-secret", "planted-token", "planted-sse-key-of-32-bytes-long", "AKIAPLANTED")
    errors: ClassVar = {
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

    def account(self, url: str) -> dict[str, Any]:
        return {"key": "AKIAPLANTED", "secret": "planted-secret", "endpoint_url": url}

    def patience(self, seconds: float) -> dict[str, Any]:
        return {"config_kwargs": {"read_timeout": seconds}}

    def secret_options(self) -> list[dict[str, Any]]:
        _, token, key, _ = self.secrets
        more = {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": key}
        return [{"token": token, "s3_additional_kwargs": more}]

    def indiscreet(self, request: Received) -> tuple[Answer, Answer]:
        secret, token, *_ = self.secrets
        sent = " ".join([*self.secrets, request.target, *map(str, request.headers.items())])
        told = {"StringToSign": sent, "CanonicalRequest": sent, "Region": sent}
        headers = {"x-amz-request-id": secret + "!"}
        return (
            answers.error(
                403, "SignatureDoesNotMatch", headers, AWSAccessKeyId="AKIAPLANTED", **told
            ),
            answers.error(400, f"Bad{secret}" + "!" * 80, Region=token),
        )

    def always(self, answer: Answer) -> None:
        """Answer so whatever is asked, but that the bucket keeps no versions."""
        self.answering = lambda request: (
            answers.xml("VersioningConfiguration") if "versioning" in request.query else answer
        )

    @property
    def asked(self) -> list[Received]:
        """What was received, but for the question for versions."""
        return [one for one in self.received if "versioning" not in one.query]
