"""Hadoop's manifest committer on a server of the tests, in a JVM of its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

    from tests.servers.hadoop_jars import MavenJars

SOURCE = Path(__file__).parents[1] / "benchmarks" / "java" / "abfs" / "WarmManifestJob.java"
# Quick to start and small; a benchmark wants a compiler that takes its time.
QUICK = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class ManifestJobs:
    """One JVM that runs job after job through Hadoop's manifest committer, on a driver's jars.

    Raises:
        ServerUnavailableError: Hadoop is not installed.
    """

    def __init__(
        self,
        settings: dict[str, str],
        *,
        jars: MavenJars,
        options: tuple[str, ...] = QUICK,
    ) -> None:
        named = [f"{name}={value}" for name, value in settings.items()]
        java, class_path = str(jars.program), jars.class_path
        self._jvm = subprocess.Popen(
            [java, *options, "-cp", class_path, str(SOURCE), *named],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self._jvm.kill()
        self._jvm.communicate()

    def write(self, url: str, *, tasks: int, files: int, directories: int = 0) -> None:
        """Run and commit the tasks of a job, `files` a task, in so many directories."""
        self._ask("write", url, tasks, files, directories)

    def commit(self) -> dict[str, Any]:
        """Commit the job that was written; answers with its milliseconds and what is visible."""
        return self._ask("commit")

    def _ask(self, *words: object) -> dict[str, Any]:
        assert self._jvm.stdin is not None
        assert self._jvm.stdout is not None
        print(*words, file=self._jvm.stdin, flush=True)
        answer = self._jvm.stdout.readline()
        if not answer:
            raise RuntimeError(f"the JVM stopped with status {self._jvm.wait()}")
        figures: dict[str, Any] = json.loads(answer)
        return figures
