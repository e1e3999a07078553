"""What does each operation, by its name in the API reference."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.servers.http_service.messages import Failure, Reply
from tests.servers.slow_s3 import listings, objects, uploads
from tests.servers.slow_s3.messages import Request, document, refusal
from tests.servers.slow_s3.storage import Bucket, Storage

if TYPE_CHECKING:
    from collections.abc import Callable


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


def _refuse(bucket: Bucket, request: Request) -> Reply:
    message = f"{request.method} {request.target}"
    raise Failure(HTTPStatus.NOT_IMPLEMENTED, "NotImplemented", message)


# All that it can do, on a bucket that must be there; what it cannot it does not pretend to.
_OPERATIONS: dict[str, Callable[[Bucket, Request], Reply]] = {
    "AbortMultipartUpload": uploads.abort_upload,
    "CompleteMultipartUpload": uploads.complete_upload,
    "CreateMultipartUpload": uploads.create_upload,
    "CreateSession": _create_session,
    "DeleteObject": objects.delete_object,
    "DeleteObjects": objects.delete_objects,
    "GetBucketVersioning": _no_versioning,
    "GetObject": objects.get_object,
    "HeadBucket": _head_bucket,
    "HeadObject": objects.head_object,
    "ListMultipartUploads": listings.list_uploads,
    "ListObjectsV2": listings.list_objects,
    "ListParts": uploads.list_parts,
    "PutObject": objects.put_object,
    "RenameObject": objects.rename_object,
    "UploadPart": uploads.upload_part,
}


def answer(storage: Storage, request: Request) -> Reply:
    """Do it, or say why not."""
    try:
        if request.operation == "CreateBucket":
            return _create_bucket(storage, request)
        operate = _OPERATIONS.get(request.operation, _refuse)
        return operate(storage.bucket(request.bucket), request)
    except Failure as failure:
        return refusal(failure, request)
