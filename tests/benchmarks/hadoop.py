"""Hadoop's own committers in a warm JVM, for benchmarks that measure beside them.

The jars come from Maven, by the coordinates in the `pom.xml` beside the Java source, into a folder
of their own in the checkout's ignored `.servers`. Where Java or Maven is missing
`HadoopUnavailableError` says so, and the benchmark reports its own figures alone.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

if TYPE_CHECKING:
    from types import TracebackType

Committer = Literal["v1", "manifest"]

JAVA = Path(__file__).parent / "java"
SERVERS = Path(__file__).parents[2] / ".servers"
# What Hadoop 3.5 ships as the manifest committer's pool; 8 made no difference on two cores.
MANIFEST_THREADS = 32
# The first job of a JVM is about twice as slow as the third; later ones do not get faster.
WARMUPS = 3


class HadoopUnavailableError(Exception):
    """Hadoop cannot be run here, and why."""


@dataclass(frozen=True)
class Program:
    """A Java class of ours: its name, the folder of its source and `pom.xml`, that of its jars."""

    name: str
    source: Path
    installed: Path

    def class_path(self) -> str:
        """The jars and our class, fetched and compiled if missing or older than their source.

        Raises:
            HadoopUnavailableError: a tool is missing, or the jars cannot be had.
        """
        missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
        if missing:
            raise HadoopUnavailableError(
                f"not installed: {', '.join(missing)} (a JDK 17 and Maven)"
            )
        jars, classes = self.installed / "lib", self.installed / "classes"
        pom, source = self.source / "pom.xml", self.source / f"{self.name}.java"
        fetched = self.installed / "fetched"
        if _older(fetched, pom):
            shutil.rmtree(jars, ignore_errors=True)
            jars.mkdir(parents=True)
            options = ("-DincludeScope=runtime", f"-DoutputDirectory={jars}")
            goal = "dependency:copy-dependencies"
            _run("mvn", "--batch-mode", "--quiet", "--file", str(pom), goal, *options)
            fetched.touch()
        path = f"{classes}:{jars}/*"
        if _older(classes / f"{self.name}.class", source):
            classes.mkdir(exist_ok=True)
            _run("javac", "--release", "17", "-cp", path, "-d", str(classes), str(source))
        return path


LOCAL = Program("WarmHadoopJob", JAVA, SERVERS / "hadoop")
S3A = Program("WarmMagicJob", JAVA / "s3a", SERVERS / "hadoop-s3a")


def _older(made: Path, source: Path) -> bool:
    return not made.exists() or made.stat().st_mtime < source.stat().st_mtime


def _run(*command: str) -> None:
    ran = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if ran.returncode:
        last = " / ".join(ran.stdout.strip().splitlines()[-3:])
        raise HadoopUnavailableError(f"{command[0]} failed with {ran.returncode}: {last}")


class _Jvm:
    """One JVM that answers every line with a line of JSON."""

    def __init__(self, program: Program, *arguments: str, heap: str = "2g") -> None:
        command = ["java", f"-Xmx{heap}", "-cp", program.class_path(), program.name, *arguments]
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
