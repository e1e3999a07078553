"""The rows that ``write_dataset`` is given, and what plain fsspec and pyarrow find of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
from fsspec.core import url_to_fs

from fsspec_commit.testing import assert_no_leftovers

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLE = pa.table(
    {
        "id": pa.array(range(1_000), pa.int64()),
        "day": pa.array([f"2026-11-{20 + i % 3}" for i in range(1_000)]),
        "label": pa.array([f"label {i % 7}" for i in range(1_000)]),
    }
)


def batches(table: pa.Table = TABLE) -> Iterator[pa.RecordBatch]:
    yield from table.to_batches(max_chunksize=300)


def names_at(destination: str) -> list[str]:
    """Every visible file, asked of plain fsspec."""
    filesystem, root = url_to_fs(destination, use_listings_cache=False)
    below = [name[len(root) + 1 :] for name in filesystem.find(root)]
    return sorted(
        name for name in below if not any(part.startswith(("_", ".")) for part in name.split("/"))
    )


def rows_at(destination: str, **options: Any) -> pa.Table:
    filesystem, root = url_to_fs(destination, use_listings_cache=False)
    paths = [f"{root}/{name}" for name in names_at(destination)]
    options = {"format": "parquet", "partitioning": "hive", "partition_base_dir": root, **options}
    return ds.dataset(paths, filesystem=filesystem, **options).to_table().sort_by("id")


def same_rows(found: pa.Table, expected: pa.Table = TABLE) -> bool:
    return bool(found.select(expected.column_names).cast(expected.schema).equals(expected))


def first_file(destination: str) -> str:
    return f"{url_to_fs(destination)[1]}/{names_at(destination)[0]}"


def check_nothing_happened(destination: str) -> None:
    assert_no_leftovers(destination)
    assert same_rows(rows_at(destination))
