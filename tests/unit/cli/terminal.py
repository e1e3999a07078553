"""A program on a terminal, as people see it."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys


def on_a_terminal(program: str, *arguments: object) -> str:
    """What a program shows on a terminal of 120 columns, without colours."""
    here, there = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "NO_COLOR": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)], stdout=there, stderr=there, env=env
    ) as process:
        os.close(there)
        shown = b""
        while True:
            try:
                block = os.read(here, 1 << 16)
            except OSError:  # Linux says EIO when the other end is closed
                break
            if not block:
                break
            shown += block
        os.close(here)
        assert process.wait() == 0
    # Without what rich says about style.
    return re.sub(r"\x1b\[[0-9;]*m", "", shown.decode().replace("\r\n", "\n"))
