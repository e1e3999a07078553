"""Where partitions are looked for: directories that are wanted, or are other spellings of those."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote

from fsspec_commit.names import is_in_work_area
from fsspec_commit.protocol.directory_names import DirectoryNames


class Spot(NamedTuple):
    """A directory, and the wanted one that it is, or is another spelling of."""

    name: str
    wanted: str

    @property
    def is_spelled_otherwise(self) -> bool:
        """Whether the directory is another spelling of the wanted one."""
        return self.name != self.wanted

    @property
    def above(self) -> str:
        """The directory above."""
        return self.name.rpartition("/")[0]


class Level(Iterable[Spot]):
    """The spots of one depth of the walk; those under their wanted names are held compressed."""

    def __init__(self) -> None:
        self._by_name = DirectoryNames()
        self._spelled_otherwise: list[Spot] = []

    def __bool__(self) -> bool:
        return bool(self._spelled_otherwise) or len(self._by_name) > 0

    def add(self, spots: Iterable[Spot]) -> None:
        """Add *spots*; some may be there already."""
        for spot in spots:
            if spot.is_spelled_otherwise:
                self._spelled_otherwise.append(spot)
            else:
                self._by_name.update([spot.name])

    def __iter__(self) -> Iterator[Spot]:
        """The spots, those under their wanted names in order, so that neighbours are adjacent."""
        yield from self._spelled_otherwise
        for name in self._by_name:
            yield Spot(name, name)


@dataclass(frozen=True, slots=True)
class Ways:
    """Which wanted directories the children of a directory are, or are other spellings of.

    Attributes:
        above: The directory.
        wanted: Partitions, and the directories above them.
        alike: The last names below *above*, listed or wanted, that readers decode to the same.
    """

    above: Spot
    wanted: Container[str]
    alike: Mapping[str, Sequence[str]]

    def of(self, name: str) -> Iterator[Spot]:
        """The wanted directories that *name* is, or is another spelling of."""
        last = name.rpartition("/")[2]
        for one in dict.fromkeys(self.alike.get(decoded(last), [last])):
            wanted = name_in(self.above.wanted, one)
            if wanted in self.wanted and not is_in_work_area(name):
                yield Spot(name, wanted)


def name_in(above: str, last: str) -> str:
    """The name of what is called *last* in the directory *above*."""
    return f"{above}/{last}" if above else last


def decoded(name: str) -> str:
    """*name* as readers decode it; bytes that are not UTF-8 stay distinct."""
    return unquote(name, errors="surrogateescape")


def decoded_path(name: str) -> tuple[str, ...]:
    """The components of *name*, each as readers decode it."""
    return tuple(map(decoded, name.split("/")))
