"""Names of a job's files: many, so held compressed, and compared by compact digests."""

import zlib
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice, pairwise
from struct import Struct
from typing import TypeAlias

Digest: TypeAlias = tuple[int, int]

_CHUNK = 4096
_BUCKETS = 256
_PAIR = Struct("<QQ")


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
    """A set of names as 128-bit digests: 16 bytes a name.

    Two names of one digest are never met by chance, and take 2⁶⁴ tries to be made on purpose.
    """

    def __init__(self) -> None:
        # Only the buckets that names fall in: most indexes hold few names, many hold none.
        self._highs = defaultdict[int, "array[int]"](_longs)
        self._lows = defaultdict[int, "array[int]"](_longs)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, name: str) -> None:
        """Add one name; it is found after :meth:`freeze`."""
        high, low = _digest(name)
        self._highs[high % _BUCKETS].append(high)
        self._lows[high % _BUCKETS].append(low)
        self._count += 1

    def freeze(self) -> set[Digest]:
        """Sort, and return the digests of names that were added more than once."""
        repeated: set[Digest] = set()
        for number in self._highs:
            ordered = sorted(zip(self._highs[number], self._lows[number], strict=True))
            repeated.update(one for one, other in pairwise(ordered) if one == other)
            self._highs[number] = array("Q", (high for high, _ in ordered))
            self._lows[number] = array("Q", (low for _, low in ordered))
        return repeated

    def holds(self, name: str) -> bool:
        """Whether *name* was added."""
        high, low = _digest(name)
        number = high % _BUCKETS
        if number not in self._highs:
            return False
        return _found(self._highs[number], self._lows[number], high, low) is not None


class NameTokens:
    """A token for each of some names: 20 bytes a name, and the token's own."""

    def __init__(self) -> None:
        self._highs = defaultdict[int, "array[int]"](_longs)
        self._lows = defaultdict[int, "array[int]"](_longs)
        self._starts = defaultdict[int, "array[int]"](_ints)
        self._tokens = defaultdict[int, bytearray](bytearray)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, name: str, token: str) -> None:
        """Add one name; it is found after :meth:`freeze`."""
        high, low = _digest(name)
        number = high % _BUCKETS
        self._highs[number].append(high)
        self._lows[number].append(low)
        self._starts[number].append(len(self._tokens[number]))
        self._tokens[number] += token.encode() + b"\0"
        self._count += 1

    def freeze(self) -> None:
        """Sort."""
        for number in self._highs:
            rows = zip(self._highs[number], self._lows[number], self._starts[number], strict=True)
            ordered = sorted(rows)
            self._highs[number] = array("Q", (high for high, _, _ in ordered))
            self._lows[number] = array("Q", (low for _, low, _ in ordered))
            self._starts[number] = array("I", (start for _, _, start in ordered))

    def get(self, name: str) -> str | None:
        """The token of *name*, if it was added."""
        high, low = _digest(name)
        number = high % _BUCKETS
        if number not in self._highs:
            return None
        place = _found(self._highs[number], self._lows[number], high, low)
        if place is None:
            return None
        start, tokens = self._starts[number][place], self._tokens[number]
        return tokens[start : tokens.index(b"\0", start)].decode()


def repeated_names(names: Iterable[str], digests: set[Digest]) -> Sequence[str]:
    """Of *names*, those that occur more than once, given the digests that do."""
    seen: set[str] = set()
    repeated: list[str] = []
    for name in names:
        if _digest(name) in digests:
            if name in seen:
                repeated.append(name)
            seen.add(name)
    return repeated


def _longs() -> "array[int]":
    return array("Q")


def _ints() -> "array[int]":
    return array("I")


def _digest(name: str) -> Digest:
    data = name.encode(errors="surrogatepass")
    high, low = _PAIR.unpack(blake2b(data, digest_size=16).digest())
    return high, low


def _found(highs: "array[int]", lows: "array[int]", high: int, low: int) -> int | None:
    place = bisect_left(highs, high)
    while place < len(highs) and highs[place] == high:
        if lows[place] == low:
            return place
        place += 1
    return None
