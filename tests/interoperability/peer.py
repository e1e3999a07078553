"""Hadoop in a JVM of its own: `java/HadoopPeer.java`, asked by lines of JSON.

The Java source is started as it is, so nothing compiled is left anywhere. The JVM ends when nobody
is there any more to ask.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from tests.servers.hadoop_jars import HADOOP

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

Read = Literal["success", "manifest", "pendingset"]
Gate = Literal["", "save", "publish"]

SOURCE = Path(__file__).with_name("java") / "HadoopPeer.java"
_FACTORY = "mapreduce.outputcommitter.factory.scheme"
_OUTPUT = "org.apache.hadoop.mapreduce.lib.output"
_SCHEMES = ("file", "hdfs")
V1 = {
    **{f"{_FACTORY}.{scheme}": f"{_OUTPUT}.FileOutputCommitterFactory" for scheme in _SCHEMES},
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
}
MANIFEST = {
    f"{_FACTORY}.{scheme}": f"{_OUTPUT}.committer.manifest.ManifestCommitterFactory"
    for scheme in _SCHEMES
}
# Quick to start and small; what it does takes milliseconds.
_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC")


def magic(storage_options: Mapping[str, str], job_id: str) -> dict[str, str]:
    """The settings of the magic committer on a server of the tests."""
    return {
        f"{_FACTORY}.s3a": "org.apache.hadoop.fs.s3a.commit.S3ACommitterFactory",
        "fs.s3a.committer.name": "magic",
        "fs.s3a.committer.uuid": job_id,
        "spark.sql.sources.writeJobUUID": job_id,
        "fs.s3a.endpoint": storage_options["endpoint_url"],
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.s3a.access.key": storage_options["key"],
        "fs.s3a.secret.key": storage_options["secret"],
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.create.checksum.generation": "false",
        # Not on a disk, where nobody would remove it.
        "fs.s3a.fast.upload.buffer": "array",
    }


class Peer:
    """One JVM.

    Raises:
        ServerUnavailableError: Hadoop is not installed.
    """

    def __init__(self) -> None:
        command = [str(HADOOP.program), *_OPTIONS, "-cp", HADOOP.class_path, str(SOURCE)]
        self._jvm = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def kill(self) -> None:
        """End it as SIGKILL does: nothing is said, finished or cleaned up."""
        self._jvm.kill()
        self._jvm.communicate()

    def read(self, what: Read, path: Path) -> dict[str, Any]:
        """What Hadoop's class reads in a file, as that class would write it again."""
        read: dict[str, Any] = self._ask(op=what, path=path.as_uri())["read"]
        return read

    def printed(self, path: Path) -> str:
        """What `ManifestPrinter` prints of a file."""
        return str(self._ask(op="print", path=path.as_uri())["text"])

    def leave(
        self,
        destination: str,
        settings: Mapping[str, str],
        *,
        number: int = 1,
        committed: int = 2,
        uncommitted: int = 1,
        stop_at: Gate = "",
        after: int = 0,
    ) -> str:
        """Run a job, and stop it for good where it is told to; the name of its committer.

        Args:
            destination: Where, as Hadoop names it.
            settings: Of the committer and its store.
            number: Of the job: ids are made of it.
            committed: How many tasks commit, of two files each.
            uncommitted: How many more write their files, and do not.
            stop_at: "": before the job commits. "save": when a manifest gets its name. "publish":
                in the job's commit, when a file, or directory, becomes visible.
            after: How many of these happen before.
        """
        answer = self._ask(
            op="leave",
            path=destination,
            settings=dict(settings),
            number=number,
            committed=committed,
            uncommitted=uncommitted,
            stopAt=stop_at,
            stopAfter=after,
        )
        return str(answer["committer"])

    def run(self, destination: str, settings: Mapping[str, str], *, number: int) -> None:
        """Run a job of two tasks to its end."""
        self.leave(
            destination, settings, number=number, uncommitted=0, stop_at="publish", after=1_000
        )

    def _ask(self, **question: object) -> dict[str, Any]:
        assert self._jvm.stdin is not None
        assert self._jvm.stdout is not None
        print(json.dumps(question), file=self._jvm.stdin, flush=True)
        line = self._jvm.stdout.readline()
        assert line, f"the JVM stopped with status {self._jvm.wait()}"
        answer: dict[str, Any] = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer
