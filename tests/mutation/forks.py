"""Work in a fork of this process, which may hang, die, or leave things behind."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import signal
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MEMORY_MAX = 3 << 30
_DIE_WITH_PARENT = 1
FAILED = 70
"""The exit status of a fork whose work raised."""


class Fork:
    """A process that does *work*, in a directory of its own, and ends with the status it returns.

    What it says goes to a file there, and so do temporary files, those of pytest too. Where it
    leaves processes, they end with it.
    """

    def __init__(self, work: Callable[[Path], int]) -> None:
        self.room = Path(tempfile.mkdtemp(prefix="mutant-"))
        self.pid = os.fork()
        if self.pid:
            return
        status = FAILED
        try:
            self._settle_in()
            status = work(self.room)
        except BaseException:  # noqa: BLE001  # nothing may go on in two processes
            (self.room / "failed").write_text(traceback.format_exc())
        finally:
            os._exit(status)

    def _settle_in(self) -> None:
        os.setpgid(0, 0)
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        said = os.open(self.room / "said", os.O_WRONLY | os.O_CREAT)
        os.dup2(said, 1)
        os.dup2(said, 2)
        os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = str(self.room)
        tempfile.tempdir = str(self.room)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MAX, MEMORY_MAX))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def end(self) -> None:
        """End what it has left, and remove its directory; raise what its work has raised."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        failed = self.room / "failed"
        text = failed.read_text() if failed.exists() else ""
        shutil.rmtree(self.room, ignore_errors=True)
        if text:
            raise RuntimeError(text)


def end_after(seconds: float) -> None:
    """Have this process killed by a signal unless it has ended by then; called again, later."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
