"""What the processes below a benchmark have cost, as the kernel counts it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

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


def cpu_s() -> float:
    """The processor time of this process and of all below it, those that have ended included."""
    children: dict[int, list[_Process]] = {}
    todo = []
    for process in _processes():
        children.setdefault(process.parent, []).append(process)
        if process.pid == os.getpid():
            todo.append(process)
    total = 0.0
    while todo:
        process = todo.pop()
        total += process.cpu_s
        todo += children.get(process.pid, ())
    return total


def cpu_s_of(call: Callable[[], object]) -> float:
    """How much of it one call takes."""
    before = cpu_s()
    call()
    return cpu_s() - before
