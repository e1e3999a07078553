"""Sessions of their own: PySpark scripts, each a process with a JVM, which a test may kill.

A script finds `spark`, whose own writers commit through this library, and `out`, a destination.
It is a session of processes, as in a terminal of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import fsspec_commit as fc
from fsspec_commit.engines.spark.session import PROTOCOL_CLASS
from tests.spark.conftest import COMMIT_PROTOCOL, SETTINGS
from tests.spark.driver_faults import DriverFaults

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WAIT_S = 300.0
_BEGIN = """
import json, sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.appName("a test")
for name, value in json.loads(sys.argv[1]).items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
out = sys.argv[2]
"""


@dataclass(frozen=True)
class Ended:
    """How a script ended, and what it has printed."""

    status: int
    printed: str

    def lines(self) -> list[str]:
        """What it printed with `said:` before it."""
        begun = (line.partition("said: ") for line in self.printed.splitlines())
        return [said for before, found, said in begun if found and not before]


class OwnSession:
    """A place for scripts, and the faults of their driver processes.

    Args:
        place: A folder, for all that the sessions write but what they are to write.
        settings: Of the session, beside those that make the jar work.
        python: The interpreter of the scripts, with some PySpark; this one by default.
        environment: Beside that of this process.
    """

    def __init__(
        self,
        place: Path,
        settings: Mapping[str, str] | None = None,
        *,
        python: str = sys.executable,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.place = place
        self.out = place / "out"
        self.faults = DriverFaults(place)
        self._log = place / "log"
        self._python = python
        self._environment = environment or {}
        self.settings = {
            "spark.master": "local[2,2]",
            **SETTINGS,
            COMMIT_PROTOCOL: PROTOCOL_CLASS,
            "spark.jars": fc.spark.jar(),
            "spark.fsspec_commit.python": self.faults.install(),
            "spark.local.dir": str(place / "local"),
            "spark.sql.warehouse.dir": str(place / "warehouse"),
            "spark.log.level": "WARN",
            **(settings or {}),
        }

    def run(self, script: str) -> Ended:
        """Run a script to its end, and until no driver process of it is left."""
        with self.running(script) as process:
            try:
                process.wait(WAIT_S)
            except subprocess.TimeoutExpired as late:
                raise TimeoutError(f"the script does not end:\n{self.printed()}") from late
        self.await_driver_processes()
        return Ended(process.returncode, self.printed())

    def printed(self) -> str:
        """What the last script has printed so far, and its JVM."""
        return self._log.read_text("utf-8")

    @contextmanager
    def running(self, script: str) -> Iterator[subprocess.Popen[bytes]]:
        """A script that runs; what is left of its processes is killed at the end."""
        file = self.place / "script.py"
        file.write_text(_BEGIN + dedent(script), "utf-8")
        with (
            self._log.open("wb") as log,
            subprocess.Popen(
                [self._python, str(file), json.dumps(self.settings), str(self.out)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.place,
                env={**os.environ, **self.environment()},
                start_new_session=True,
            ) as process,
        ):
            try:
                yield process
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, 9)

    def environment(self) -> dict[str, str]:
        """What a session needs of its environment."""
        return {
            "PYSPARK_PYTHON": self._python,
            "SPARK_LOCAL_IP": "127.0.0.1",
            **self._environment,
        }

    def await_driver_processes(self) -> None:
        """Wait until each that has begun has ended."""
        for pid in self.faults.running():
            await_end(pid)


def await_end(pid: int) -> None:
    """Wait until a process that is nobody's child here has ended."""
    deadline = time.monotonic() + WAIT_S
    while is_running(pid):
        if time.monotonic() > deadline:
            raise TimeoutError(f"process {pid} still runs")
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def await_file(file: Path) -> str:
    """Wait until a file is there that has a line; answer with it."""
    deadline = time.monotonic() + WAIT_S
    while not (file.exists() and file.read_text("utf-8").endswith("\n")):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{file} does not come")
        time.sleep(0.02)
    return file.read_text("utf-8").strip()
