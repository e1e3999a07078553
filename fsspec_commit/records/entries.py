"""The long array of a record: written, and decoded as strictly as the whole, some items at a time.

A record of fifty thousand files is some megabytes; its objects, all at once, are many times that.
"""

from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from itertools import chain, islice
from typing import Generic, Protocol, TypeVar

import msgspec

from fsspec_commit.errors import RecordError

PIECE_BYTES = 256 << 10
NO_ENTRIES = msgspec.Raw(b"[]")
_BATCH_MAX = 2048

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741  # an item as it is written
T_co = TypeVar("T_co", covariant=True)


class Sized(Protocol[T_co]):
    """A sized collection that can be iterated repeatedly; its items may be made anew each time."""

    def __len__(self) -> int:
        """How many items there are."""

    def __iter__(self) -> Iterator[T_co]:
        """The items, in order."""


def in_batches(many: Iterable[T]) -> Iterator[list[T]]:
    """Split *many* into batches."""
    coming = iter(many)
    while batch := list(islice(coming, _BATCH_MAX)):
        yield batch


class Entries(Generic[I, T]):
    """The items of one array in a record, decoded a batch at a time.

    Args:
        data: The record.
        span: Where in *data* the array is, brackets included.
        decoder: A decoder of the array's type.
        between: The canonical bytes between two items: the end of one, a comma, and the beginning
            of the next, which no string can contain.
        read: Turns decoded items into what they stand for.
        is_checked: Whether these bytes are known to be canonical.
    """

    def __init__(
        self,
        data: bytes,
        span: tuple[int, int],
        decoder: msgspec.json.Decoder[list[I]],
        *,
        between: bytes,
        read: Callable[[list[I]], list[T]],
        is_checked: bool = False,
    ) -> None:
        self._data = data
        self._begin, self._end = span[0] + 1, span[1] - 1
        self._decoder = decoder
        self._between = between
        self._read = read
        self._is_checked = is_checked

    def __iter__(self) -> Iterator[list[T]]:
        """The items, in batches.

        Raises:
            RecordError: The array is not as encoding writes it.
        """
        for piece in self._pieces():
            try:
                items = self._decoder.decode(piece)
            except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
                # Not as its cause: see decode_strictly().
                raise RecordError(f"not a readable array: {error}") from None
            if not self._is_checked and msgspec.json.encode(items) != piece:
                raise RecordError("not a canonical array")
            yield self._read(items)

    def _pieces(self) -> Iterator[bytes]:
        """The array, cut into smaller arrays between two items."""
        begin = self._begin
        while begin < self._end:
            cut = -1
            if self._end - begin > PIECE_BYTES:
                cut = self._data.rfind(self._between, begin, begin + PIECE_BYTES)
                if cut < 0:
                    cut = self._data.find(self._between, begin + PIECE_BYTES, self._end)
            end = self._end if cut < 0 else cut + 1
            yield b"[%b]" % self._data[begin:end]
            begin = end + 1


class Many(Generic[T]):
    """The many items of a record: kept if they are few, otherwise read anew each time.

    Args:
        entries: The items, in batches.
        check: Called once with each batch; ``None`` if all items were checked before.
    """

    def __init__(self, entries: Iterable[list[T]], check: Callable[[list[T]], None] | None) -> None:
        self._entries = entries
        self._kept: list[T] | None = None
        self._count: int | None = None
        if check is not None:
            self._walk(check)

    def _walk(self, check: Callable[[list[T]], None]) -> None:
        self._kept = []
        self._count = 0
        for batch in self._entries:
            check(batch)
            self._kept = batch if self._count == 0 else None
            self._count += len(batch)

    def __len__(self) -> int:
        if self._count is None:
            self._walk(lambda _: None)
        return self._count or 0

    def __iter__(self) -> Iterator[T]:
        return iter(self._kept) if self._kept is not None else chain.from_iterable(self._entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Iterable) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # compared by what it holds


def with_entries(record: msgspec.Struct, key: bytes, batches: Iterable[list[I]]) -> bytes:
    """The canonical bytes of *record* with the items of *batches* in its array, which is empty.

    Args:
        record: The record without them.
        key: The canonical bytes before the array.
        batches: The items; none is held when the next ones are asked for.
    """
    without = msgspec.json.encode(record)
    begin = without.index(key) + len(key) + 1
    data = BytesIO()  # Its getvalue() makes no copy.
    data.write(without[:begin])
    between = b""
    for batch in batches:
        data.write(between)
        data.write(msgspec.json.encode(batch)[1:-1])
        between = b","
    data.write(without[begin:])
    return data.getvalue()


def span_of(data: bytes, without: bytes, key: bytes) -> tuple[int, int]:
    """The span, in the record *data*, of the array that is empty in the record *without*.

    Raises:
        RecordError: The two records differ in more than that array.
    """
    begin = without.index(key) + len(key)
    end = len(data) - (len(without) - begin - 2)
    if end - begin < 2 or data[:begin] != without[:begin] or data[end:] != without[begin + 2 :]:  # noqa: PLR2004  # brackets
        raise RecordError("not a canonical record")
    if data[begin : begin + 1] != b"[" or data[end - 1 : end] != b"]":
        raise RecordError("not a canonical record")
    return begin, end
