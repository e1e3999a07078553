"""A destination that is not there yet, a store of it, and a disk that is soon full."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.stores.local.disk import descriptors, mounted
from tests.unit.stores.local.verbs import opened, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsspec_commit_stores.local import LocalStore

# Its assertions say what they saw, as those of a test do.
pytest.register_assert_rewrite("tests.unit.stores.local.refusals")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def store(root: Path) -> Iterator[LocalStore]:
    store = opened(root)
    before = descriptors()
    yield store
    run(store.close())
    assert descriptors() <= before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "small", "256k") as place:
        yield place
