"""The rows that every library writes, and how pandas reads them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa

if TYPE_CHECKING:
    from pathlib import Path

FRAME = pd.DataFrame(
    {"id": range(100), "day": [f"2026-11-{20 + i % 3}" for i in range(100)], "x": 0.5}
)
POLARS = pl.DataFrame(FRAME)
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)
DAYS = ["day=2026-11-20", "day=2026-11-21", "day=2026-11-22"]


def frames_of(frame: pd.DataFrame, npartitions: int) -> Any:
    """The same rows as Dask has them."""
    import dask.dataframe as dd

    from_pandas: Any = dd.from_pandas
    return from_pandas(frame, npartitions=npartitions)


def frame_at(out: Path) -> pd.DataFrame:
    """All rows, as pandas itself reads the directory."""
    frame = pd.read_parquet(out, columns=["id", "x"]).sort_values("id", ignore_index=True)
    days = pd.read_parquet(out).sort_values("id", ignore_index=True)["day"]
    return frame.assign(day=days.astype(FRAME["day"].dtype))[FRAME.columns.tolist()]


def check_rows(out: Path, expected: pd.DataFrame = FRAME) -> None:
    pd.testing.assert_frame_equal(frame_at(out), expected, check_dtype=False)
