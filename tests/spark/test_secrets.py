"""Secrets of Hadoop's settings are heard of nowhere but on the driver process's standard input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from tests.scenes.remotes import on
from tests.servers.hadoop import on_s3
from tests.spark.secrets_driver import DRIVER_PROCESS, keep_protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.scenes.remotes import Remote
    from tests.spark.places import SparkPlace

SECRET, TOKEN, HEADER = (f"canary-sings-of-{what}-4242" for what in ("keys", "tokens", "headers"))
CANARIES = tuple(one.encode() for one in (SECRET, TOKEN, HEADER))
ROOT = Path(__file__).resolve().parents[2]


class Watch(threading.Thread):
    """Looks at every process on the machine, and at what stands in a bucket, until it is told.

    Attributes:
        seen: What was looked at, with those that hold a secret.
    """

    def __init__(self, remote: Remote) -> None:
        super().__init__()
        self.seen: dict[str, bool] = {}
        self._remote = remote
        self._read: set[tuple[str, str]] = set()
        self._over = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        while not self._over.wait(0.1):
            self._look_at_processes()
            self._look_at_objects()

    def note(self, what: str, content: bytes) -> None:
        self.seen[what] = self.seen.get(what, False) or any(one in content for one in CANARIES)

    def _look_at_processes(self) -> None:
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                arguments = (process / "cmdline").read_bytes()
                if DRIVER_PROCESS.encode() in arguments:
                    self.note("arguments", arguments)
                    self.note("environment", (process / "environ").read_bytes())

    def _look_at_objects(self) -> None:
        client, bucket = self._remote.server.client, self._remote.bucket.name
        for one in client.list_objects_v2(Bucket=bucket).get("Contents", []):
            version = (one["Key"], one["ETag"])
            if version in self._read:
                continue
            self._read.add(version)
            with suppress(client.exceptions.NoSuchKey):
                content = client.get_object(Bucket=bucket, Key=one["Key"])["Body"].read()
                name = one["Key"].rsplit("/", 1)[-1]
                self.note(f"object {name}", one["Key"].encode() + content)


def run(place: Path, given: dict[str, Any]) -> bytes:
    """All that a driver says, whoever of its processes says it."""
    driver = Path(__file__).with_name("secrets_driver.py")
    done = subprocess.run(
        [sys.executable, str(driver), str(place)],
        input=json.dumps(given).encode() + b"\n",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert done.stdout.rstrip().endswith(b"done"), done.stdout.decode()[-4000:]
    return done.stdout


@on("gen2")
def test_what_every_task_is_sent_has_none(
    committing: SparkSession, spark_place: SparkPlace, tmp_path: Path
) -> None:
    keep_protocol(committing, spark_place.url, tmp_path)
    sent = (tmp_path / "protocol").read_bytes()
    key = spark_place.remote.server.account_key.encode()
    assert spark_place.url.encode() in sent
    assert key not in sent


# A Spark of its own, whose every word is kept, and which is watched in what it does.
@pytest.mark.slow
@on("ministack")
def test_a_secret_is_said_to_the_driver_process_alone(
    remote: Remote, spark_jars: str, tmp_path: Path
) -> None:
    # This server knows its root by the key alone, so that any secret and any token will do.
    options = {**remote.options, "secret": SECRET}
    given = {
        "url": f"s3a://{remote.bucket.name}/out",
        "settings": {
            **on_s3.connection_of(options),
            "fs.s3a.committer.magic.enabled": "true",
            "fs.s3a.session.token": TOKEN,
        },
        "refused": {"fs.s3a.client.s3.custom.headers": f"x-of-mine={HEADER}"},
        "shared": {
            "url": f"s3://{remote.bucket.name}/shared",
            "options": {**options, "token": TOKEN},
        },
        "class_path": spark_jars,
    }
    with Watch(remote) as watch:
        said = run(tmp_path, given)
    watch.note("output", said)
    for file in (one for one in tmp_path.rglob("*") if one.is_file()):
        watch.note("event log" if "events" in file.parts else file.name, file.read_bytes())
    # All of it has been there to be looked at.
    looked = {"arguments", "environment", "event log", "object job.json", "output", "protocol"}
    assert looked <= set(watch.seen)
    assert b"custom.headers is set" in said
    assert [what for what, holds in watch.seen.items() if holds] == []
