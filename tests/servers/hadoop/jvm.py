"""Hadoop in a JVM of its own that is asked by lines, each answered by one line of JSON."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.servers.hadoop.jars import HADOOP

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.servers.hadoop.jars import MavenJars

# Quick to start and small; a benchmark wants a compiler that takes its time.
QUICK = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class HadoopJvm:
    """One JVM, which ends when nobody is there any more to ask.

    The Java source is started as it is, so nothing compiled is left anywhere.

    Args:
        source: Of its program.
        arguments: Of the program.
        jars: What that needs.
        options: Of the JVM.
        within: What is put before the command, such as what holds it to a quota.

    Raises:
        ServerUnavailableError: Hadoop is not installed.
    """

    def __init__(
        self,
        source: Path,
        *arguments: str,
        jars: MavenJars = HADOOP,
        options: tuple[str, ...] = QUICK,
        within: tuple[str, ...] = (),
    ) -> None:
        java, class_path = str(jars.program), jars.class_path
        self._jvm = subprocess.Popen(
            [*within, java, *options, "-cp", class_path, str(source), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """End it as SIGKILL does: nothing is said, finished or cleaned up."""
        self._jvm.kill()
        self._jvm.communicate()

    def ask(self, question: str) -> dict[str, Any]:
        """The answer to one line.

        Raises:
            RuntimeError: the JVM has stopped.
        """
        assert self._jvm.stdin is not None
        assert self._jvm.stdout is not None
        print(question, file=self._jvm.stdin, flush=True)
        line = self._jvm.stdout.readline()
        if not line:
            raise RuntimeError(f"the JVM stopped with status {self._jvm.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer


class StoreJobs(HadoopJvm):
    """Runs job after job through a committer of Hadoop's, on a store that its settings name."""

    def __init__(
        self,
        settings: Mapping[str, str],
        *,
        jars: MavenJars = HADOOP,
        options: tuple[str, ...] = QUICK,
        within: tuple[str, ...] = (),
    ) -> None:
        named = [f"{name}={value}" for name, value in settings.items()]
        source = Path(__file__).with_name("StoreJobs.java")
        super().__init__(source, *named, jars=jars, options=options, within=within)

    def write(
        self,
        url: str,
        *,
        tasks: int,
        files: int,
        directories: int = 0,
        settings: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Run and commit the tasks of a job, `files` a task, in so many directories.

        Answers with the milliseconds of all that, and of a task's commit.
        """
        named = [f"{name}={value}" for name, value in (settings or {}).items()]
        return self.ask(" ".join((f"write {url} {tasks} {files} {directories}", *named)))

    def commit(self) -> dict[str, Any]:
        """Commit the job that was written; answers with its milliseconds and what is visible."""
        return self.ask("commit")
