"""Long answers of S3, and two clients that are handed the same, one of which has only botocore."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.http.plain_answers import Received
from fsspec_commit_stores.s3 import S3Store, long_answers
from fsspec_commit_stores.s3.operations import OPERATIONS
from fsspec_commit_stores.s3.rehearsals import Rehearsals
from tests.unit.stores.s3.templates.outcomes import ADDRESS

if TYPE_CHECKING:
    from collections.abc import Iterator

METHODS = long_answers.LONG
NAMESPACE = ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
MARKED = ((b"x-amz-request-id", b"1"), (b"x-amz-request-charged", b"requester"))
MOMENT = "2026-11-27T08:40:00.000Z"
OWNER = "<Owner><ID>1</ID><DisplayName>me</DisplayName></Owner>"
RESTORED = (
    "<RestoreStatus><IsRestoreInProgress>false</IsRestoreInProgress>"
    f"<RestoreExpiryDate>{MOMENT}</RestoreExpiryDate></RestoreStatus>"
)
ENTRY = (
    "<Key>a&amp;b/%C3%BC+%2B%25%0D</Key><ETag>&quot;e&quot;</ETag><Size>5</Size>"
    f"<LastModified>{MOMENT}</LastModified><StorageClass>STANDARD</StorageClass>"
    f"<ChecksumAlgorithm>CRC32</ChecksumAlgorithm><ChecksumAlgorithm>SHA1</ChecksumAlgorithm>"
    f"{OWNER}{RESTORED}"
)
VERSION = f"{ENTRY}<VersionId>v1</VersionId><IsLatest>true</IsLatest>"
GONE = f"<Key>b</Key><VersionId>v2</VersionId><IsLatest>false</IsLatest>{OWNER}"
COMMON = "<CommonPrefixes><Prefix>a%2Fb/</Prefix></CommonPrefixes>"
UPLOAD = f"<Upload><Key>a%20b</Key><UploadId>u</UploadId><Initiated>{MOMENT}</Initiated></Upload>"
PART = f"<Part><PartNumber>1</PartNumber>{ENTRY}<ChecksumCRC32>AAAAAA==</ChecksumCRC32></Part>"
FULL = {
    "list_objects_v2": f"<Contents>{ENTRY}</Contents><Contents>{ENTRY}</Contents>{COMMON}",
    "list_object_versions": (
        f"<Version>{VERSION}</Version><DeleteMarker>{GONE}</DeleteMarker>"
        f"<Version>{VERSION}</Version>{COMMON}{COMMON}"
    ),
    "list_multipart_uploads": f"{UPLOAD}{UPLOAD}{COMMON}",
    "list_parts": f"{PART}{PART}{OWNER}<Initiator><ID>1</ID></Initiator>",
}
PLACES = (
    "<Name>b</Name><Prefix>a%2B</Prefix><Delimiter>%2F</Delimiter><MaxKeys>9</MaxKeys><KeyCount>1"
    "</KeyCount><IsTruncated>true</IsTruncated><NextContinuationToken>n%2B</NextContinuationToken>"
    "<KeyMarker>k%2B</KeyMarker><NextKeyMarker>n%2B</NextKeyMarker><VersionIdMarker/>"
    "<NextVersionIdMarker>v</NextVersionIdMarker><StartAfter>a%20</StartAfter>"
)
TOLD_OF = {
    "list_objects_v2": {"Prefix": "out/"},
    "list_object_versions": {"Prefix": "out/"},
    "list_multipart_uploads": {"Prefix": "out/", "EncodingType": "url"},
    "list_parts": {"Key": "out/a", "UploadId": "u"},
}


class Clients:
    """Two clients that are handed the same answers, one of which has nothing but botocore."""

    def __init__(self, runner: asyncio.Runner, ours: S3Store, theirs: S3Store) -> None:
        self.runner = runner
        self.ours = ours
        self.theirs = theirs

    def outcome(self, store: S3Store, method: str, body: bytes, status: int = 200) -> Any:
        """What a client makes of an answer, or what it raises."""
        client = store._bucket._call._client
        rehearsals = Rehearsals(client, client._endpoint.http_session)
        told = {"Bucket": "bucket", **TOLD_OF[method]}
        length = (b"Content-Length", str(len(body)).encode())
        try:
            return self.runner.run(
                rehearsals.retell(method, told, Received(status, (*MARKED, length), body))
            )
        except Exception as error:  # noqa: BLE001  # of any class: they are compared
            return type(error), ADDRESS.sub("", str(error)), getattr(error, "response", None)

    def agreed(self, method: str, body: bytes, status: int = 200) -> Any:
        """What both make of it, which must be the same."""
        ours, theirs = (
            self.outcome(store, method, body, status) for store in (self.ours, self.theirs)
        )
        assert comparable(ours) == comparable(theirs)
        return ours


def comparable(told: Any) -> Any:
    """What was *told*; of a field that is there twice botocore tells the elements themselves."""
    if isinstance(told, dict):
        return {name: comparable(value) for name, value in told.items()}
    if isinstance(told, (list, tuple)):
        return [comparable(one) for one in told]
    return (told.tag, told.text) if isinstance(told, ET.Element) else told


@contextmanager
def two_clients() -> Iterator[Clients]:
    def opened(**options: Any) -> Any:
        given = {"key": "k", "secret": "s", "endpoint_url": "http://127.0.0.1:9", **options}
        return S3Store.open("s3://bucket/out", OpenOptions(storage_options=given))

    with asyncio.Runner() as runner:
        ours, theirs = runner.run(opened()), runner.run(opened(request_templates=False))
        yield Clients(runner, ours, theirs)
        runner.run(ours.close())
        runner.run(theirs.close())


def root_of(method: str) -> str:
    return OPERATIONS[method].documents[0]


def document(method: str, *inside: str, attributes: str = NAMESPACE) -> bytes:
    root = root_of(method)
    told = f'<?xml version="1.0" encoding="UTF-8"?>\n<{root}{attributes}>{"".join(inside)}</{root}>'
    return told.encode()
