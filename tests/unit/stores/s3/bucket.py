"""A bucket of S3, listed page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote_plus
from xml.etree import ElementTree as ET

from tests.unit.stores.bucket import FakeBucket
from tests.unit.stores.s3.answers import tag, xml

if TYPE_CHECKING:
    from tests.unit.stores.responder import Answer, Received


class S3Bucket(FakeBucket):
    """Without versions; its files are deleted many at once, and *errors* are codes."""

    token, start, size = "continuation-token", "start-after", "max-keys"

    def answered(self, request: Received) -> Answer | None:
        if "versioning" in request.query:
            return xml("VersioningConfiguration")
        return self.deleted(request) if "delete" in request.query else None

    def is_left(self, key: str, query: dict[str, str]) -> bool:
        start = query.get(self.start, "") if self.minds_start else ""
        return super().is_left(key, query) and key.encode() > start.encode()

    @classmethod
    def shown(cls, keys: list[str], following: str) -> Answer:
        contents = (
            f'<Contents>{tag("Key", quote_plus(key))}<Size>1</Size><ETag>"e"</ETag></Contents>'
            for key in keys
        )
        more = tag("NextContinuationToken", following) if following else ""
        truth = tag("IsTruncated", "true" if following else "false")
        return xml("ListBucketResult", "<EncodingType>url</EncodingType>", truth, more, *contents)

    def deleted(self, request: Received) -> Answer:
        nodes = ET.fromstring(request.body).iter()
        keys = [str(node.text) for node in nodes if node.tag.endswith("Key")]
        self.keys = [key for key in self.keys if key not in keys or key in self.errors]
        errors = (
            f"<Error>{tag('Key', key)}{tag('Code', self.errors[key])}</Error>"
            for key in keys
            if key in self.errors
        )
        return xml("DeleteResult", *errors)
