"""Hadoop's own committers in a warm JVM, for benchmarks that measure beside them.

The jars come from Maven, by the coordinates in the `pom.xml` beside the Java source, and are kept
with the servers of the tests; the source is started as it is. Where Java or Maven is missing
`HadoopUnavailableError` says so, and the benchmark reports its own figures alone.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from tests.servers.hadoop_jars import HADOOP, MavenJars
from tests.servers.installation import InstallationError, ServerUnavailableError

if TYPE_CHECKING:
    from types import TracebackType

Committer = Literal["v1", "manifest"]

JAVA = Path(__file__).parent / "java"
# What Hadoop 3.5 ships as the manifest committer's pool; 8 made no difference on two cores.
MANIFEST_THREADS = 32
# The first job of a JVM is about twice as slow as the third; later ones do not get faster.
WARMUPS = 3


class HadoopUnavailableError(Exception):
    """Hadoop cannot be run here, and why."""


@dataclass(frozen=True)
class Program:
    """A Java class of ours, and the jars that it needs."""

    source: Path
    jars: MavenJars

    def command(self, heap: str) -> list[str]:
        """What starts it, its jars fetched if they are not there.

        Raises:
            HadoopUnavailableError: a tool is missing, or the jars cannot be had.
        """
        try:
            self.jars.ensure()
        except (ServerUnavailableError, InstallationError) as error:
            raise HadoopUnavailableError(f"{error} (a JDK 17 and Maven)") from error
        java, class_path = str(self.jars.program), self.jars.class_path
        return [java, f"-Xmx{heap}", "-cp", class_path, str(self.source)]


LOCAL = Program(
    JAVA / "WarmHadoopJob.java",
    MavenJars(
        name="hadoop-local-jars", version="3.5.0", command="java", pom="benchmarks/java/pom.xml"
    ),
)
S3A = Program(JAVA / "s3a" / "WarmMagicJob.java", HADOOP)


class _Jvm:
    """One JVM that answers every line with a line of JSON."""

    def __init__(self, program: Program, *arguments: str, heap: str = "2g") -> None:
        command = [*program.command(heap), *arguments]
        self._jvm = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def _ask(self, *words: object) -> dict[str, Any]:
        assert self._jvm.stdin is not None
        assert self._jvm.stdout is not None
        print(*words, file=self._jvm.stdin, flush=True)
        answer = self._jvm.stdout.readline()
        if not answer:
            raise RuntimeError(f"the JVM stopped with status {self._jvm.wait()}")
        figures: dict[str, Any] = json.loads(answer)
        return figures

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


class WarmHadoop(_Jvm):
    """One JVM that runs a job on local files for every call of `job`.

    `file_system` is Hadoop's own: "raw" is its faster one, "checksummed" what `file:` URLs get
    unless somebody configures otherwise.
    """

    def __init__(self, file_system: Literal["raw", "checksummed"]) -> None:
        super().__init__(LOCAL, file_system)

    def job(
        self, committer: Committer, destination: Path, *, tasks: int, files: int, directories: int
    ) -> dict[str, Any]:
        """Run one job, `files` and `directories` a task, and return its milliseconds by phase."""
        figures = self._ask(committer, destination, tasks, files, directories, MANIFEST_THREADS)
        assert figures["visible"] == tasks * files, figures
        return figures


class WarmMagic(_Jvm):
    """One JVM that runs jobs through the magic committer on one S3 server, in two steps each.

    Without `threads` and `connections` it has what Hadoop ships: 8 and 500.
    """

    def __init__(self, endpoint_url: str, *, threads: int = 0, connections: int = 0) -> None:
        super().__init__(S3A, endpoint_url, str(threads), str(connections), heap="1g")

    def write(self, destination: str, *, tasks: int, files: int) -> None:
        """Run and commit the tasks of a job, `files` a task."""
        self._files = tasks * files
        self._ask("write", destination, tasks, files)

    def commit(self) -> float:
        """Seconds of the `commitJob` of the job that was written last."""
        figures = self._ask("commit")
        assert figures["visible"] == self._files, figures
        return float(figures["commit_job_ms"]) / 1000
