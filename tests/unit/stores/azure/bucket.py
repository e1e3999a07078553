"""A container of Azure, listed page by page: of blobs, or of paths."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import unquote

from tests.unit.stores.azure.answers import told
from tests.unit.stores.bucket import FakeBucket
from tests.unit.stores.s3.answers import tag, xml

if TYPE_CHECKING:
    from tests.unit.stores.responder import Answer, Received


class FlatContainer(FakeBucket):
    """Its blobs, none jumped over; they are deleted one by one, and *errors* are answers."""

    token, start, size = "marker", "", "maxresults"

    def answered(self, request: Received) -> Answer | None:
        if request.method != "DELETE":
            return None
        key = next(key for key in self.keys if unquote(request.path).endswith(f"/{key}"))
        if key not in self.errors:
            self.keys.remove(key)
        answer: Answer = self.errors.get(key, told(202))
        return answer

    @classmethod
    def shown(cls, keys: list[str], following: str) -> Answer:
        properties = f"<Properties>{tag('Content-Length', 1)}{tag('Etag', 'e')}</Properties>"
        blobs = "".join(f"<Blob>{tag('Name', key)}{properties}</Blob>" for key in keys)
        page = xml("EnumerationResults", f"<Blobs>{blobs}</Blobs>", tag("NextMarker", following))
        return told(200, page.body)


class Gen2Container(FakeBucket):
    """Its paths."""

    token, start, size = "continuation", "", "maxResults"

    def prefix_in(self, query: dict[str, str]) -> str:
        return query["directory"] + "/"

    @classmethod
    def shown(cls, keys: list[str], following: str) -> Answer:
        paths = [{"name": key, "contentLength": "1", "etag": '"e"'} for key in keys]
        headers = {"x-ms-continuation": following}
        return told(200, json.dumps({"paths": paths}).encode(), headers)
