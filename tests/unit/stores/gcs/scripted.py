"""GCS at a server that answers what the test tells it to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import aiohttp
from google.oauth2.credentials import Credentials

from fsspec_commit.errors import Reply
from fsspec_commit_stores.gcs import GcsStore
from tests.unit.stores.gcs import answers
from tests.unit.stores.gcs.bucket import GcsBucket
from tests.unit.stores.gcs.verbs import VERBS
from tests.unit.stores.scripted import Scripted

if TYPE_CHECKING:
    from tests.unit.stores.responder import Answer, Received

NOT_DONE, REFUSED, UNKNOWN = Reply.NOT_DONE, Reply.REFUSED, Reply.UNKNOWN


class ScriptedGcs(Scripted[GcsStore]):
    adapter = GcsStore
    url_of_store = "gs://bucket/out"
    verbs = VERBS
    error = staticmethod(answers.error)
    busy = (429, "rateLimitExceeded")
    denied = (403, "forbidden")
    missing = (404, "notFound")
    not_as_expected = (412, "conditionNotMet")
    no_bucket = answers.NO_BUCKET
    no_answer_of_its_own = ""  # that depends on what was asked
    requests_in_doubt = 2
    bucket = GcsBucket
    secrets = ("planted-token", "planted-upload-id")
    # Of an API gateway, of a web framework, and of another of Google's services.
    impostors = (
        answers.said({"error": "login_required"}),
        answers.said({"message": "no Route matched with those values"}, 404),
        answers.said({"status": 404, "error": "Not Found", "path": "/storage/v1/b/bucket/o"}, 404),
        answers.said({"error": {"code": 5, "message": "Not Found", "status": "NOT_FOUND"}}, 404),
        answers.said({"error": {"code": 404, "message": "Not Found"}}, 404),
    )
    # Of the pages of the JSON API, and as seen on servers.
    errors: ClassVar = {
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

    def account(self, url: str) -> dict[str, Any]:
        token = Credentials("planted-token")  # type: ignore[no-untyped-call]  # google-auth ships no types
        return {"token": token, "endpoint_url": url}

    def patience(self, seconds: float) -> dict[str, Any]:
        return {"requests_timeout": aiohttp.ClientTimeout(total=None, sock_read=seconds)}

    def indiscreet(self, request: Received) -> tuple[Answer, Answer]:
        token, address = self.secrets
        sent = " ".join([*self.secrets, request.target, *map(str, request.headers.items())])
        headers = {"X-GUploader-UploadID": address}
        return (
            answers.error(403, "forbidden", headers, message=sent),
            answers.error(400, f"bad {token}" + "!" * 80),
        )
