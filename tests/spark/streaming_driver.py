"""A driver of a stream, which a test kills: python streaming_driver.py PLACE WHEN BATCH STREAM_ID.

WHEN is `committed`: when batch BATCH is committed, and Spark does not know yet. Or `decided`: when
its job is decided, and no file is published. Or `never`.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_PER_FILE = 5


def session() -> SparkSession:
    from pyspark.sql import SparkSession

    from tests.spark.conftest import SETTINGS

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[1]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def stream(spark: SparkSession, place: Path) -> DataFrame:
    """The files of `source`, one a batch, in the order of their names."""
    source = spark.readStream.schema("id long").option("maxFilesPerTrigger", 1)
    return source.option("latestFirst", "false").csv(str(place / "source"))


def main() -> None:
    import fsspec_commit as fc
    from fsspec_commit.protocol import commit, publish

    place, when, batch, stream_id = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
    write = fc.spark.foreach_batch(str(place / "out"), stream_id=stream_id)

    async def killed(*_: Any, **__: Any) -> Any:
        os.killpg(0, signal.SIGKILL)

    def write_batch(df: DataFrame, batch_id: int) -> None:
        is_it = batch_id == batch
        publishing = killed if is_it and when == "decided" else publish.publish_files
        vars(commit)["publish_files"] = publishing
        write(df, batch_id)
        if is_it and when == "committed":
            os.killpg(0, signal.SIGKILL)

    query = stream(session(), place).writeStream.foreachBatch(write_batch)
    query = query.option("checkpointLocation", str(place / "checkpoint")).trigger(availableNow=True)
    query.start().awaitTermination()


if __name__ == "__main__":
    main()
