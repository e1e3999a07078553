"""A standalone cluster of Spark: a master and two workers, each on an address of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pyspark

from tests.servers.ports import free_ports
from tests.spark.own_session import WAIT_S

if TYPE_CHECKING:
    from types import TracebackType

HOME = Path(pyspark.__file__).parent
MASTER = "127.0.0.1"
# Spark starts no second copy of a task on a host that already runs it.
WORKERS = ("127.0.0.2", "127.0.0.3")
SMALL = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ActiveProcessorCount=2"


def program(name: str, host: str, *arguments: str, place: Path) -> subprocess.Popen[bytes]:
    """One of Spark's own programs, which is the process that is started."""
    environment = {
        **os.environ,
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": host,
        "SPARK_PUBLIC_DNS": host,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": f"{SMALL} -Djava.io.tmpdir={place}",
        "PYSPARK_PYTHON": sys.executable,
    }
    with (place / "log").open("ab") as log:
        return subprocess.Popen(
            [str(HOME / "bin" / "spark-class"), name, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=place,
            env=environment,
        )


class Cluster:
    """Runs as long as it is a context; all that it has started is gone at its end."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._running = ExitStack()
        self._workers: list[subprocess.Popen[bytes]] = []
        self.url = ""

    def __enter__(self) -> Self:
        [port] = free_ports(1)
        self.url = f"spark://{MASTER}:{port}"
        with ExitStack() as starting:
            name = "org.apache.spark.deploy.master.Master"
            starting.callback(self.end)
            self._start(name, MASTER, "--host", MASTER, "--port", str(port), "--webui-port", "0")
            for host in WORKERS:
                name = "org.apache.spark.deploy.worker.Worker"
                size = ("--cores", "2", "--memory", "1g")
                where = ("--host", host, "--webui-port", "0")
                work = ("--work-dir", str(self._place / host))
                worker = self._start(name, host, *where, *size, *work, self.url)
                self._workers.append(worker)
            self._await("Registering worker", len(WORKERS))
            starting.pop_all()
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.end()

    def end(self) -> None:
        """Kill what runs: first the workers, which start others, then these."""
        executors = self.executors()
        self._running.close()
        for pid in executors:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                continue

    def executors(self) -> list[int]:
        """The executors that the workers have started, and that run."""
        found = []
        for worker in self._workers:
            for children in Path(f"/proc/{worker.pid}/task").glob("*/children"):
                try:
                    found += [int(pid) for pid in children.read_text("utf-8").split()]
                except (FileNotFoundError, ProcessLookupError):
                    continue  # A thread that has ended meanwhile.
        return found

    def settings(self) -> dict[str, str]:
        """Of a session that runs on the cluster."""
        return {
            "spark.master": self.url,
            "spark.executor.memory": "512m",
            "spark.executor.cores": "2",
            "spark.executor.extraJavaOptions": SMALL,
            "spark.task.maxFailures": "4",
        }

    def _start(self, name: str, host: str, *arguments: str) -> subprocess.Popen[bytes]:
        process = program(name, host, *arguments, place=self._place)
        self._running.callback(process.wait)
        self._running.callback(process.kill)
        return process

    def _await(self, said: str, times: int) -> None:
        deadline = time.monotonic() + WAIT_S
        log = self._place / "log"
        while log.read_text("utf-8").count(said) < times:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the cluster does not come up:\n{log.read_text('utf-8')}")
            time.sleep(0.1)
