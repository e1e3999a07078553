"""A bucket of GCS, listed page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from tests.unit.stores.bucket import FakeBucket
from tests.unit.stores.gcs.answers import DELETED, listed, resource

if TYPE_CHECKING:
    from tests.unit.stores.responder import Answer, Received


class GcsBucket(FakeBucket):
    """Its files are deleted one by one, and *errors* are answers."""

    token, start, size = "pageToken", "startOffset", "maxResults"

    def answered(self, request: Received) -> Answer | None:
        if request.method != "DELETE":
            return None
        key = unquote(request.path.rpartition("/")[2])
        if key not in self.errors:
            self.keys.remove(key)
        answer: Answer = self.errors.get(key, DELETED)
        return answer

    def is_left(self, key: str, query: dict[str, str]) -> bool:
        start = query.get(self.start, "") if self.minds_start else ""
        return super().is_left(key, query) and key.encode() >= start.encode()

    @classmethod
    def shown(cls, keys: list[str], following: str) -> Answer:
        more = {"nextPageToken": following} if following else {}
        return listed(*(resource(key) for key in keys), **more)
