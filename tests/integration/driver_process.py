"""The driver process of a JVM, asked as the jar asks it, and faults of the stores that it opens."""

from __future__ import annotations

import json
import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

MODULE = "fsspec_commit.engines.spark.driver_process"
ATTEMPT = "0123456789abcdef"
_WITH_FAULTS = """
import asyncio, os, signal, subprocess, sys
from pathlib import Path
from fsspec_commit.engines.spark.driver_process import __main__
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore

place = Path(sys.argv[1])
del sys.argv[1:]
{carry}
with wrapping(lambda store: WrappedStore(store, carry)):
    __main__.main()
"""


class Driver:
    """One driver process, and the other end of its lines.

    Args:
        carry: The source of an ``async def carry(verb, path, call)``, through which all calls to
            stores go; it finds `place`.
        place: A folder, for it.
    """

    def __init__(self, carry: str | None = None, place: Path | None = None) -> None:
        command = [sys.executable, "-P", "-m", MODULE]
        if carry is not None:
            command = [sys.executable, "-P", "-c", _WITH_FAULTS.format(carry=dedent(carry))]
            command.append(str(place))
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.decided: list[str] = []
        self.greeting = self.read()
        self._asked = 0

    def tell(self, what: str, **request: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": what, **request}) + "\n")
        self.process.stdin.flush()

    def ask(self, what: str, **request: object) -> dict[str, Any]:
        """Ask, and wait for the answer; what it tells of decisions meanwhile is kept."""
        self._asked += 1
        self.tell(what, id=self._asked, **request)
        while True:
            said = self.read()
            if "decided" not in said:
                assert said.pop("id") == self._asked
                return said
            self.decided.append(said["decided"])

    def end(self) -> str:
        """End its input, as a JVM that is gone; what it has printed as errors."""
        _, errors = self.process.communicate(timeout=60)
        assert self.process.returncode == 0
        return errors

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        said: dict[str, Any] = json.loads(self.process.stdout.readline())
        return said


def place(out: Path, **options: str) -> dict[str, Any]:
    return {"path": f"file:{out}", "settings": {}, "options": options}


def begun(driver: Driver, out: Path, mode: str = "append", **options: str) -> dict[str, Any]:
    return driver.ask("start", mode=mode, partitions=[], **place(out, **options))


def write(out: Path, job: dict[str, Any], task: int, data: bytes = b"data") -> dict[str, Any]:
    """What a task of Spark writes, and says."""
    name = f"part-{task:05}-{job['job_id']}-{task}.txt"
    working = out / job["attempts"] / str(task) / ATTEMPT
    working.mkdir(parents=True)
    (working / f"{name}.pending").write_bytes(data)
    return {"task": task, "attempt": ATTEMPT, "files": [[name, len(data)]]}


def chosen(*tasks: int) -> list[list[object]]:
    return [[task, ATTEMPT] for task in tasks]


def seen(out: Path) -> list[bytes]:
    return sorted(path.read_bytes() for path in out.glob("part-*"))
