"""pandas, as the documentation shows it, read back with plain pandas."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from tests.integration.libraries.rows import DAYS, FRAME, check_rows
from tests.integration.libraries.written import files_in, in_task, only_file

if TYPE_CHECKING:
    from pathlib import Path

    import fsspec_commit as fc


def test_pandas_to_parquet(out: Path) -> None:
    in_task(out, lambda task: FRAME.to_parquet("part.parquet", filesystem=task.filesystem))
    check_rows(out)


def test_pandas_to_parquet_with_partitions(out: Path) -> None:
    result = in_task(
        out,
        lambda task: FRAME.to_parquet(".", partition_cols=["day"], filesystem=task.filesystem),
    )
    assert list(result.partitions) == DAYS
    check_rows(out)


def test_pandas_to_csv_compressed(out: Path) -> None:
    def write(task: fc.Task) -> None:
        with task.open("part.csv.gz", "w", compression="gzip") as file:
            FRAME.to_csv(file, index=False)

    in_task(out, write)
    path = only_file(out)
    assert path.name.endswith(".csv.gz")
    assert gzip.decompress(path.read_bytes()).startswith(b"id,day,x\n0,")
    pd.testing.assert_frame_equal(pd.read_csv(path), FRAME, check_dtype=False)


def test_other_pandas_writers(out: Path) -> None:
    def write(task: fc.Task) -> None:
        with task.open("part.json", "w") as text:
            FRAME.to_json(text, orient="records", lines=True)
        with task.open("part.pkl") as binary:
            FRAME.to_pickle(binary)
        with task.open("part.csv.xz", "w", compression="infer") as text:
            FRAME.to_csv(text, index=False)
        with task.open("part.feather") as binary:
            FRAME.to_feather(binary)

    in_task(out, write)
    by_kind = {path.suffixes[-1]: path for path in out.glob("part*")}
    pd.testing.assert_frame_equal(
        pd.read_json(by_kind[".json"], lines=True), FRAME, check_dtype=False
    )
    pd.testing.assert_frame_equal(pd.read_pickle(by_kind[".pkl"]), FRAME)
    pd.testing.assert_frame_equal(pd.read_feather(by_kind[".feather"]), FRAME)
    pd.testing.assert_frame_equal(pd.read_csv(by_kind[".xz"]), FRAME, check_dtype=False)


def test_an_error_in_the_middle_of_a_pandas_writer(out: Path) -> None:
    class Bad:
        def __str__(self) -> str:
            raise LookupError("boom")

    frame = pd.DataFrame({"a": [*range(10_000), Bad()]})

    def write(task: fc.Task) -> None:
        with task.open("part.csv", "w") as file:
            frame.to_csv(file)

    with pytest.raises(LookupError, match="boom"):
        in_task(out, write)
    assert files_in(out) == []
