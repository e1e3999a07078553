"""The command in a process of its own: what it said, and what readers see afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

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
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *map(str, arguments)],
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )
    assert "Traceback" not in ran.stderr or "--debug" in arguments, ran.stderr
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def files_of(destination: Path) -> list[str]:
    """Every file that a reader would see."""
    return sorted(
        path.relative_to(destination).as_posix()
        for path in destination.rglob("*")
        if path.is_file()
        and not any(part[0] in "_." for part in path.relative_to(destination).parts)
    )
