"""A driver whose tasks may fail and run again: python retrying_driver.py PLACE.

`local[2, 3]` gives each task three chances, which no session of `local[2]` does. Every scene is
written by both ways into a directory of its name; what each raised goes to `PLACE/raised.json`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec_commit as fc
from fsspec_commit.engines.spark.data_source import FrameWriter, FsspecCommitDataSource
from fsspec_commit.engines.spark.write_plan import message_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

ROWS = 40_000
TASKS = 2
BROKEN_TASK = 1


def is_to_fail() -> bool:
    """Whether this is the first attempt at the task that fails; then that is noted."""
    from pyspark import TaskContext

    task = TaskContext.get()
    if task is None or (task.partitionId(), task.attemptNumber()) != (BROKEN_TASK, 0):
        return False
    with Path(os.environ["FAILURES"]).open("a") as file:
        file.write("one\n")
    return True


def raises_at_second_batch(batches: Iterator[Any]) -> Iterator[Any]:
    for number, batch in enumerate(batches):
        if number == 1 and is_to_fail():
            raise RuntimeError("the second batch has failed")
        yield batch


def dies_at_second_batch(batches: Iterator[Any]) -> Iterator[Any]:
    for number, batch in enumerate(batches):
        if number == 1 and is_to_fail():
            os.kill(os.getpid(), signal.SIGKILL)
        yield batch


def dies_at_its_end(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


IN_THE_TASK: dict[str, Callable[[Iterator[Any]], Iterator[Any]]] = {
    "raises": raises_at_second_batch,
    "dies": dies_at_second_batch,
    "dies-after-its-commit": dies_at_its_end,
}

IN_THE_COMMIT = ("unheard", "unpublished")
"""Commits that fail when they are over, and when they are decided: Spark then calls `abort`."""


def message_of_scene(scene: str, batches: Any, spec: Any) -> str:
    """As `message_of`, but what the scene says happens to the first attempt at one task."""
    message = message_of(IN_THE_TASK[scene](batches), spec)
    if scene == "dies-after-its-commit" and is_to_fail():
        os.kill(os.getpid(), signal.SIGKILL)
    return message


class SceneWriter(FrameWriter):
    """A writer to which a scene happens."""

    scene = ""

    def write(self, iterator: Any) -> Any:
        happens = IN_THE_TASK.get(self.scene, dies_at_its_end)
        message = super().write(happens(iterator))
        if self.scene == "dies-after-its-commit" and is_to_fail():
            os.kill(os.getpid(), signal.SIGKILL)
        return message

    def commit(self, messages: Any) -> None:
        if self.scene == "unpublished":
            vars(import_module("fsspec_commit.protocol.commit"))["publish_files"] = fails
        super().commit(messages)
        if self.scene == "unheard":
            raise RuntimeError("the answer was lost")


async def fails(*_: Any, **__: Any) -> Any:
    raise fc.StoreError("the store has gone")


class SceneSource(FsspecCommitDataSource):
    """The data source with such writers; `success` carries which scene."""

    @classmethod
    def name(cls) -> str:
        return "scene"

    def writer(self, schema: Any, overwrite: bool) -> Any:
        scene = self.options.pop("scene")
        writer: Any = super().writer(schema, overwrite)
        writer.__class__ = SceneWriter
        writer.scene = scene
        return writer


def by_write(frame: DataFrame, scene: str, out: str) -> None:
    if scene == "upstream":
        fc.spark.write(frame.mapInArrow(raises_at_second_batch, frame.schema), out)
        return

    def happens(batches: Any, spec: Any) -> str:
        return message_of_scene(scene, batches, spec)

    module = vars(import_module("fsspec_commit.engines.spark.write"))
    module["message_of"] = happens
    try:
        fc.spark.write(frame, out, partition_by="p")
    finally:
        module["message_of"] = message_of


def by_data_source(frame: DataFrame, scene: str, out: str) -> None:
    if scene == "upstream":
        frame = frame.mapInArrow(raises_at_second_batch, frame.schema)
        frame.write.format("fsspec_commit").mode("append").save(out)
        return
    writer = frame.write.format("scene").option("scene", scene).option("partition_by", "p")
    writer.mode("append").save(out)


WAYS = {"write": by_write, "data-source": by_data_source}


def session() -> SparkSession:
    from pyspark.sql import SparkSession

    from tests.spark.conftest import SETTINGS

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2, 3]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main() -> None:
    place = Path(sys.argv[1])
    os.environ["FAILURES"] = str(place / "failures")
    spark = session()
    spark.dataSource.register(SceneSource)
    fc.spark.register(spark)
    frame = spark.range(0, ROWS, numPartitions=TASKS).selectExpr("id", "id % 3 AS p")
    raised: dict[str, str] = {}
    for scene in (*IN_THE_TASK, "upstream"):
        for way, write in WAYS.items():
            name = f"{scene}-{way}"
            try:
                write(frame, scene, str(place / name))
            except Exception as error:  # noqa: BLE001  # told to the test
                raised[name] = repr(error)[:2_000]
    for scene in IN_THE_COMMIT:
        try:
            by_data_source(frame, scene, str(place / scene))
        except Exception as error:  # noqa: BLE001  # told to the test
            raised[scene] = str(error)
    (place / "raised.json").write_text(json.dumps(raised))


if __name__ == "__main__":
    main()
