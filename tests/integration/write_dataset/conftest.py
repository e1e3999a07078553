"""Destinations on a disk and in memory."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import uuid4

import fsspec
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Its assertions say what they saw, as those of a test do.
pytest.register_assert_rewrite("tests.integration.write_dataset.rows")


@pytest.fixture(params=["disk", "memory"])
def destination(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "disk":
        yield str(tmp_path / "out")
        return
    url = f"memory://arrow-{uuid4().hex}/out"
    yield url
    with suppress(FileNotFoundError):
        fsspec.filesystem("memory").rm(url.removesuffix("/out"), recursive=True)
