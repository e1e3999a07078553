"""A file written through the loop, on a store where a chunk may be refused or its answer lost."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from fsspec_commit.effects.pacing import TRIES_MAX, Pace
from fsspec_commit.effects.settle import classified
from fsspec_commit.effects.silence import Trouble
from fsspec_commit.errors import StoreError
from fsspec_commit.store import Entry, Writer

T = TypeVar("T")


class SettledWriter:
    """A writer that is asked again as long as it says that it can go on.

    What was sent, only the store's own writer knows: it looks, and sends what is missing.
    """

    def __init__(self, writer: Writer[Entry], pace: Pace) -> None:
        self._writer = writer
        self._pace = pace

    async def write(self, data: bytes) -> None:
        """Append *data*.

        Raises:
            StoreError: It could not be sent, and asking again did not help.
        """
        await self._persist(lambda: self._writer.write(data), lambda: self._writer.write(b""))

    async def finish(self) -> Entry:
        """Close the file.

        Raises:
            StoreError: It is not certain that it stands, and asking again did not help.
        """
        return await self._persist(self._writer.finish, self._writer.finish)

    async def discard(self) -> None:
        """Leave nothing of it."""
        await classified(self._writer.discard())

    async def _persist(
        self, begin: Callable[[], Awaitable[T]], go_on: Callable[[], Awaitable[T]]
    ) -> T:
        call = begin
        backoff = 0
        last: StoreError | None = None
        trouble: Trouble | None = None
        try:
            while True:
                if backoff or not self._pace.enter_now():
                    may_go_on = await self._pace.enter(backoff, trouble)
                    if last is not None and not may_go_on:
                        raise last
                try:
                    answer = await classified(call())
                    self._pace.silence.end()
                    return answer
                except StoreError as error:
                    backoff += 1
                    last, trouble = error, trouble or Trouble(self._pace.silence)
                    trouble.failed(is_last=backoff == TRIES_MAX)
                    if not error.can_go_on or backoff == TRIES_MAX:
                        raise
                    self._pace.heard(error)
                    call = go_on
                finally:
                    self._pace.leave()
        finally:
            # It leads back to this frame: what is written would wait for the collector.
            last = None
