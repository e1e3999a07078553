"""The command in a process of its own: what it said, and what readers see afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

COMMAND = "from fsspec_commit.cli import main; main()"


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def rows(self) -> list[list[str]]:
        return [line.split("\t") for line in self.out.splitlines()]


def command(*arguments: object, program: str = COMMAND) -> Ran:
    """Run ``fsspec-commit`` in a process of its own, its output on pipes."""
    ran = run(program, *arguments)
    assert "Traceback" not in ran.err or "--debug" in arguments, ran.err
    return ran


def run(program: str, *arguments: object) -> Ran:
    """Run a program in a process of its own: a fork, see `forks.py`."""
    request = {
        "program": program,
        "arguments": [str(argument) for argument in arguments],
        "environment": dict(os.environ),
        "directory": str(Path.cwd()),
    }
    forks = _forks()
    assert forks.stdin is not None
    assert forks.stdout is not None
    forks.stdin.write(json.dumps(request) + "\n")
    forks.stdin.flush()
    answer = forks.stdout.readline()
    assert answer, "what forks the processes has died"
    return Ran(*json.loads(answer))


@cache
def _forks() -> subprocess.Popen[str]:
    """One for all tests of this process; it ends when its input does."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(Path(__file__).with_name("forks.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def files_of(destination: Path) -> list[str]:
    """Every file that a reader would see."""
    return sorted(
        path.relative_to(destination).as_posix()
        for path in destination.rglob("*")
        if path.is_file()
        and not any(part[0] in "_." for part in path.relative_to(destination).parts)
    )
