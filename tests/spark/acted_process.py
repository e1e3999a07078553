"""A program in place of the driver process: it answers the jar as a test says, and commits nothing.

python acted_process.py PLACE; of PLACE/plays.json, a list, the n-th process plays the n-th.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fsspec_commit.engines.spark.hadoop_settings import PREFIXES, PROPERTIES, SECRETS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB_ID = "20261123T170000-0123456789abcdef"
RESUME = f"fsspec-commit resume /out {JOB_ID}"
ABORT = f"fsspec-commit abort /out {JOB_ID}"

Act = Literal["answer", "decide", "end", "refuse"]
Play = dict[str, list[Act]]
"""What is done at each request, by its name; those that are not named are answered."""

GREETING = {
    "protocol": 1,
    "version": "0",
    "prefixes": PREFIXES,
    "properties": PROPERTIES,
    "secrets": SECRETS,
}
ANSWERS: dict[str, dict[str, object]] = {
    "start": {
        "job_id": JOB_ID,
        "spec": "{}",
        "is_uploaded": False,
        "attempts": f"_commit/{JOB_ID}/tasks",
        "record": f"_commit/{JOB_ID}/job.json",
        "resume": RESUME,
        "abort": ABORT,
    },
    "commit": {"said": "committed, by nobody"},
}


class ActedProcess:
    """The processes of one session, one after the other.

    Args:
        place: A folder for them.
        plays: What each of them plays; one that is not named answers everything.
    """

    def __init__(self, place: Path, *plays: Play) -> None:
        self.python = place / "acted"
        self._asked = place / "asked.jsonl"
        (place / "plays.json").write_text(json.dumps(plays), "utf-8")
        command = f'exec "{sys.executable}" "{__file__}" "{place}"'
        self.python.write_text(f"#!/bin/sh\n{command}\n", "utf-8")
        self.python.chmod(0o755)

    def asked(self) -> list[list[dict[str, Any]]]:
        """What each process was asked, and with what."""
        lines = [json.loads(line) for line in self._asked.read_text("utf-8").splitlines()]
        pids = dict.fromkeys(line["pid"] for line in lines)
        return [[line for line in lines if line["pid"] == pid and "do" in line] for pid in pids]


class JobOfNoTasks:
    """A job of the jar without tasks, as Spark drives it."""

    def __init__(self, spark: SparkSession, out: str | Path) -> None:
        jvm = spark.sparkContext._jvm
        assert jvm is not None
        self._jvm = jvm
        conf = spark.sparkContext._jsc.hadoopConfiguration()
        self._job = jvm.org.apache.hadoop.mapreduce.Job.getInstance(conf)
        self._protocol = jvm.io.github.fsspec_commit.spark.FsspecCommitProtocol("a", str(out))
        self._protocol.setupJob(self._job)

    def commit(self) -> None:
        converters = self._jvm.scala.jdk.javaapi.CollectionConverters
        nothing = converters.asScala(self._jvm.java.util.ArrayList()).toSeq()
        self._protocol.commitJob(self._job, nothing)

    def abort(self) -> None:
        self._protocol.abortJob(self._job)


def say(**said: object) -> None:
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def main(place: Path) -> None:
    """Answer until the input ends, or the play."""
    with (place / "asked.jsonl").open("a+", encoding="utf-8") as log:
        log.seek(0)
        before = {json.loads(line)["pid"] for line in log}
        print(json.dumps({"pid": os.getpid()}), file=log, flush=True)
        plays = json.loads((place / "plays.json").read_text("utf-8"))
        play: Play = plays[len(before)] if len(before) < len(plays) else {}
        say(**GREETING)
        for line in sys.stdin:
            request = json.loads(line)
            print(json.dumps({"pid": os.getpid(), **request}), file=log, flush=True)
            for act in play.get(request["do"], ["answer"]):
                if act == "end":
                    return
                if act == "decide":
                    say(decided=JOB_ID)
                elif act == "refuse":
                    say(id=request["id"], error="the store is away for a moment")
                elif "id" in request:
                    say(id=request["id"], **ANSWERS.get(request["do"], {}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
