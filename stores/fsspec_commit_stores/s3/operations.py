"""Every request that is ever sent: its name, what a policy must allow for it, and its answer.

What a success looks like is documented for each of them, and nothing else is taken for one: a page
that says 200 to everything would otherwise count as having deleted a file, or listed a directory.
"""

from dataclasses import dataclass
from http import HTTPStatus

_READING = "s3:GetObject (and s3:ListBucket, without which a missing file is refused as well)"


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the service.

    Attributes:
        name: What the service calls it.
        verb: What it does to a path, as in "cannot *read* …".
        permissions: What the IAM policy must allow for it.
        documents: The root of the XML that it is answered with, as AWS or others call it; none
            where the answer has no body.
        is_streamed: Whether it is answered with an object's content.
        has_etag: Whether it is answered with an etag, in a header.
        status: Of its success.
    """

    name: str
    verb: str
    permissions: str
    documents: tuple[str, ...] = ()
    is_streamed: bool = False
    has_etag: bool = False
    status: HTTPStatus = HTTPStatus.OK


OPERATIONS = {
    "head_object": Operation("HeadObject", "look at", _READING, has_etag=True),
    "get_object": Operation("GetObject", "read", _READING, is_streamed=True, has_etag=True),
    "put_object": Operation("PutObject", "write", "s3:PutObject", has_etag=True),
    "delete_object": Operation(
        "DeleteObject", "delete", "s3:DeleteObject", status=HTTPStatus.NO_CONTENT
    ),
    "delete_objects": Operation(
        "DeleteObjects", "delete all below", "s3:DeleteObject", ("DeleteResult",)
    ),
    "rename_object": Operation(
        "RenameObject", "rename to", "s3express:CreateSession (of a ReadWrite session)"
    ),
    "list_objects_v2": Operation("ListObjectsV2", "list", "s3:ListBucket", ("ListBucketResult",)),
    "list_object_versions": Operation(
        "ListObjectVersions",
        "list the versions in",
        "s3:ListBucketVersions",
        ("ListVersionsResult",),
    ),
    "get_bucket_versioning": Operation(
        "GetBucketVersioning",
        "ask for the versioning of",
        "s3:GetBucketVersioning",
        ("VersioningConfiguration", "GetBucketVersioningResponse"),
    ),
    "create_multipart_upload": Operation(
        "CreateMultipartUpload",
        "begin an upload of",
        "s3:PutObject",
        ("InitiateMultipartUploadResult", "InitiateMultipartUpload"),
    ),
    "upload_part": Operation("UploadPart", "upload a part of", "s3:PutObject", has_etag=True),
    "complete_multipart_upload": Operation(
        "CompleteMultipartUpload",
        "complete the upload of",
        "s3:PutObject",
        ("CompleteMultipartUploadResult",),
    ),
    "abort_multipart_upload": Operation(
        "AbortMultipartUpload",
        "abort the upload of",
        "s3:AbortMultipartUpload",
        status=HTTPStatus.NO_CONTENT,
    ),
    "list_parts": Operation(
        "ListParts",
        "list the parts of the upload of",
        "s3:ListMultipartUploadParts",
        ("ListPartsResult",),
    ),
    "list_multipart_uploads": Operation(
        "ListMultipartUploads",
        "list the uploads below",
        "s3:ListBucketMultipartUploads",
        ("ListMultipartUploadsResult",),
    ),
}
"""Every operation, by the name of the client's method."""
