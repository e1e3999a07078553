"""The ways to write a frame without the jar, and what a reader then finds."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

import fsspec_commit as fc

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame

WAYS = ("write", "data source")


def write(way: str, df: DataFrame, destination: object, **options: Any) -> None:
    """Write *df* by `fc.spark.write`, or by the data source with the same options as texts."""
    if way == "write":
        fc.spark.write(df, str(destination), **options)
        return
    mode = options.pop("mode", "error")
    writer = df.write.format("fsspec_commit").option("mode", mode)
    for name, value in options.items():
        writer = writer.option(name, value if isinstance(value, str) else json.dumps(value))
    writer.mode("overwrite" if mode.startswith("overwrite") else "append").save(str(destination))


def files(destination: Path) -> list[str]:
    """The data files, relative to *destination*."""
    found = (path.relative_to(destination) for path in destination.rglob("*.parquet"))
    return sorted(map(str, found))


def has_no_job(destination: Path) -> bool:
    """Whether no job is left there, decided or not."""
    return fc.jobs(str(destination)) == []


def rows_of(data: Mapping[str, bytes]) -> list[tuple[str, int]]:
    """The directory and the `id` of each row in the files of a snapshot."""
    return sorted(
        (name.rpartition("/")[0], number)
        for name, content in data.items()
        if name.endswith(".parquet")
        for number in pq.read_table(io.BytesIO(content))["id"].to_pylist()
    )
