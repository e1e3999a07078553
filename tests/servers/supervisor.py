"""Runs one server as its child, and ends it when nobody is left who wants it.

Started by `server.py` as a script, with the server's home directory as its argument. Requests come
as JSON lines on stdin, and each is answered by one line:

* ``{"op": "start", "argv": [...], "env": {...}}`` -> ``{"pid": ...}``
* ``{"op": "kill"}`` -> ``{"status": ...}``, when the process is gone
* ``{"op": "poll"}`` -> ``{"status": ...}``, null while it runs

When stdin ends, or the process that started this one is gone, the server is killed and its home is
removed. So a test run that is killed with SIGKILL leaves nothing; and because this process starts
the server from its only thread, the server can be told to die with it (PR_SET_PDEATHSIG goes by
the thread, which in a test may end at any time).
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
LOOK_S = 1.0


class Supervisor:
    def __init__(self, home: Path) -> None:
        self._home = home
        self._server: subprocess.Popen[bytes] | None = None
        self._libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        match request["op"]:
            case "start":
                return {"pid": self._start(request["argv"], request["env"])}
            case "kill":
                return {"status": self.kill()}
            case "poll":
                return {"status": None if self._server is None else self._server.poll()}
            case op:
                raise ValueError(f"no such request: {op}")

    def _start(self, argv: list[str], env: dict[str, str]) -> int:
        if self._server is not None and self._server.poll() is None:
            raise RuntimeError("the server is running")
        with (self._home / "log").open("ab") as log:
            self._server = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._home,
                env=env,
                start_new_session=True,
                preexec_fn=self._die_with_parent,  # noqa: PLW1509  this process has one thread
            )
        return self._server.pid

    def _die_with_parent(self) -> None:
        if self._libc is not None:
            self._libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    def kill(self) -> int | None:
        if self._server is None:
            return None
        if self._server.poll() is None:
            # Its session is its own, so its process id is its group's.
            os.killpg(self._server.pid, signal.SIGKILL)
        return self._server.wait()

    def end(self) -> None:
        self.kill()
        shutil.rmtree(self._home, ignore_errors=True)


def main() -> None:
    # Ctrl-C is for the tests; their end is what ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parent = os.getppid()
    supervisor = Supervisor(Path(sys.argv[1]))
    try:
        # A process that the tests forked may hold the other end of stdin for longer than they do.
        while os.getppid() == parent:
            if not select.select([0], [], [], LOOK_S)[0]:
                continue
            # Who asks waits for the answer: there is never a second line in the buffer.
            line = sys.stdin.readline()
            if not line:
                break
            print(json.dumps(supervisor.answer(json.loads(line))), flush=True)
    finally:
        supervisor.end()


if __name__ == "__main__":
    main()
