"""A list that can be longer than memory: a line per item, identified by its count and digest.

It stands beside the decision that names it. Its name contains a nonce, so its content can only be
what its writer wrote, or a part of that; readers compare the digest.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.ending import ending
from fsspec_commit.effects.stored_records import inactive
from fsspec_commit.errors import RecordError
from fsspec_commit.layout import StorePath
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.records import decode_strictly
from fsspec_commit.records.slices import ListRange

if TYPE_CHECKING:
    from fsspec_commit.store import Entry, Writer

T = TypeVar("T")

_CHUNK_BYTES = 1 << 20
_HELD_BYTES_MAX = 1 << 20
_LINES_BYTES = 1 << 17
"""How much is split into lines at once: the objects take several times as much memory."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The number of lines in a list, and the SHA-256 of all."""

    count: int
    digest: str


@dataclass(slots=True)
class ShortList:
    """The content of a list, if one request wrote it or read it: nobody has to read it again."""

    data: bytes | None = None


async def _nothing() -> None:
    """What a list awaits before it is written, if it need not wait for anything."""


class ListWriter:
    """Writes a list, a line at a time: a short one in one request, a long one streamed.

    A short list is created like any record, with its outcome confirmed; if writing a long one
    fails, so does the commit. Nothing of a long one is written before *before_it_writes* returns.

    Attributes:
        path: Where the list is to stand; fixed once a part of it is written.
        short: The content of a short list, once it stands.
    """

    def __init__(
        self,
        job: BoundJob,
        path: StorePath,
        before_it_writes: Callable[[], Awaitable[None]] = _nothing,
    ) -> None:
        self.short = ShortList()
        self._job = job
        self.path = path
        self._before_it_writes = before_it_writes
        self._file: Writer[Entry] | None = None
        self._digest = sha256()
        self._held = bytearray()
        self._count = 0

    async def add(self, line: bytes) -> None:
        """Add *line*, which contains no line feed."""
        self._held += line + b"\n"
        self._count += 1
        if len(self._held) >= _HELD_BYTES_MAX:
            await self._flush()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added."""
        return self._count == 0

    @property
    def content(self) -> bytes:
        """What was added to the list, nothing of which is written yet."""
        return bytes(self._held)

    def adopt(self, data: bytes) -> bool:
        """Use *data*, which this driver is writing at this path already, as the list's content.

        Returns:
            Whether it is what was added, in any order. If not, nothing is changed.
        """
        if self._file is not None or sorted(self._held.split(b"\n")) != sorted(data.split(b"\n")):
            return False
        self._held[:] = data
        self.short.data = data
        return True

    async def finish(self) -> Listed | None:
        """Finish the list, which then stands; ``None`` if it is empty and was not written."""
        if self.is_empty:
            return None
        if self._file is None:
            data = self._taken()
            if self.short.data is None:
                await self._create(data)
        else:
            await self._flush()
            await self._file.finish()
        return Listed(self._count, self._digest.hexdigest())

    async def discard(self) -> None:
        """Remove what was written."""
        if self._file is not None:
            await self._file.discard()

    async def _create(self, data: bytes) -> None:
        layout = self._job.layout
        standing = await self._job.store.create(self.path, data, within=layout.area)
        if standing is None:
            raise inactive(layout, "prepare")
        if standing != data:
            raise RecordError(f"{self.path}: another list stands there", path=self.path)
        self.short.data = data

    async def _flush(self) -> None:
        if self._file is None:
            await self._before_it_writes()
            self._file = self._job.store.writer(self.path, within=self._job.layout.area)
        await self._file.write(self._taken())

    def _taken(self) -> bytes:
        data = bytes(self._held)
        self._held.clear()
        self._digest.update(data)
        return data


async def read_list(
    store: ConfirmedStore,
    path: StorePath,
    kind: type[T],
    listed: Listed,
    short: ShortList | None = None,
) -> AsyncIterator[list[T]]:
    """The list at *path*, in batches of lines.

    Args:
        store: Where the list stands.
        path: Its path there.
        kind: What a line is.
        listed: The list that it must be.
        short: Its content, if that is at hand; filled if one request reads all of it.

    Raises:
        RecordError: At the end, if it is not the list that the decision names; at once, if a line
            cannot belong to it.
    """
    digest, rest, count = sha256(), b"", 0

    def is_whole() -> bool:
        return not rest and Listed(count, digest.hexdigest()) == listed

    async with ending(_pieces(store, path, is_whole, short or ShortList())) as pieces:
        async for piece in pieces:
            digest.update(piece)
            *lines, rest = (rest + piece).split(b"\n")
            if len(rest) > _CHUNK_BYTES:
                raise RecordError(f"{path}: a line without an end", path=path)
            count += len(lines)
            if count > listed.count:
                break
            try:
                items = [decode_strictly(line, kind, _CHUNK_BYTES) for line in lines]
            except RecordError as error:
                raise RecordError(f"{path}: {error}", path=path) from error
            if items:
                yield items
    if rest or Listed(count, digest.hexdigest()) != listed:
        raise RecordError(f"{path}: not the list that was decided on", path=path)


async def cut_list(
    store: ConfirmedStore, path: StorePath, listed: Listed, *, lines_max: int
) -> list[ListRange]:
    """Cut the list at *path* into ranges of at most *lines_max* lines, and verify all of it.

    Raises:
        RecordError: It is not the list that the decision names.
    """
    whole, rest, count = sha256(), b"", 0
    cuts = [_Cut(start=0)]

    def is_whole() -> bool:
        return not rest and Listed(count, whole.hexdigest()) == listed

    async with ending(_pieces(store, path, is_whole, ShortList())) as pieces:
        async for piece in pieces:
            whole.update(piece)
            *lines, rest = (rest + piece).split(b"\n")
            if len(rest) > _CHUNK_BYTES:
                raise RecordError(f"{path}: a line without an end", path=path)
            count += len(lines)
            for line in lines:
                if cuts[-1].count == lines_max:
                    cuts.append(_Cut(start=cuts[-1].start + cuts[-1].length))
                cuts[-1].add(line)
    if rest or Listed(count, whole.hexdigest()) != listed:
        raise RecordError(f"{path}: not the list that was decided on", path=path)
    return [cut.range() for cut in cuts if cut.count]


class _Cut:
    """Lines of a list that come one after the other."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.length = self.count = 0
        self._digest = sha256()

    def add(self, line: bytes) -> None:
        self.length += len(line) + 1
        self.count += 1
        self._digest.update(line + b"\n")

    def range(self) -> ListRange:
        digest = self._digest.hexdigest()
        return ListRange(start=self.start, length=self.length, count=self.count, digest=digest)


async def read_lines(
    store: ConfirmedStore, path: StorePath, kind: type[T], lines: ListRange
) -> list[T]:
    """Read some lines of the list at *path*; all are verified before any is returned.

    Raises:
        RecordError: They are not those that were there when the list was verified.
    """
    data = bytearray()
    while len(data) < lines.length:
        start, left = lines.start + len(data), lines.length - len(data)
        piece = await store.read_range(path, start=start, length=min(left, _CHUNK_BYTES))
        if not piece:
            break
        data += piece
    *found, rest = bytes(data).split(b"\n")
    if rest or len(found) != lines.count or sha256(data).hexdigest() != lines.digest:
        raise RecordError(f"{path}: not the list that was decided on", path=path)
    return [decode_strictly(line, kind, _CHUNK_BYTES) for line in found]


async def _pieces(
    store: ConfirmedStore, path: StorePath, is_whole: Callable[[], bool], short: ShortList
) -> AsyncIterator[bytes]:
    """The content of *path*, read in large requests and returned in smaller pieces.

    An answer shorter than asked for is the end if the list *is_whole* with it: no more is read.
    """
    if short.data is not None:
        for piece in _split(short.data):
            yield piece
        return
    start = 0
    while data := await store.read_range(path, start=start, length=_CHUNK_BYTES):
        start += len(data)
        for piece in _split(data):
            yield piece
        if len(data) < _CHUNK_BYTES and is_whole():
            short.data = data if start == len(data) else None
            return


def _split(data: bytes) -> Iterator[bytes]:
    for begin in range(0, len(data), _LINES_BYTES):
        yield data[begin : begin + _LINES_BYTES]
