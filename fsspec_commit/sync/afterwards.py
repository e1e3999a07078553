"""What goes on when a commit has returned: the rest of the job's area is removed.

The job is over by then, and nobody minds what is left (:mod:`fsspec_commit.protocol.retire`). Only
whoever lists the areas would meet it, and look at it more closely. So it is waited for by the next
commit, and by every other operation, on the same destination in this process, and by the end of the
program. Where a process ends without one, what is left stays until `clean` removes it.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Sequence

from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.retire import Remove
from fsspec_commit.store.registry import is_wrapping
from fsspec_commit.sync import bridge

_WAIT_S = 10.0
"""So long the next commit waits: it would be no more than slower if it did not."""

_log = logging.getLogger("fsspec_commit")
_going_on: dict[str, set[asyncio.Task[None]]] = {}
"""By destination; of the bridge's loop, on which alone it is used."""


class Afterwards:
    """What is left to do for one job when its commit has returned.

    Args:
        waits: Whether the commit waits for it. It does as well where the program is about to end,
            and where stores are wrapped: who injects a fault wants to see what comes of it.
    """

    def __init__(self, *, waits: bool) -> None:
        self._waits = waits or is_wrapping()
        self._remove: Remove | None = None

    async def take(self, remove: Remove) -> Sequence[str]:
        """Remove what is left of the area later, or at once; only then are there warnings."""
        if self._waits or not bridge.wait_at_exit(all_ended):
            return await remove()
        self._remove = remove
        return ()

    async def begin(self, job: BoundJob, close: Callable[[], Awaitable[None]]) -> None:
        """Remove what is left, if that was not done at once; then *close* the job's store."""
        if self._remove is None:
            await close()
            return
        destination = job.record.destination
        task = asyncio.create_task(_end(job, self._remove, close))
        here = _going_on.setdefault(destination, set())
        here.add(task)

        def ended(_: asyncio.Task[None]) -> None:
            here.discard(task)
            if not here and _going_on.get(destination) is here:
                del _going_on[destination]

        task.add_done_callback(ended)


async def _end(job: BoundJob, remove: Remove, close: Callable[[], Awaitable[None]]) -> None:
    try:
        warn(job, await remove())
    finally:
        await close()


def warn(job: BoundJob, warnings: Sequence[str]) -> None:
    """Log what a person should look at."""
    for warning in warnings:
        _log.warning("job %s to %r: %s", job.record.job_id, job.record.destination, warning)


async def ended(destination: str) -> None:
    """Wait until nothing goes on at *destination*, but not for ever."""
    if here := _going_on.get(destination):
        await asyncio.wait(here, timeout=_WAIT_S)


async def all_ended() -> None:
    """Wait until nothing goes on anywhere."""
    while here := set().union(*_going_on.values()):
        await asyncio.wait(here)


def _leave_to_parent() -> None:
    """What goes on in the parent does so on a loop of its own."""
    global _going_on  # noqa: PLW0603  # one per process
    _going_on = {}


os.register_at_fork(after_in_child=_leave_to_parent)
