"""Names of a job's directories: distinct, in order, and held compressed if they are many."""

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from heapq import merge
from itertools import chain, islice, pairwise

from fsspec_commit.names import Partition
from fsspec_commit.protocol.file_names import FileNames, NameIndex
from fsspec_commit.records.entries import in_batches

HELD_MAX = 16_384
"""Up to this many names are held uncompressed."""
_RUNS_MAX = 8
"""When there are this many runs beside the first, or more if it is longer, all are merged."""


class DirectoryNames(Iterable[Partition]):
    """Distinct names of directories, a parent right before all that is below it.

    Up to some thousand are held uncompressed; beyond that, each takes a few bytes.
    """

    def __init__(self) -> None:
        self._recent = set[str]()
        self._runs = list[FileNames]()
        self._begins = list[str]()
        self._open: tuple[int, Sequence[str]] | None = None

    def update(self, names: Iterable[str]) -> None:
        """Add *names*, which hold no NUL; some may be there already."""
        for batch in in_batches(names):
            self._recent.update(batch)
            if len(self._recent) > HELD_MAX:
                self._end_run()

    def __len__(self) -> int:
        return len(self._whole())

    def __iter__(self) -> Iterator[Partition]:
        return map(Partition, self._whole())

    def with_those_above(self) -> Iterator[str]:
        """Each name, and each directory above one, once; the destination itself is left out."""
        before = list[str]()
        for name in filter(None, self):
            names = name.split("/")
            known = 0
            for one, other in zip(before, names, strict=False):
                if one != other:
                    break
                known += 1
            for depth in range(known + 1, len(names)):
                yield "/".join(names[:depth])
            yield name
            before = names

    def lowest(self) -> Iterator[Partition]:
        """The names that are above no other: making these directories makes all."""
        for name, following in pairwise(chain(self, [Partition("")])):
            if name and not following.startswith(f"{name}/"):
                yield name

    def children(self, above: str) -> Iterator[str]:
        """The last components of all directories directly below *above*, in order.

        Little is decompressed if *above* is near that of the previous call.
        """
        prefix = f"{above}/" if above else ""
        before = ""
        for name in self._since(prefix):
            if not name.startswith(prefix):
                break
            child = name[len(prefix) :].partition("/")[0]
            if child != before:
                yield child
            before = child

    def _since(self, prefix: str) -> Iterator[str]:
        """The names from *prefix* on, in order."""
        whole, begin = self._whole(), _components(prefix)
        if not self._begins:
            chunks = map(whole.chunk, range(whole.chunk_count))
            self._begins = [_components(chunk[0]) for chunk in chunks if chunk]
        first = max(0, bisect_right(self._begins, begin) - 1)
        for number in range(first, whole.chunk_count):
            if self._open is None or self._open[0] != number:
                self._open = number, whole.chunk(number)
            names = self._open[1]
            index = bisect_left(names, begin, key=_components) if number == first else 0
            yield from islice(names, index, None)

    def _end_run(self) -> None:
        run = FileNames()
        run.extend(sorted(self._recent, key=_components))
        self._runs.append(run)
        self._recent = set()
        self._begins, self._open = [], None
        first, *others = map(len, self._runs)
        # Each task may add the same names anew. A merge adds at least as much as is there: it pays.
        if sum(others) >= max(first, _RUNS_MAX * HELD_MAX):
            self._merge()

    def _whole(self) -> FileNames:
        """All names, merged to one run."""
        if self._recent or not self._runs:
            self._end_run()
        if len(self._runs) > 1:
            self._merge()
        return self._runs[0]

    def _merge(self) -> None:
        whole = FileNames()
        whole.extend(_distinct(merge(*self._runs, key=_components)))
        self._runs = [whole]


def to_look_up(names: Iterable[str]) -> Container[str]:
    """A collection to look up *names* in; a set if they are few."""
    coming = iter(names)
    few = set(islice(coming, HELD_MAX))
    return few if len(few) < HELD_MAX else NameIndex.of(chain(few, coming))


def _components(name: str) -> str:
    """A key that sorts by components: names hold no NUL, but may hold characters below "/"."""
    return name.replace("/", "\0")


def _distinct(ordered: Iterable[str]) -> Iterator[str]:
    before: str | None = None
    for name in ordered:
        if name != before:
            yield name
        before = name
