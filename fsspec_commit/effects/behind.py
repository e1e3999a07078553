"""Calls that go on behind their caller's back, who comes back for how they ended."""

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
"""Referenced from here: a loop holds its tasks weakly, and whoever began one may be dropped."""


def behind(
    call: Coroutine[Any, Any, T],
    drop: Callable[[], Awaitable[None]],
    ended: Callable[[BaseException | None], None],
) -> asyncio.Task[T]:
    """Begin *call*; if it fails, or its task is cancelled, *drop* what it has done so far.

    Args:
        call: What goes on.
        drop: Removes what it has left.
        ended: Called at its end with its error. What was to be sent is not kept for the error.
    """

    async def dropped_unless_done() -> T:
        try:
            return await call
        except (Exception, asyncio.CancelledError):
            # What cannot be dropped now is in no list, and goes with the rest of the attempt.
            with suppress(CommitError):
                await drop()
            raise

    task = asyncio.get_running_loop().create_task(dropped_unless_done())
    # A program may end while it goes on, and nothing is wrong with that.
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001  # as asyncio does
    _going_on.add(task)

    def end(_: asyncio.Task[T]) -> None:
        _going_on.discard(task)
        call.close()  # One that was cancelled before it began would be warned of.
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        try:
            _let_go_of_frames(error)
        finally:
            ended(error)

    task.add_done_callback(end)
    return task


def _let_go_of_frames(error: BaseException | None) -> None:
    """Drop what the frames hold that *error* leads back to, such as the content of a file."""
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
    """Clear *frame*, unless it may go on: another call may have raised the same object before."""
    if sys.version_info < (3, 13):
        # Clearing it would end the coroutine, and one that is suspended is at such an instruction.
        code = frame.f_code.co_code
        if code[frame.f_lasti] == opmap["YIELD_VALUE"]:
            return False
    try:
        frame.clear()
    except RuntimeError:
        return False
    return True
