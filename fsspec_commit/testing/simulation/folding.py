"""The state of a disk that takes names of other case, or of another normal form, for one."""

import unicodedata
from dataclasses import replace
from functools import cache
from itertools import chain

from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry, Expectation, Token
from fsspec_commit.testing.simulation.bucket import Bucket, Object


@cache
def folded(name: str) -> str:
    """The common form of all names that are taken for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


class FoldingBucket(Bucket):
    """A bucket in which what stands keeps its first name, and is found by every spelling of it.

    A listing shows the name that is kept.
    """

    def kept(self, path: StorePath) -> StorePath:
        """*path* in the spelling of what stands there, as far as anything does."""
        called = {folded(one): one for one in chain(self.objects, self.directories)}
        above: str = path
        while above:
            found = called.get(folded(above))
            if found is not None:
                return StorePath(found + path[len(above) :])
            above = above.rpartition("/")[0]
        return path

    def get(self, path: StorePath) -> Object | None:
        """The object at *path*."""
        return super().get(self.kept(path))

    def entry(self, path: StorePath) -> Entry | None:
        """The object at *path*, by the name that was asked for."""
        found = super().entry(self.kept(path))
        return found if found is None or found.path == path else replace(found, path=path)

    def put(
        self, path: StorePath, data: bytes, nonce: Nonce | None, expecting: Expectation
    ) -> Token:
        """Write an object, and the directories that it needs; return its token."""
        return super().put(self.kept(path), data, nonce, expecting)

    def delete(self, path: StorePath, expecting: Expectation) -> None:
        """Delete an object."""
        super().delete(self.kept(path), expecting)

    def rename(
        self, source: StorePath, target: StorePath, token: Token | None, expecting: Expectation
    ) -> None:
        """Rename an object."""
        super().rename(self.kept(source), self.kept(target), token, expecting)

    def rename_directory(self, source: StorePath, target: StorePath) -> None:
        """Rename a directory, to a name that is free."""
        super().rename_directory(self.kept(source), self.kept(target))

    def make_directory(self, path: StorePath) -> None:
        """Make a directory, and those above it."""
        super().make_directory(self.kept(path))

    def delete_directory(self, path: StorePath) -> None:
        """Delete a directory with all below it."""
        super().delete_directory(self.kept(path))
