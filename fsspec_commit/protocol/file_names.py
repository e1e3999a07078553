"""Names of a job's files: many, so held compressed, and compared by compact digests."""

import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise

_CHUNK = 4096
_BUCKETS = 256


class FileNames(Iterable[str]):
    """Final relative names; sized, iterable again and again, held compressed.

    A million names of one job take less than 16 MB; they come back in the order they were added.
    """

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._recent: list[str] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        for chunk in self._chunks:
            yield from zlib.decompress(chunk).decode().split("\0")
        yield from self._recent

    def __repr__(self) -> str:
        return f"<FileNames of {self._count} files>"

    def extend(self, names: Iterable[str]) -> None:
        """Add *names*, which hold no NUL."""
        coming = iter(names)
        while some := list(islice(coming, _CHUNK - len(self._recent))):
            self._recent += some
            self._count += len(some)
            if len(self._recent) == _CHUNK:
                self._chunks.append(zlib.compress("\0".join(self._recent).encode(), 1))
                self._recent = []


class NameIndex:
    """A set of names as 64-bit hashes: 8 bytes a name.

    An answer of "no" is certain. A "yes" is a candidate, to be compared by name: the hash is
    Python's own, seeded per process, so collisions can be neither predicted nor persisted.
    """

    def __init__(self) -> None:
        self._buckets = [array("q") for _ in range(_BUCKETS)]
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, name: str) -> None:
        """Add one name; it is found after :meth:`freeze`."""
        digest = hash(name)
        self._buckets[digest % _BUCKETS].append(digest)
        self._count += 1

    def freeze(self) -> "set[int]":
        """Sort, and return the hashes that more than one name has."""
        repeated: set[int] = set()
        for number, bucket in enumerate(self._buckets):
            ordered = array("q", sorted(bucket))
            repeated.update(one for one, other in pairwise(ordered) if one == other)
            self._buckets[number] = ordered
        return repeated

    def may_hold(self, name: str) -> bool:
        """Whether *name* may have been added; False is certain."""
        digest = hash(name)
        bucket = self._buckets[digest % _BUCKETS]
        place = bisect_left(bucket, digest)
        return place < len(bucket) and bucket[place] == digest


def repeated_names(names: Iterable[str], hashes: "set[int]") -> Sequence[str]:
    """Of *names*, those that occur more than once, given the hashes that do."""
    seen: set[str] = set()
    repeated: list[str] = []
    for name in names:
        if hash(name) in hashes:
            if name in seen:
                repeated.append(name)
            seen.add(name)
    return repeated
