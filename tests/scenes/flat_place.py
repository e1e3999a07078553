"""A destination in a flat bucket of its own, as the bucket itself sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect
from tests.flat.bucket import remove_bucket
from tests.flat.store import FLAT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.flat.bucket import Bucket


class FlatPlace:
    """A directory of a bucket that the test has made."""

    how: ClassVar[dict[str, Any]] = {}
    may_come_back = True

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self._root = f"{bucket.name}/top/out"
        self.url = f"{FLAT}://{self._root}"

    def put(self, files: Mapping[str, bytes]) -> None:
        for name, data in files.items():
            self.bucket.put(StorePath(f"{self._root}/{name}"), data, None, Expect.ANYTHING)

    def snapshot(self) -> dict[str, bytes]:
        begin = len(self._root) + 1
        return {path[begin:]: found.data for path, found in self.bucket.objects.items()}

    def directories(self) -> set[str]:
        """Of files alone: a directory that is empty is nobody's."""
        return set()

    def pending(self) -> list[str]:
        """Uploads that hold something."""
        return [upload.path for upload in self.bucket.uploads.values() if upload.parts]

    def remove(self) -> None:
        """Forget the bucket."""
        remove_bucket(self.bucket)
