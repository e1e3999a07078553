"""Directories that a change finds missing, made for it, but never the one that must hold them."""

import errno
from collections.abc import Awaitable, Callable
from typing import TypeVar

from fsspec_commit.layout import StorePath
from fsspec_commit_stores.hdfs.failures import MISSING, RequestFailedError, refusal
from fsspec_commit_stores.hdfs.requests import Requests
from fsspec_commit_stores.http.requests import raising_store_errors

T = TypeVar("T")


def parent_of(path: StorePath) -> StorePath:
    """The directory that *path* is in."""
    return StorePath(path.rpartition("/")[0])


class Directories:
    """Makes directories below one root.

    Attributes:
        root: The destination.
    """

    def __init__(self, requests: Requests, root: StorePath) -> None:
        self.root = root
        self._requests = requests

    def check(self, verb: str, *paths: StorePath) -> None:
        """Refuse a path outside the destination (P10), and one that a server would read as another.

        Raises:
            StoreError: `REFUSED`.
        """
        for path in paths:
            if path == self.root:
                continue
            names = path.removeprefix(f"{self.root}/")
            if names == path:
                raise refusal(verb, path, f"it is outside of {self.root!r}", errno.EINVAL)
            if not {"", ".", ".."}.isdisjoint(names.split("/")):
                why = "empty, '.' and '..' components name nothing here"
                raise refusal(verb, path, why, errno.EINVAL)

    async def with_parent(
        self, path: StorePath, within: StorePath | None, change: Callable[[], Awaitable[T]]
    ) -> T:
        """Apply *change*, which needs the directory of *path*; make that if it is missing, once.

        Raises:
            RequestFailedError: It fails all the same.
            StoreError: *within* is missing.
        """
        try:
            return await change()
        except RequestFailedError as error:
            if not error.says(MISSING):
                raise
        await self.make(parent_of(path), within)
        return await change()

    async def make(self, directory: StorePath, within: StorePath | None) -> None:
        """Make a directory and those above it up to *within*, which must exist; ``None`` makes all.

        One at a time, each in one that must be there: a request for all of them would bring back
        an area that somebody is removing.

        Raises:
            RequestFailedError: A file is in the way.
            StoreError: *within* is missing.
        """
        if within is None:
            await self._requests.make_directories(directory)
            return
        if directory == within or not directory.startswith(f"{within}/"):
            if await self._requests.status(directory) is None:
                raise refusal("write in", within, "it is gone", errno.ENOENT)
            return
        for _ in range(2):
            try:
                await self._requests.make_directory(directory)
            except RequestFailedError as error:
                if not error.says(MISSING):
                    raise
            else:
                return
            await self.make(parent_of(directory), within)
        raise refusal("write in", within, "somebody else is removing it", errno.ENOENT)

    @raising_store_errors
    async def make_directory(self, path: StorePath, *, within: StorePath) -> None:  # noqa: ARG002  # known to exist
        """Make the directory *path* and all above it by one request: `MakesDirectories`.

        Raises:
            StoreError: A file is in the way, or it is not known.
        """
        self.check("make the directory", path)
        await self._requests.make_directories(path)
