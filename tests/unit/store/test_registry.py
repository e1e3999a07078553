"""Which adapter serves a protocol: one that is built in, or that a package brings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.store.registry import ENTRY_POINTS, adapter
from fsspec_commit_stores.local import LocalStore
from fsspec_commit_stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The metadata of a package that brings adapters, not yet installed."""
    metadata = tmp_path / "site/some_store-1.0.dist-info"
    metadata.mkdir(parents=True)
    metadata.joinpath("METADATA").write_text("Name: some-store\nVersion: 1.0\n")
    lines = [f"{name} = fsspec_commit_stores.memory:MemoryStore" for name in ("some", "local")]
    metadata.joinpath("entry_points.txt").write_text("\n".join([f"[{ENTRY_POINTS}]", *lines]))
    with monkeypatch.context() as patch:
        patch.syspath_prepend(metadata.parent)
        yield metadata
    metadata.joinpath("entry_points.txt").unlink()
    with pytest.raises(fc.UnknownProtocolError):
        adapter("no-such-protocol")  # What it had brought is forgotten.


def test_what_a_package_brings_goes_before_what_is_built_in(package: Path) -> None:
    assert package.exists()
    assert adapter("some") is MemoryStore
    assert adapter("local") is MemoryStore
    assert adapter("file") is LocalStore


def test_a_package_that_is_installed_meanwhile_is_found(package: Path) -> None:
    """What was looked up is remembered, but no failure is."""
    points = package / "entry_points.txt"
    brought = points.read_text()
    points.write_text("")
    with pytest.raises(fc.UnknownProtocolError, match="entry-point group"):
        adapter("some")
    points.write_text(brought)
    assert adapter("some") is MemoryStore
