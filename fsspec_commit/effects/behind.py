"""Calls that go on in the background, with a callback that learns how they ended."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from opcode import opmap
from types import FrameType, TracebackType
from typing import Any, TypeVar

from fsspec_commit.errors import CommitError

T = TypeVar("T")

_going_on = set[asyncio.Task[Any]]()
"""Keeps tasks alive: a loop holds them weakly, and whoever began one may be collected."""


def behind(
    call: Coroutine[Any, Any, T],
    drop: Callable[[], Awaitable[None]],
    ended: Callable[[BaseException | None], None],
) -> asyncio.Task[T]:
    """Begin *call*; if it fails, or its task is cancelled, *drop* what it has done so far.

    Args:
        call: What goes on.
        drop: Removes what it has left.
        ended: Called at its end with its error, which keeps nothing alive that was to be sent.
    """

    async def dropped_unless_done() -> T:
        try:
            return await call
        except (Exception, asyncio.CancelledError):
            # What cannot be dropped now is in no list, and is removed with the rest of the attempt.
            with suppress(CommitError):
                await drop()
            raise

    task = asyncio.get_running_loop().create_task(dropped_unless_done())
    # A program may end while it goes on, and nothing is wrong with that.
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001  # as asyncio does
    _going_on.add(task)

    def end(_: asyncio.Task[T]) -> None:
        _going_on.discard(task)
        call.close()  # Python would warn of one that was cancelled before it began.
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        try:
            _let_go_of_frames(error)
        finally:
            ended(error)

    task.add_done_callback(end)
    return task


def _let_go_of_frames(error: BaseException | None) -> None:
    """Drop what the frames in the tracebacks of *error* hold, such as the content of a file."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        steps, step = list[TracebackType](), error.__traceback__
        while step is not None:
            steps.append(step)
            step = step.tb_next
        kept: TracebackType | None = None
        for step in reversed(steps):
            if _is_cleared(step.tb_frame):
                step.tb_next = kept
                kept = step
        error.__traceback__ = kept
        error = error.__cause__ or error.__context__


def _is_cleared(frame: FrameType) -> bool:
    """Clear *frame*, unless it may still run: another call may have raised this error before."""
    if sys.version_info < (3, 13):
        # Clearing a suspended coroutine would end it; it is suspended at such an instruction.
        code = frame.f_code.co_code
        if code[frame.f_lasti] == opmap["YIELD_VALUE"]:
            return False
    try:
        frame.clear()
    except RuntimeError:
        return False
    return True
