"""Hadoop's own committers in a warm JVM, for benchmarks that measure beside them.

The jars come from Maven, by the coordinates in `java/pom.xml`, into the checkout's ignored folder
`.servers/hadoop`. Where Java or Maven is missing `HadoopUnavailableError` says so, and the
benchmark reports its own figures alone.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

if TYPE_CHECKING:
    from types import TracebackType

Committer = Literal["v1", "manifest"]

JAVA = Path(__file__).parent / "java"
HADOOP = Path(__file__).parents[2] / ".servers" / "hadoop"
# What Hadoop 3.5 ships as the manifest committer's pool; 8 made no difference on two cores.
MANIFEST_THREADS = 32
# The first job of a JVM is about twice as slow as the third; later ones do not get faster.
WARMUPS = 3


class HadoopUnavailableError(Exception):
    """Hadoop cannot be run here, and why."""


def class_path() -> str:
    """The jars and our class, fetched and compiled if missing or older than their source.

    Raises:
        HadoopUnavailableError: a tool is missing, or the jars cannot be had.
    """
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    if missing:
        raise HadoopUnavailableError(f"not installed: {', '.join(missing)} (a JDK 17 and Maven)")
    jars, classes = HADOOP / "lib", HADOOP / "classes"
    pom, source = JAVA / "pom.xml", JAVA / "WarmHadoopJob.java"
    fetched = HADOOP / "fetched"
    if _older(fetched, pom):
        shutil.rmtree(jars, ignore_errors=True)
        jars.mkdir(parents=True)
        options = ("-DincludeScope=runtime", f"-DoutputDirectory={jars}")
        goal = "dependency:copy-dependencies"
        _run("mvn", "--batch-mode", "--quiet", "--file", str(pom), goal, *options)
        fetched.touch()
    path = f"{classes}:{jars}/*"
    if _older(classes / "WarmHadoopJob.class", source):
        classes.mkdir(exist_ok=True)
        _run("javac", "--release", "17", "-cp", path, "-d", str(classes), str(source))
    return path


def _older(made: Path, source: Path) -> bool:
    return not made.exists() or made.stat().st_mtime < source.stat().st_mtime


def _run(*command: str) -> None:
    ran = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if ran.returncode:
        last = " / ".join(ran.stdout.strip().splitlines()[-3:])
        raise HadoopUnavailableError(f"{command[0]} failed with {ran.returncode}: {last}")


class WarmHadoop:
    """One JVM that runs a job for every call of `job`.

    `file_system` is Hadoop's own: "raw" is its faster one, "checksummed" what `file:` URLs get
    unless somebody configures otherwise.
    """

    def __init__(self, file_system: Literal["raw", "checksummed"]) -> None:
        command = ["java", "-Xmx2g", "-cp", class_path(), "WarmHadoopJob", file_system]
        self._jvm = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def job(
        self, committer: Committer, destination: Path, *, tasks: int, files: int, directories: int
    ) -> dict[str, Any]:
        """Run one job, `files` and `directories` a task, and return its milliseconds by phase."""
        assert self._jvm.stdin is not None
        assert self._jvm.stdout is not None
        words = (committer, destination, tasks, files, directories, MANIFEST_THREADS)
        print(*words, file=self._jvm.stdin, flush=True)
        answer = self._jvm.stdout.readline()
        if not answer:
            raise RuntimeError(f"the JVM stopped with status {self._jvm.wait()}")
        figures: dict[str, Any] = json.loads(answer)
        assert figures["visible"] == tasks * files, figures
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
