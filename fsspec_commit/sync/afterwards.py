"""What goes on when a commit has returned: the rest of the job's area is removed.

The job is over by then, and nobody minds what is left (:mod:`fsspec_commit.protocol.retire`). But
who lists the areas would meet it, and look at it more closely; and it uses the client that the
next job could take over. So whoever opens a destination in this process waits for it, for a
while, and the end of the program does. Where a process ends without one, what is left stays until
`clean` removes it.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, NamedTuple

from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.retire import Remove
from fsspec_commit.store.registry import is_wrapping
from fsspec_commit.sync import bridge

_WAIT_S = 10.0
"""How long others wait for each, counted from its beginning; not to wait makes them only slower."""

_log = logging.getLogger("fsspec_commit")
_going_on: dict[asyncio.Task[None], "_GoingOn"] = {}
"""Of the bridge's loop, on which alone it is changed."""
_left_to_parent: list[object] = []
"""What a forked child never touches; there is something if this process was forked."""


class _GoingOn(NamedTuple):
    """Whose it is, and until when others wait for it, by the loop's clock."""

    job: BoundJob
    until_s: float


class Afterwards:
    """What is left to do for one job when its commit has returned.

    Args:
        job: The job.
        waits: Whether the commit waits for it. It does as well in a worker process, which may be
            ended at once, or end by itself; where the program is ending; and where stores are
            wrapped, since who injects a fault wants to see what comes of it.
    """

    def __init__(self, job: BoundJob, *, waits: bool) -> None:
        self._job = job
        self._waits = waits or is_wrapping() or _is_worker()
        self._removing: asyncio.Task[None] | None = None

    async def take(self, remove: Remove) -> Sequence[str]:
        """Remove what is left of the area, now or in the background.

        In the background it goes on, whatever becomes of the commit.

        Returns:
            Warnings, if it was removed now; otherwise they are logged.
        """
        if self._waits or not bridge.wait_at_exit(all_quiet, given_up):
            return await remove()
        self._removing = _begin(_removed(self._job, remove), self._job)
        return ()

    async def close(self, close: Callable[[], Awaitable[None]]) -> None:
        """*close* the job's store when nothing of it is removed any more."""
        if self._removing is None:
            await close()
        else:
            _begin(_closed(self._removing, close), self._job)


async def quiet(destination: str | None = None) -> None:
    """Wait until what goes on now has ended, at one destination or at all, but not for ever."""
    now_s = asyncio.get_running_loop().time()
    those = {
        task: one.until_s - now_s
        for task, one in _going_on.items()
        if one.until_s > now_s and destination in {None, one.job.record.destination}
    }
    if those:
        await asyncio.wait(those, timeout=max(those.values()))


async def all_quiet() -> None:
    """Wait until nothing goes on."""
    while _going_on:
        await asyncio.wait([*_going_on])


def given_up() -> None:
    """Say what the program does not wait for any more."""
    for job in {one.job.record.job_id: one.job for one in [*_going_on.values()]}.values():
        warn(
            job,
            ["the program ends before its work area has gone; `fsspec-commit clean` removes it"],
        )


def warn(job: BoundJob, warnings: Iterable[str]) -> None:
    """Log what a person should look at."""
    for warning in warnings:
        _log.warning("job %s to %r: %s", job.record.job_id, job.record.destination, warning)


def _begin(call: Coroutine[Any, Any, None], job: BoundJob) -> asyncio.Task[None]:
    task = asyncio.create_task(call)
    _going_on[task] = _GoingOn(job, asyncio.get_running_loop().time() + _WAIT_S)
    task.add_done_callback(_going_on.pop)
    return task


async def _removed(job: BoundJob, remove: Remove) -> None:
    warn(job, await remove())


async def _closed(removing: asyncio.Task[None], close: Callable[[], Awaitable[None]]) -> None:
    await asyncio.wait([removing])
    try:
        await close()
    except Exception as error:  # noqa: BLE001  # nothing depends on it; its text may hold a secret
        _log.debug("a store was not closed well: %s", type(error).__name__)


def _is_worker() -> bool:
    """Whether this process was forked, or begun by `multiprocessing`, whose pools just end it.

    Of a fork before this library was imported nothing is known.
    """
    process = sys.modules.get("multiprocessing.process")
    return bool(_left_to_parent) or (process is not None and process.parent_process() is not None)


def _leave_to_parent() -> None:
    """What goes on in the parent does so on a loop of its own."""
    global _going_on  # noqa: PLW0603  # one per process
    _left_to_parent.append(_going_on)
    _going_on = {}


os.register_at_fork(after_in_child=_leave_to_parent)
