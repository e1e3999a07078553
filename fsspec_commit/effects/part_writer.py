"""Sends the parts of an upload, several at once, in bounded memory; never completes the upload."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from fsspec_commit.effects.budget import Budget
from fsspec_commit.effects.confirmed.uploads import ConfirmedUploads
from fsspec_commit.errors import RequestError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Part, PendingUpload

PIECE_BYTES = 8 << 20
"""The best size for callers to write: the first parts are such pieces, without a copy."""
PARTS_MAX = 10_000
_GROWTH_PARTS = 75


def part_size_bytes(number: int, equal_bytes: int | None = None) -> int:
    """The length of part *number*, counted from 1, unless it is the last.

    That is *equal_bytes*, if the store takes parts of one length only. Otherwise the length grows
    by one piece every 75 parts, so that 5 TiB fit into 10,000 parts and a file of less than 600 MiB
    has parts of 8 MiB.
    """
    if equal_bytes is not None:
        return equal_bytes
    return PIECE_BYTES * (1 + (number - 1) // _GROWTH_PARTS)


class PartWriter:
    """A :class:`~fsspec_commit.store.Writer` whose file is a pending upload when it is finished.

    The upload is begun with the first part. If a part fails, nothing more is sent, the upload is
    aborted, and that part's error is raised by this call and every later one.

    Args:
        uploads: Stores the parts.
        path: The path of the upload.
        begin: Begins the upload, and calls its second argument with the upload, even if the call of
            *begin* is cancelled meanwhile, or fails afterwards.
        abort: Aborts the upload.
        budget: Limits the bytes in flight.
    """

    def __init__(
        self,
        uploads: ConfirmedUploads,
        path: StorePath,
        *,
        begin: Callable[[StorePath, Callable[[PendingUpload], None]], Awaitable[object]],
        abort: Callable[[PendingUpload], Awaitable[None]],
        budget: Budget,
    ) -> None:
        self._uploads = uploads
        self._path = path
        self._begin = begin
        self._abort = abort
        self._budget: Budget | None = budget
        self._upload: PendingUpload | None = None
        self._pieces: list[memoryview] = []
        self._gathered_bytes = 0
        self._count = 0
        self._parts: dict[int, Part] = {}
        self._sending: set[asyncio.Task[None]] = set()
        self._failed: BaseException | None = None
        self._first_failure: BaseException | None = None
        self._over = False

    async def write(self, data: bytes) -> None:
        """Append *data*, which is not copied and must not change.

        Returns when it is sent or buffered, and the bytes in flight are within the budget.
        """
        self._check_open()
        rest = memoryview(data)
        while rest:
            size_bytes = part_size_bytes(self._count + 1, self._uploads.part_bytes)
            piece = rest[: size_bytes - self._gathered_bytes]
            rest = rest[len(piece) :]
            self._pieces.append(piece)
            self._gathered_bytes += len(piece)
            if self._gathered_bytes == size_bytes:
                await self._send()

    async def finish(self) -> PendingUpload:
        """Send the rest, one part of no bytes for an empty file, and wait for every part.

        Raises:
            StoreError: A part could not be stored; the upload is aborted.
        """
        self._check_open()
        if self._gathered_bytes or self._count == 0:
            await self._send()
        await self._all_sent()
        await self._raise_failure()
        if self._upload is None:
            raise AssertionError("a finished file has a part, and a part an upload")
        self._over = True
        parts = tuple(self._parts[number] for number in range(1, self._count + 1))
        return replace(self._upload, parts=parts)

    async def store(self, data: bytes) -> PendingUpload:
        """Send *data*, the whole file, for which the caller has taken room in the budget.

        Raises:
            StoreError: It could not be stored; the upload is aborted.
        """
        self._budget = None
        await self.write(data)
        return await self.finish()

    async def discard(self) -> None:
        """Abort the upload, once no part of it is in flight any more; a finished one stays."""
        if self._over:
            return
        self._over = True
        self._pieces.clear()
        for sending in self._sending:
            sending.cancel()  # Nothing is sent again; a request in flight is awaited.
        await self._all_sent()
        upload, self._upload = self._upload, None
        if upload is not None:
            await self._abort(upload)

    async def _send(self) -> None:
        await self._raise_failure()
        if self._count == PARTS_MAX:
            await self.discard()
            message = f"{self._path!r} is longer than {PARTS_MAX} parts hold; write smaller files"
            if self._uploads.part_bytes is not None:
                message += f", or let each be longer than {self._uploads.part_bytes} bytes"
            raise RequestError(message, kind="file_too_large", path=self._path)
        # Until the part is on its way the file is not whole, whatever happens here.
        self._failed = ValueError(f"writing {self._path!r} was broken off")
        if self._upload is None:
            await self._begin(self._path, self._begun)
        upload = self._upload
        if upload is None:
            raise AssertionError("who begins an upload says which")
        data, size_bytes = _joined(self._pieces), self._gathered_bytes
        self._pieces, self._gathered_bytes = [], 0
        self._count += 1
        if self._budget is not None:
            await self._budget.take(size_bytes)
        sending = asyncio.ensure_future(self._put(upload, self._count, data))
        self._sending.add(sending)
        sending.add_done_callback(partial(self._sent, size_bytes, self._budget))
        self._failed = self._first_failure

    def _begun(self, upload: PendingUpload) -> None:
        self._upload = upload

    async def _put(self, upload: PendingUpload, number: int, data: bytes) -> None:
        if self._first_failure is None:
            self._parts[number] = await self._uploads.put_part(upload, number, data)

    def _sent(self, size_bytes: int, budget: Budget | None, sending: asyncio.Task[None]) -> None:
        # Here and not in `_put`: a task that is cancelled may not even have begun.
        if budget is not None:
            budget.give_back(size_bytes)
        self._sending.discard(sending)
        if not sending.cancelled() and (error := sending.exception()) is not None:
            self._first_failure = self._first_failure or error
            self._failed = self._failed or error

    async def _all_sent(self) -> None:
        # Also for one that is cancelled: a part that arrives after the abort is kept, and paid for.
        while self._sending:
            await asyncio.wait(self._sending)

    async def _raise_failure(self) -> None:
        failed = self._failed
        if failed is not None:
            await self.discard()
            raise failed

    def _check_open(self) -> None:
        if self._failed is None and self._over:
            raise ValueError(f"I/O operation on the closed file {self._path!r}")


def _joined(pieces: list[memoryview]) -> bytes:
    whole = pieces[0].obj if len(pieces) == 1 else None
    if isinstance(whole, bytes) and len(whole) == len(pieces[0]):
        return whole
    return b"".join(pieces)
