"""The names of a job's files: since they are many, held compressed and compared by digests."""

import zlib
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice, pairwise
from struct import Struct
from typing import Self, TypeAlias, TypeVar

Digest: TypeAlias = tuple[int, int]
K = TypeVar("K", bound=Hashable)

_CHUNK = 4096
_BUCKETS = 256
_GROUP = 4096
_GROUPS_MAX = 0xFFFF
_OPEN_MAX = 2
_RECENT_BYTES_MAX = 4096
_PAIR = Struct("<QQ")


class FileNames(Iterable[str]):
    """Names relative to the destination, held compressed; sized, and iterable repeatedly.

    A million names of one job take less than 16 MB. They come in the order they were added.
    """

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._recent: list[str] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        for number in range(self.chunk_count):
            yield from self.chunk(number)

    @property
    def chunk_count(self) -> int:
        """How many chunks there are, at least one."""
        return len(self._chunks) + 1

    def chunk(self, number: int) -> Sequence[str]:
        """Some thousand names that were added in sequence; the last chunk may be empty."""
        if number == len(self._chunks):
            return self._recent
        return zlib.decompress(self._chunks[number]).decode().split("\0")

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


class NameIndex(Container[str]):
    """A set of names as 128-bit digests: 18 bytes a name.

    Two names with one digest do not occur by chance, and take 2⁶⁴ tries to construct.
    """

    def __init__(self) -> None:
        # Only the buckets that names fall in: most indexes hold few names, many hold none.
        self._buckets = defaultdict[int, _Bucket](_Bucket)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def extend(self, names: Iterable[str]) -> None:
        """Add *names* as one group; they can be looked up after :meth:`freeze`."""
        group, buckets = min(self._count // _GROUP, _GROUPS_MAX), self._buckets
        for high, low in map(_digest, names):
            bucket = buckets[high % _BUCKETS]
            bucket.highs.append(high)
            bucket.lows.append(low)
            bucket.groups.append(group)
            self._count += 1

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        """An index of *names*, frozen."""
        index = cls()
        index.extend(names)
        index.freeze()
        return index

    def freeze(self) -> set[Digest]:
        """Sort, and return the digests of names that were added more than once."""
        repeated: set[Digest] = set()
        begin = 0
        for bucket in self._buckets.values():
            rows = sorted(zip(bucket.highs, bucket.lows, bucket.groups, strict=True))
            digests = [(high, low) for high, low, _ in rows]
            repeated.update(one for one, other in pairwise(digests) if one == other)
            bucket.highs = array("Q", (high for high, _ in digests))
            bucket.lows = array("Q", (low for _, low in digests))
            bucket.groups = array("H", (group for _, _, group in rows))
            bucket.begin = begin
            begin += len(rows)
        return repeated

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.holds(name)

    def holds(self, name: str) -> bool:
        """Whether *name* was added."""
        return self._find(name) is not None

    def position(self, name: str) -> int | None:
        """A number below the length that no other name has, if *name* was added."""
        found = self._find(name)
        return None if found is None else found[0].begin + found[1]

    def group(self, name: str) -> int | None:
        """Which group *name* was added to, if it was; each holds some thousand names."""
        found = self._find(name)
        return None if found is None else found[0].groups[found[1]]

    def _find(self, name: str) -> "tuple[_Bucket, int] | None":
        high, low = _digest(name)
        bucket = self._buckets.get(high % _BUCKETS)
        if bucket is None:
            return None
        position = bisect_left(bucket.highs, high)
        while position < len(bucket.highs) and bucket.highs[position] == high:
            if bucket.lows[position] == low:
                return bucket, position
            position += 1
        return None


class _Bucket:
    """Some names of an index: the halves of their digests, and their groups."""

    __slots__ = ("begin", "groups", "highs", "lows")

    def __init__(self) -> None:
        self.highs = array("Q")
        self.lows = array("Q")
        self.groups = array("H")
        self.begin = 0


class SomeOf:
    """Some of the names of an index, marked in one byte for each name of the index."""

    def __init__(self, index: NameIndex) -> None:
        self._index = index
        self._marks = bytearray(len(index))

    def add(self, name: str) -> bool:
        """Add *name*, if the index holds it, and return whether it does."""
        position = self._index.position(name)
        if position is not None:
            self._marks[position] = True
        return position is not None

    def holds(self, name: str) -> bool:
        """Whether *name* was added."""
        position = self._index.position(name)
        return position is not None and bool(self._marks[position])


class NameTokens:
    """A token for each of some names of an index, held compressed.

    They are added in any order, and looked up in about the order of the index: the tokens of one
    group of names are decompressed together.
    """

    def __init__(self, index: NameIndex) -> None:
        self._index = index
        self._groups = defaultdict[int, _Group](_Group)
        self._open: dict[int, dict[str, str]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, name: str, token: str) -> None:
        """Add *name*, if the index holds it; neither it nor *token* holds a NUL."""
        number = self._index.group(name)
        if number is not None:
            self._groups[number].add(f"{name}\0{token}\0".encode())
            self._count += 1

    def get(self, name: str) -> str | None:
        """The token of *name*, if it was added."""
        number = self._index.group(name)
        if number is None or number not in self._groups:
            return None
        if number not in self._open:
            if len(self._open) == _OPEN_MAX:
                del self._open[next(iter(self._open))]
            names, tokens = (islice(self._groups[number].texts(), at, None, 2) for at in (0, 1))
            self._open[number] = dict(zip(names, tokens, strict=True))
        return self._open[number].get(name)


class _Group:
    """Texts, each ending with NUL, compressed except for the last few."""

    __slots__ = ("_chunks", "_recent")

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._recent = bytearray()

    def add(self, texts: bytes) -> None:
        self._recent += texts
        if len(self._recent) >= _RECENT_BYTES_MAX:
            self._chunks.append(zlib.compress(self._recent, 1))
            self._recent = bytearray()

    def texts(self) -> Iterator[str]:
        data = b"".join(map(zlib.decompress, self._chunks)) + self._recent
        return iter(data.decode().split("\0")[:-1])


def names_alike(names: Callable[[], Iterable[str]], key: Callable[[str], K]) -> dict[K, list[str]]:
    """Those of *names* that have their *key* in common, grouped by it.

    *names* is iterated twice, and only hashes are held of the others. If two hashes are equal by
    chance, a group has one name.
    """
    hashes = array("q", (hash(key(name)) for name in names()))
    repeated = {one for one, other in pairwise(sorted(hashes)) if one == other}
    alike = defaultdict[K, list[str]](list)
    for name in names() if repeated else ():
        if hash(once := key(name)) in repeated:
            alike[once].append(name)
    return dict(alike)


def repeated_names(names: Iterable[str], digests: set[Digest]) -> Sequence[str]:
    """The names that occur more than once in *names*, given their digests."""
    seen: set[str] = set()
    repeated: list[str] = []
    for name in names:
        if _digest(name) in digests:
            if name in seen:
                repeated.append(name)
            seen.add(name)
    return repeated


def _digest(name: str) -> Digest:
    data = name.encode(errors="surrogatepass")
    high, low = _PAIR.unpack(blake2b(data, digest_size=16).digest())
    return high, low
