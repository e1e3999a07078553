"""Where a job of these tests writes: directories are renamed, or uploads are completed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.flat.bucket import HABITS, make_bucket, remove_bucket
from tests.flat.store import FLAT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["disk", "versioned"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "disk":
        yield str(tmp_path / "out")
        return
    bucket = make_bucket(HABITS[request.param])
    yield f"{FLAT}://{bucket.name}/out"
    remove_bucket(bucket)
