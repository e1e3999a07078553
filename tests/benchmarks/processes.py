"""What the processes below a benchmark have cost, as the kernel counts it."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class _Process:
    """One line of ``/proc/PID/stat``."""

    def __init__(self, text: str) -> None:
        pid, _, rest = text.partition(" ")
        fields = rest.rpartition(")")[2].split()
        self.pid, self.parent = int(pid), int(fields[1])
        # Its own time, and that of its children that have ended, each in user and kernel mode.
        self.cpu_s = sum(map(int, fields[11:15])) / TICKS_PER_S


def _processes() -> list[_Process]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            found.append(_Process(path.read_text("utf-8")))
        except OSError:
            continue  # It has ended meanwhile.
    return found


def _tree() -> Iterator[_Process]:
    """This process and all below it."""
    children: dict[int, list[_Process]] = {}
    todo = []
    for process in _processes():
        children.setdefault(process.parent, []).append(process)
        if process.pid == os.getpid():
            todo.append(process)
    while todo:
        process = todo.pop()
        yield process
        todo += children.get(process.pid, ())


def cpu_s() -> float:
    """The processor time of this process and of all below it, those that have ended included."""
    return math.fsum(process.cpu_s for process in _tree())


def cpu_s_of(call: Callable[[], object]) -> float:
    """How much of it one call takes."""
    before = cpu_s()
    call()
    return cpu_s() - before


def waits() -> dict[str, float]:
    """How long each thread of this process and of all below it has waited for a core so far."""
    return {
        thread: waited for process in _tree() for thread, waited in _waits_of(process.pid).items()
    }


def waited_since(before: Mapping[str, float]) -> float:
    """Seconds for which threads that still are there have waited since, each by itself."""
    return math.fsum(waited - before.get(thread, 0.0) for thread, waited in waits().items())


def waited_s() -> float:
    """Seconds for which the threads of this process could have run so far and had no core."""
    return math.fsum(_waits_of("self").values())


def _waits_of(pid: int | Literal["self"]) -> dict[str, float]:
    """By thread; nothing where the kernel does not count it."""
    found = {}
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            found[str(path)] = int(path.read_text("utf-8").split()[1]) / 1e9
    return found
