"""Hadoop in a JVM of its own: `java/HadoopPeer.java`, asked by lines of JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tests.servers.hadoop import on_s3
from tests.servers.hadoop.jvm import QUICK, HadoopJvm

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def magic(storage_options: Mapping[str, str], job_id: str) -> dict[str, str]:
    """The settings of the magic committer on a server of the tests."""
    return {
        **on_s3.settings_of(storage_options),
        "fs.s3a.committer.uuid": job_id,
        "spark.sql.sources.writeJobUUID": job_id,
        # Not on a disk, where nobody would remove it.
        "fs.s3a.fast.upload.buffer": "array",
    }


class Peer(HadoopJvm):
    """One JVM that reads what it is shown, and leaves jobs as it is told."""

    def __init__(self) -> None:
        super().__init__(SOURCE, options=(*QUICK, "-Duser.timezone=UTC"))

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
        answer = self.ask(json.dumps(question))
        assert "error" not in answer, answer["error"]
        return answer
