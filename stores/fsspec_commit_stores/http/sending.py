"""Requests of one file that go on while its writer makes what follows."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Sending:
    """Requests that are under way.

    The failure of one is raised to whoever next waits here; its file knows what is then to be sent
    again.
    """

    def __init__(self) -> None:
        self._under_way = set[asyncio.Task[None]]()
        self._failed: BaseException | None = None

    def begin(self, request: Coroutine[Any, Any, None]) -> None:
        """Begin to send *request*, for which there is room."""
        task = asyncio.get_running_loop().create_task(request)
        # A program may end while it goes on, and what it would have sent is visible to nobody.
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001  # as asyncio does
        self._under_way.add(task)
        task.add_done_callback(self._end)

    async def room(self, at_once_max: Callable[[], int]) -> None:
        """Wait until one more may be sent.

        Args:
            at_once_max: How many may be under way, asked anew whenever one of them has ended.

        Raises:
            StoreError: One of those before has failed.
        """
        while len(self._under_way) >= at_once_max() and self._failed is None:
            await asyncio.wait(self._under_way, return_when=asyncio.FIRST_COMPLETED)
        self._raise()

    async def all_sent(self) -> None:
        """Wait until nothing is under way.

        Raises:
            StoreError: One has failed.
        """
        while self._under_way:
            await asyncio.wait(self._under_way)
        self._raise()

    async def ended(self) -> None:
        """Wait until nothing is under way, however it ends: failures are dropped."""
        while self._under_way:
            await asyncio.wait(self._under_way)
        self._failed = None

    def _end(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        self._failed = self._failed or error

    def _raise(self) -> None:
        failed, self._failed = self._failed, None
        if failed is not None:
            try:
                raise failed
            finally:
                del failed  # It would lead back to this frame, and from it to what was sent.
