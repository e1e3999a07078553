"""Processes of this machine that publish for a command, and end when it does."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import parent_process
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext, SpawnProcess
from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, pthread_sigmask
from time import monotonic, sleep
from typing import Any

_HEARD_S = 5.0
"""How long to wait for what another thread has seen; it is known here long before that."""
USABLE_SINCE = (3, 11, 5)
"""Before, a pool waited for ever for one of its processes that had died (CPython's gh-94777)."""


@contextmanager
def processes(count: int) -> Iterator[Executor]:
    """A pool of *count* processes that Ctrl-C does not reach, and of which none is left behind.

    An exception that leaves the block ends them, whatever they are at: whoever resumes the job does
    the rest. They also end if this process is killed, since they see that their parent is gone.
    """
    spawning = _Spawning()
    executor = ProcessPoolExecutor(count, mp_context=spawning, initializer=_end_with_parent)
    try:
        yield executor
        # Python must not end while the pool does: it would write to a pipe that is closed.
        executor.shutdown(cancel_futures=True)
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)  # From now on none is begun.
        for process in spawning.begun:
            process.terminate()
        for process in spawning.begun:
            _join(process)
        executor.shutdown()
        raise


def _join(process: SpawnProcess) -> None:
    """Wait for the end of *process*, even where the pool's own thread is the one that sees it."""
    process.join()
    until_s = monotonic() + _HEARD_S
    while process.exitcode is None and monotonic() < until_s:
        sleep(0.001)


class _Worker(SpawnProcess):
    """A process that a terminal's Ctrl-C does not reach, not even while it begins."""

    def start(self) -> None:
        mask = pthread_sigmask(SIG_BLOCK, [SIGINT])
        try:
            super().start()  # It inherits the mask.
        finally:
            pthread_sigmask(SIG_SETMASK, mask)


class _Spawning(SpawnContext):
    """What a pool begins its processes with; it can tell them from other children of this one."""

    def __init__(self) -> None:
        self._made: list[_Worker] = []

    @property
    def begun(self) -> list[_Worker]:
        return [process for process in self._made if process.pid is not None]

    def Process(self, *args: Any, **options: Any) -> _Worker:  # type: ignore[override]  # noqa: N802  # a class there
        self._made.append(_Worker(*args, **options))
        return self._made[-1]


def _end_with_parent() -> None:
    """End this process when its parent has ended; it waits on a pipe of which it holds one end."""
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=[parent.sentinel], daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
