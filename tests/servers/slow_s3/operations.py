"""Which operation a request asks for, under the name of the API reference, and its reply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from tests.servers.http_service.messages import Failure, Reply
from tests.servers.slow_s3 import listings, objects, uploads
from tests.servers.slow_s3.messages import Request, document, refusal
from tests.servers.slow_s3.storage import Bucket, Storage


def _no_versioning(bucket: Bucket, request: Request) -> Reply:
    return document("VersioningConfiguration", "")


def _head_bucket(bucket: Bucket, request: Request) -> Reply:
    return Reply(headers={"x-amz-bucket-region": "us-east-1"})


def _create_session(bucket: Bucket, request: Request) -> Reply:
    """API_CreateSession: what a client of a directory bucket asks before anything else."""
    session = (
        "<Credentials><SessionToken>session</SessionToken><SecretAccessKey>secret</SecretAccessKey>"
        "<AccessKeyId>session</AccessKeyId><Expiration>2099-01-01T00:00:00Z</Expiration>"
        "</Credentials>"
    )
    return document("CreateSessionResult", session)


def _create_bucket(storage: Storage, request: Request) -> Reply:
    if request.bucket in storage.buckets:
        raise Failure(HTTPStatus.CONFLICT, "BucketAlreadyOwnedByYou")
    storage.buckets[request.bucket] = Bucket()
    return Reply(headers={"Location": f"/{request.bucket}"})


def _unknown(storage: Storage, request: Request) -> Reply:
    message = f"{request.method} {request.target}"
    raise Failure(HTTPStatus.NOT_IMPLEMENTED, "NotImplemented", message)


@dataclass(frozen=True, slots=True)
class Operation:
    """One of S3's: what does it, on a bucket that must be there or on all of the storage."""

    name: str
    on_bucket: Callable[[Bucket, Request], Reply] | None = None
    on_storage: Callable[[Storage, Request], Reply] = _unknown


_UNKNOWN = Operation("NotImplemented")
_UPLOAD_ID, _UPLOADS = "uploadId", "uploads"
# By method and by the first parameter of the query that names a resource, or "".
_ON_KEYS: dict[tuple[str, str], Operation] = {
    ("PUT", _UPLOAD_ID): Operation("UploadPart", uploads.upload_part),
    ("PUT", ""): Operation("PutObject", objects.put_object),
    ("PUT", "renameObject"): Operation("RenameObject", objects.rename_object),
    ("POST", _UPLOADS): Operation("CreateMultipartUpload", uploads.create_upload),
    ("POST", _UPLOAD_ID): Operation("CompleteMultipartUpload", uploads.complete_upload),
    ("GET", _UPLOAD_ID): Operation("ListParts", listings.list_parts),
    ("GET", ""): Operation("GetObject", objects.get_object),
    ("HEAD", ""): Operation("HeadObject", objects.head_object),
    ("DELETE", _UPLOAD_ID): Operation("AbortMultipartUpload", uploads.abort_upload),
    ("DELETE", ""): Operation("DeleteObject", objects.delete_object),
}
_ON_BUCKETS: dict[tuple[str, str], Operation] = {
    ("POST", "delete"): Operation("DeleteObjects", objects.delete_objects),
    ("GET", _UPLOADS): Operation("ListMultipartUploads", listings.list_uploads),
    ("GET", "versioning"): Operation("GetBucketVersioning", _no_versioning),
    ("GET", "list-type"): Operation("ListObjectsV2", listings.list_objects),
    ("GET", "session"): Operation("CreateSession", _create_session),
    ("HEAD", ""): Operation("HeadBucket", _head_bucket),
    ("PUT", ""): Operation("CreateBucket", on_storage=_create_bucket),
}
_RESOURCES = frozenset(
    {
        *(_UPLOAD_ID, _UPLOADS, "delete", "versioning", "location", "list-type"),
        # Not here; without them such a request would be taken for a plain one.
        *("acl", "attributes", "cors", "lifecycle", "policy", "restore", "tagging", "versions"),
        *("object-lock", "renameObject", "retention", "session", "encryption", "versionId"),
    }
)


def operation_of(request: Request) -> Operation:
    """What is asked for; its name is what it is counted under."""
    if "x-amz-copy-source" in request.headers:
        return _UNKNOWN
    resource = ""
    if request.query:
        resource = next((name for name in request.query if name in _RESOURCES), "")
    if request.bucket:
        found = _ON_KEYS if request.key else _ON_BUCKETS
        return found.get((request.method, resource), _UNKNOWN)
    return _UNKNOWN


def answer(storage: Storage, request: Request, operation: Operation) -> Reply:
    """Do it, or say why not."""
    try:
        if operation.on_bucket is not None:
            return operation.on_bucket(storage.bucket(request.bucket), request)
        return operation.on_storage(storage, request)
    except Failure as failure:
        return refusal(failure, request)
