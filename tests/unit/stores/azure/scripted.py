"""Azure at a server that answers what the test tells it to."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, ClassVar
from xml.sax.saxutils import escape

from fsspec_commit.errors import Reply
from fsspec_commit_stores.azure import AzureStore, namespaces
from tests.unit.stores.azure import answers
from tests.unit.stores.azure.bucket import FlatContainer, Gen2Container
from tests.unit.stores.azure.verbs import FLAT, GEN2
from tests.unit.stores.responder import Answer, Received
from tests.unit.stores.scripted import Scripted

KEY = b64encode(b"planted-account-key-of-32-bytes!").decode()


def account_at(url: str, credential: str = f"AccountKey={KEY}") -> str:
    """A connection string; both endpoints are *url*."""
    account = f"{url}/account"
    return (
        f"DefaultEndpointsProtocol=http;AccountName=account;{credential};"
        f"BlobEndpoint={account};DfsEndpoint={account}"
    )


NOT_DONE, REFUSED, UNKNOWN = Reply.NOT_DONE, Reply.REFUSED, Reply.UNKNOWN


class ScriptedAzure(Scripted[AzureStore]):
    """With a hierarchical namespace or without: the account says so while a store is opened."""

    is_hierarchical: ClassVar[bool]
    adapter = AzureStore
    url_of_store = "abfs://bucket/out"
    error = staticmethod(answers.said)
    busy = (503, "ServerBusy")
    denied = (403, "AuthorizationPermissionMismatch")
    missing = (404, "BlobNotFound")
    not_as_expected = (412, "ConditionNotMet")
    no_bucket = answers.said(404, "ContainerNotFound")
    address_option = "the account"
    no_answer_of_its_own = "somebody else than Azure has answered (HTTP {}"
    requests_in_doubt = 1
    # A code and an etag that anybody can write; forms of other services behind the same gateway.
    disguise: ClassVar = {"ETag": '"e1"', "x-ms-error-code": "BlobNotFound"}
    impostors = tuple(
        Answer(status, page)
        for status in (200, 404)
        for page in (
            b"{}",
            b'<?xml version="1.0"?><Error><Code>BlobNotFound</Code></Error>',
            b'{"error": {"code": "ResourceNotFound", "message": "The resource was not found."}}',
            b'{"paths": []}',
            b"<EnumerationResults><Blobs/><NextMarker/></EnumerationResults>",
        )
    )
    secrets = (KEY, "planted-signature")
    logger = ""  # of whoever it is
    errors: ClassVar = {
        (400, "InvalidBlockList"): REFUSED,
        (400, "InvalidHeaderValue"): REFUSED,
        (400, "Md5Mismatch"): NOT_DONE,
        (401, "InvalidAuthenticationInfo"): REFUSED,
        (401, "NoAuthenticationInformation"): REFUSED,
        (403, "AuthenticationFailed"): REFUSED,
        (403, "AuthorizationFailure"): REFUSED,
        (403, "AuthorizationPermissionMismatch"): REFUSED,
        (404, "ContainerNotFound"): REFUSED,
        (404, "FilesystemNotFound"): REFUSED,
        (409, "BlobAlreadyExists"): REFUSED,
        (409, "BlobImmutableDueToPolicy"): REFUSED,
        (409, "ContainerBeingDeleted"): REFUSED,
        (409, "DestinationPathIsBeingDeleted"): NOT_DONE,
        (409, "PathAlreadyExists"): REFUSED,
        (409, "SnapshotsPresent"): REFUSED,
        (412, "ConditionNotMet"): REFUSED,
        (412, "LeaseIdMissing"): REFUSED,
        (412, "SourceConditionNotMet"): REFUSED,
        (413, "RequestBodyTooLarge"): REFUSED,
        (429, "TooManyRequests"): NOT_DONE,
        (500, "InternalError"): UNKNOWN,
        (500, "OperationTimedOut"): UNKNOWN,
        (501, "NotImplemented"): REFUSED,
        (503, "ServerBusy"): NOT_DONE,
    }

    def account(self, url: str) -> dict[str, Any]:
        return {"connection_string": account_at(url)}

    def patience(self, seconds: float) -> dict[str, Any]:
        return {"read_timeout": seconds}

    def secret_options(self) -> list[dict[str, Any]]:
        signature = "SharedAccessSignature=sv=2023-11-03&se=2999-01-01T00:00Z&sig=planted-signature"
        return [{}, {"connection_string": account_at(self.url, signature)}]

    def indiscreet(self, request: Received) -> tuple[Answer, Answer]:
        _, signature = self.secrets
        sent = " ".join([*self.secrets, request.target, *map(str, request.headers.items())])
        code, detail = "AuthenticationFailed", "AuthenticationErrorDetail"
        body = f"<Error><Code>{code}</Code><{detail}>{escape(sent)}</{detail}></Error>"
        headers = {"x-ms-request-id": signature + "!"}
        return Answer(403, body.encode(), headers), answers.said(400, signature)

    def open(self, url: str = "", **options: Any) -> AzureStore:
        kind = answers.told(200, headers={"x-ms-is-hns-enabled": str(self.is_hierarchical).lower()})
        answering, self.answering = self.answering, lambda _: kind
        store = super().open(url, **options)
        self.answering = answering
        self.received.clear()
        return store

    def open_at(self, url: str, **options: Any) -> AzureStore:
        namespaces._known[f"{url}/account"] = self.is_hierarchical
        return super().open_at(url, **options)

    def __exit__(self, *_: object) -> None:
        namespaces._known.clear()
        super().__exit__()


class ScriptedGen2(ScriptedAzure):
    is_hierarchical = True
    verbs = GEN2
    bucket = Gen2Container


class ScriptedFlat(ScriptedAzure):
    is_hierarchical = False
    verbs = FLAT
    bucket = FlatContainer
