"""The test's end of ``crashing_driver.py``: ask for processes that die, and hear how they ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Self, cast

Answer = dict[str, Any]


ROOT = Path(__file__).parents[2]


class Processes:
    """Runs each request in a process of its own; leaves none behind.

    Args:
        root: The checkout whose code they run.

    Attributes:
        killed: How many have died by SIGKILL.
    """

    def __init__(self, root: Path = ROOT) -> None:
        self.killed = 0
        path = os.pathsep.join([str(root), str(root / "stores"), *filter(None, sys.path)])
        self._server = subprocess.Popen(
            [sys.executable, str(root / "tests/integration/crashing_driver.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate(timeout=60)

    def send(self, *requests: Answer) -> None:
        """Start all of them at one moment."""
        stdin = self._server.stdin
        assert stdin is not None
        stdin.write(json.dumps({"environ": dict(os.environ), "requests": requests}) + "\n")
        stdin.flush()

    def receive(self) -> list[Answer]:
        """Their answers, when all have ended or stopped."""
        stdout = self._server.stdout
        assert stdout is not None
        line = stdout.readline()
        assert line, "the server of processes has died"
        answers = cast("list[Answer]", json.loads(line))
        self.killed += sum(bool(answer.get("killed")) for answer in answers)
        return answers

    def race(self, *requests: Answer) -> list[Answer]:
        """All at one moment, in processes of their own."""
        self.send(*requests)
        return self.receive()

    def ask(self, op: str, **request: object) -> Answer:
        """One process; it may fail or die."""
        return self.race({"op": op, **request})[0]

    def do(self, op: str, **request: object) -> Any:
        """One process, which must succeed."""
        answer = self.ask(op, **request)
        assert "result" in answer, answer.get("error", answer)
        return answer["result"]

    def series(self, *requests: Answer) -> list[Answer]:
        """One after the other in one process: a fork for each would cost more than they do."""
        return cast("list[Answer]", self.do("series", requests=requests))
