"""What goes on after a commit has returned: the rest of the job's area is removed.

The job is over by then, and what is left means nothing (:mod:`fsspec_commit.protocol.retire`). But
a caller that lists the areas would find it, and look at it more closely; and its removal uses the
client that the next job could take over. So whoever opens a destination in this process waits for
the removal, for a while, and so does the end of the program. Where a process has no orderly end,
what is left stays until `clean` removes it.
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
"""How long others wait for each removal, from its start; not waiting only makes them slower."""

_log = logging.getLogger("fsspec_commit")
_going_on: dict[asyncio.Task[None], "_GoingOn"] = {}
"""What goes on, by its task on the bridge's loop; changed on that loop only."""
_left_to_parent: list[object] = []
"""What a forked child inherits and never touches; empty unless this process was forked."""


class _GoingOn(NamedTuple):
    """The job that it is for, and until when others wait for it, by the loop's clock."""

    job: BoundJob
    until_s: float


class Afterwards:
    """What is left to do for one job when its commit has returned.

    Args:
        job: The job.
        waits: Whether the commit waits for it. It also does in a worker process, which may be
            ended at once, or end by itself; where the program is ending; and where stores are
            wrapped, since a test that injects a fault wants to see what comes of it.
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
        """Call *close*, which closes the job's store, once the removal has ended."""
        if self._removing is None:
            await close()
        else:
            _begin(_closed(self._removing, close), self._job)


async def quiet(destination: str | None = None) -> None:
    """Wait, but not for ever, for what goes on now, at one destination or at all of them."""
    now_s = asyncio.get_running_loop().time()
    those = {
        task: one.until_s - now_s
        for task, one in _going_on.items()
        if one.until_s > now_s and destination in {None, one.job.record.destination}
    }
    if those:
        await asyncio.wait(those, timeout=max(those.values()))


async def all_quiet() -> None:
    """Wait until nothing goes on any more, however long it takes."""
    while _going_on:
        await asyncio.wait([*_going_on])


def given_up() -> None:
    """Warn of the work areas whose removal the program no longer waits for."""
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
    """Whether this process was forked, or begun by `multiprocessing`, whose pools terminate it.

    A bare ``os.fork`` before this library was imported goes unnoticed.
    """
    process = sys.modules.get("multiprocessing.process")
    return bool(_left_to_parent) or (process is not None and process.parent_process() is not None)


def _leave_to_parent() -> None:
    """Begin with nothing in a forked child: what goes on is on the parent's loop."""
    global _going_on  # noqa: PLW0603  # one per process
    _left_to_parent.append(_going_on)
    _going_on = {}


os.register_at_fork(after_in_child=_leave_to_parent)
