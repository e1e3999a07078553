"""Forks of the server in ``crashing_driver.py``: each runs a request, and may be killed in time."""

from __future__ import annotations

import faulthandler
import json
import os
import select
import signal
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_HUNG_S = 240
Request = dict[str, Any]
Answer = dict[str, Any]


class Child:
    """A fork that runs one request, once it is told to."""

    def __init__(self, request: Request, gate: int, answer: Callable[[Request], Answer]) -> None:
        self.kill_after_s: float | None = request.get("kill_after_s")
        self.pipe, theirs = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            # Sooner than the test that waits is ended, so that it says where this one hung.
            faulthandler.dump_traceback_later(_HUNG_S, exit=True)
            try:
                os.close(self.pipe)
                os.read(gate, 1)
                said = json.dumps(answer(request)).encode()
                with os.fdopen(theirs, "wb") as file:
                    file.write(said)
            finally:
                os._exit(0)
        os.close(theirs)

    def answer(self) -> Answer:
        """What it said, and how it ended; a stopped one says nothing yet."""
        # An answer can be longer than the pipe, so it is read before the end is waited for; but
        # whoever stops first will say nothing before it is told to go on.
        poll = 0.0005
        while True:
            readable, _, _ = select.select([self.pipe], [], [], poll)
            poll = min(poll * 2, 0.05)
            if readable:
                with os.fdopen(self.pipe, "rb") as file:
                    said = file.read()
                _, status = os.waitpid(self.pid, 0)
                ended: Answer = json.loads(said) if said else {}
                return {"pid": self.pid, "killed": os.WIFSIGNALED(status), **ended}
            if self._has_stopped():
                return {"pid": self.pid, "stopped": True}

    def _has_stopped(self) -> bool:
        # Stops only: an exit that is taken here would be missed above. Who has ended since the pipe
        # was looked at cannot stop any more, which the kernel calls having no such child.
        try:
            return os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG) is not None
        except ChildProcessError:
            return False


def kill_in_time(children: Iterable[Child]) -> None:
    """Kill those whose time is over before they have said anything; all began a moment ago."""
    begun = time.monotonic()
    left = {
        child.pipe: (begun + child.kill_after_s, child.pid)
        for child in children
        if child.kill_after_s is not None
    }
    while left:
        wait_s = max(0.0, min(at for at, _ in left.values()) - time.monotonic())
        for pipe in select.select(list(left), [], [], wait_s)[0]:
            del left[pipe]
        now = time.monotonic()
        for pipe, (at, pid) in list(left.items()):
            if at <= now:
                os.kill(pid, signal.SIGKILL)
                del left[pipe]
