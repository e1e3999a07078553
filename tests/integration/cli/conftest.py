"""A source and a destination."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from tests.integration.cli.rows import TABLE

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def destination(tmp_path: Path) -> Path:
    return tmp_path / "my table"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    pq.write_table(TABLE, path)
    return path
