"""The rows that the command writes, and how pyarrow reads them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

if TYPE_CHECKING:
    from pathlib import Path

TABLE = pa.table({"day": [1, 1, 2], "n": [1, 2, 3], "s": ["a", "b", None]})


def rows_of(destination: Path, format_: str = "parquet") -> list[dict[str, Any]]:
    table = ds.dataset(destination, format=format_, partitioning="hive").to_table()
    rows = table.select(["day", "n", "s"]).to_pylist()
    return sorted(rows, key=lambda row: int(row["n"]))
