"""A destination that is there, and both ways to rename in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit_stores.local import system_calls

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(root: Path) -> Path:
    """A destination that is there."""
    root.mkdir()
    return root


@pytest.fixture(params=["renameat2", "without it"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the system call and without."""
    if request.param == "without it":
        monkeypatch.setattr(system_calls, "_rename_at_2", None)
