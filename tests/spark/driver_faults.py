"""Faults in the driver process of a JVM: at a call to a store, as a test says in a file, it ends.

The JVM starts a script in place of the interpreter, which runs this file, which runs the driver
process on stores that count their calls.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.engines.spark.driver_process.requests import Start
    from fsspec_commit.layout import StorePath

    T = TypeVar("T")

When = Literal["before", "after"]


@dataclass(frozen=True)
class End:
    """The end of processes at one call to a store.

    Attributes:
        nth: Which call of a job, from 1, counted from the one that opens its store.
        when: Whether the call is carried out.
        jvm: Whether the JVM is killed first.
        child: Whether the driver process is killed.
    """

    nth: int
    when: When = "before"
    jvm: bool = False
    child: bool = True


class DriverFaults:
    """What is to happen in the driver processes of one session; once each."""

    def __init__(self, place: Path) -> None:
        self.python = place / "python"
        self._due = place / "due.json"
        self._pids = place / "pids"
        self._modes = place / "modes"

    def install(self) -> str:
        """Make a program that runs the driver process as this interpreter would, with faults."""
        command = f'exec "{sys.executable}" "{__file__}" "{self._due.parent}"'
        self.python.write_text(f"#!/bin/sh\n{command}\n", "utf-8")
        self.python.chmod(0o755)
        return str(self.python)

    def set(self, end: End) -> None:
        """Let the next job that begins be ended so."""
        self._due.write_text(json.dumps(vars(end)), "utf-8")

    def withdraw(self) -> bool:
        """Take back what was set; whether it has not happened so far."""
        try:
            self._due.unlink()
        except FileNotFoundError:
            return False
        return True

    def note_process(self) -> None:
        """Note that this process is a driver process of the session."""
        with self._pids.open("a", encoding="utf-8") as pids:
            pids.write(f"{os.getpid()}\n")

    def pids(self) -> list[int]:
        """The driver processes that the session has had, in the order of their starts."""
        with suppress(FileNotFoundError):
            return [int(pid) for pid in self._pids.read_text("utf-8").split()]
        return []

    def running(self) -> list[int]:
        """Those that run: the number of one that has ended may be a thread's of the JVM by now."""
        return [pid for pid in self.pids() if self._is_running(pid)]

    def _is_running(self, pid: int) -> bool:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            return False
        return words[1:3] == [__file__.encode(), str(self._due.parent).encode()]

    def note_start(self, mode: str) -> None:
        """Note what a driver process was asked to begin."""
        with self._modes.open("a", encoding="utf-8") as modes:
            modes.write(f"{mode}\n")

    def modes(self) -> list[str]:
        """The modes of the session's jobs, in the order of their starts."""
        with suppress(FileNotFoundError):
            return self._modes.read_text("utf-8").split()
        return []

    def due(self) -> End | None:
        """What is set."""
        with suppress(FileNotFoundError):
            return End(**json.loads(self._due.read_text("utf-8")))
        return None


class Ending:
    """Counts the calls of a driver process, and ends it."""

    def __init__(self, faults: DriverFaults) -> None:
        self._faults = faults
        self._calls = 0
        self._lock = threading.Lock()

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        with self._lock:
            self._calls += 1
            end = self._faults.due()
            if end is None or end.nth != self._calls:
                end = None
            else:
                self._faults.withdraw()
        if end is None:
            return await call()
        if end.when == "after":
            await call()
        if end.jvm:
            os.kill(os.getppid(), signal.SIGKILL)
        if end.child:
            os.kill(os.getpid(), signal.SIGKILL)
        return await call()


def main(place: Path) -> None:
    """Run the driver process; where an end is due, count the calls of the next job."""
    from fsspec_commit.engines.spark.driver_process import __main__, served_job
    from fsspec_commit.store.registry import wrapping
    from fsspec_commit.testing.wrapped import WrappedStore

    faults = DriverFaults(place)
    faults.note_process()
    started = served_job.ServedJob.start
    kept = ExitStack()

    def start(request: Start, **named: Any) -> Any:
        faults.note_start(request.mode)
        if faults.due() is not None:
            carry = Ending(faults).carry
            kept.enter_context(wrapping(lambda store: WrappedStore(store, carry)))
        return started(request, **named)

    served_job.ServedJob.start = start  # type: ignore[method-assign]
    sys.argv[1:] = []
    __main__.main()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
