"""Where the pages of a listing begin: no place comes twice, or the listing would never end."""

from collections.abc import Mapping
from typing import Any

from fsspec_commit.layout import StorePath
from fsspec_commit_stores.s3.requests import Bucket


class Places:
    """The places at which one listing has gone on.

    Args:
        bucket: Whose listing it is.
        method: The request that is answered by pages.
        path: What is listed, for messages.
    """

    def __init__(self, bucket: Bucket, method: str, path: StorePath) -> None:
        self._bucket = bucket
        self._method = method
        self._path = path
        self._seen = set[tuple[object, ...]]()

    def next(self, place: Mapping[str, Any]) -> dict[str, Any]:
        """*place*, where a page says that the next one begins: the parameters that ask for it.

        Raises:
            StoreError: The page does not say where, or names a place that was there before.
        """
        named = tuple(place.values())
        if not all(named) or named in self._seen:
            why = "the store says that there is more, and not where"
            raise self._bucket.doubt(self._method, self._path, why)
        self._seen.add(named)
        return dict(place)

    def clear(self) -> None:
        """Begin anew: what was listed before is there no more."""
        self._seen.clear()
