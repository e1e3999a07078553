"""What a request to S3 asks for: for the proxy's rules, and for the server of our own.

https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# By method and by the first parameter of the query that names a resource, or "".
_OF_KEYS = {
    ("PUT", "uploadId"): "UploadPart",
    ("PUT", ""): "PutObject",
    ("PUT", "renameObject"): "RenameObject",
    ("POST", "uploads"): "CreateMultipartUpload",
    ("POST", "uploadId"): "CompleteMultipartUpload",
    ("GET", "uploadId"): "ListParts",
    ("GET", ""): "GetObject",
    ("HEAD", ""): "HeadObject",
    ("DELETE", "uploadId"): "AbortMultipartUpload",
    ("DELETE", ""): "DeleteObject",
}
_OF_BUCKETS = {
    ("POST", "delete"): "DeleteObjects",
    ("GET", "uploads"): "ListMultipartUploads",
    ("GET", "versions"): "ListObjectVersions",
    ("GET", "versioning"): "GetBucketVersioning",
    ("GET", "location"): "GetBucketLocation",
    ("GET", "list-type"): "ListObjectsV2",
    ("GET", "session"): "CreateSession",
    ("GET", ""): "ListObjects",
    ("HEAD", ""): "HeadBucket",
    ("PUT", "versioning"): "PutBucketVersioning",
    ("PUT", ""): "CreateBucket",
    ("DELETE", ""): "DeleteBucket",
}
_OF_SERVICE = {("GET", ""): "ListBuckets"}
_COPIES = {"PutObject": "CopyObject", "UploadPart": "UploadPartCopy"}
_RESOURCES = frozenset(
    {
        *(resource for _, resource in (*_OF_KEYS, *_OF_BUCKETS) if resource),
        # Without these such a request would be taken for a plain one.
        *("acl", "attributes", "cors", "encryption", "lifecycle", "object-lock", "policy"),
        *("restore", "retention", "tagging", "versionId"),
    }
)


def operation_name(
    method: str, bucket: str, key: str, query: Mapping[str, str], headers: Mapping[str, str]
) -> str | None:
    """The action, as in the API reference; None: there is none, or none that a test asks for."""
    resource = ""
    if query:
        resource = next((name for name in query if name in _RESOURCES), "")
    known = _OF_KEYS if key else _OF_BUCKETS if bucket else _OF_SERVICE
    name = known.get((method, resource))
    return _COPIES.get(name or "") if "x-amz-copy-source" in headers else name
