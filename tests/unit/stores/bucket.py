"""The keys of a bucket, shown page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from fsspec_commit.layout import StorePath
from tests.unit.stores.verbs import ROOT, all_of

if TYPE_CHECKING:
    from tests.unit.stores.responder import Answer, Received
    from tests.unit.stores.scripted import Scripted


def tree(cloud: Scripted[Any], *, without: str | None = None) -> list[str]:
    """What a store lists, but for the directory *without*."""
    left_out = None if without is None else StorePath(f"{ROOT}/{without}")
    entries = cloud.run(all_of(cloud.store.list_tree(ROOT, without=left_out)))
    return [entry.path.removeprefix(f"{ROOT}/") for entry in entries]


class FakeBucket:
    """A bucket that is listed in pages by tokens that are keys.

    Attributes:
        token: The parameter that says after which key a page begins.
        start: Another that does so, of whoever jumps over keys.
        size: The one that says how long a page may be.
        keys: What there is.
        page: How long a page is at the most.
        minds_start: Whether *start* is heard.
        minds_prefix: Whether a prefix is.
        errors: Which keys are not deleted, and why.
        listings: What was asked to be listed.
    """

    token: ClassVar[str]
    start: ClassVar[str]
    size: ClassVar[str]

    def __init__(
        self, *keys: str, page: int = 2, minds_start: bool = True, minds_prefix: bool = True
    ) -> None:
        self.keys = sorted(keys, key=str.encode)
        self.page = page
        self.minds_start = minds_start
        self.minds_prefix = minds_prefix
        self.errors: dict[str, Any] = {}
        self.listings: list[dict[str, str]] = []

    def __call__(self, request: Received) -> Answer:
        answer = self.answered(request)
        return self.listed(request.query) if answer is None else answer

    def answered(self, request: Received) -> Answer | None:
        """The answer to what is no listing."""
        return None

    def listed(self, query: dict[str, str]) -> Answer:
        self.listings.append(query)
        prefix = self.prefix_in(query) if self.minds_prefix else ""
        left = [key for key in self.keys if key.startswith(prefix) and self.is_left(key, query)]
        size = min(self.page, int(query.get(self.size, "1000")))
        return self.shown(left[:size], left[size - 1] if len(left) > size else "")

    def prefix_in(self, query: dict[str, str]) -> str:
        return query["prefix"]

    def is_left(self, key: str, query: dict[str, str]) -> bool:
        """Whether *key* comes after what the request says."""
        return key.encode() > query.get(self.token, "").encode()

    @classmethod
    def shown(cls, keys: list[str], following: str) -> Answer:
        """A page with *keys*, after which comes the one of the token *following*, if any."""
        raise NotImplementedError
